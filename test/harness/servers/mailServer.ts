import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** An email as it arrived. `text` and `html` are decoded. */
export type ReceivedEmail = {
  from: string;
  to: string[];
  headers: Record<string, string>;
  subject: string;
  text: string;
  html: string;
};

export type MailServer = {
  /** For ALERT_SMTP_URL. */
  url: string;
  port: number;
  received: ReceivedEmail[];
  /** `refuse`: no recipient is accepted. `hang`: the email is stored, but never confirmed. */
  behavior: 'accept' | 'refuse' | 'hang';
  close(): Promise<void>;
};

/** A mail server that stores what it receives. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    closeTimeout: 100,
    onRcptTo: (_address, _session, done) => {
      if (mail.behavior !== 'refuse') return done();
      done(Object.assign(new Error('Mailbox of somebody@example.org unavailable'), { responseCode: 550 }));
    },
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        const to = envelope.rcptTo.map(({ address }) => address);
        mail.received.push({ from, to, ...parse(Buffer.concat(chunks).toString('utf8')) });
        if (mail.behavior !== 'hang') done();
      });
    },
    ...options,
  });
  // Clients that distrust the certificate or disconnect are part of the tests.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  const mail: MailServer = {
    url: `smtp://127.0.0.1:${port}`,
    port,
    received: [],
    behavior: 'accept',
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return mail;
}

/** Reads an email with one plain text and one HTML part. */
function parse(raw: string): Omit<ReceivedEmail, 'from' | 'to'> {
  const { headers, body } = split(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1] ?? '';
  const parts = body.split(`--${boundary}`).map((part) => split(part.replace(/^\r\n|\r\n$/g, '')));
  const content = (type: string) => {
    const part = parts.find((each) => each.headers['content-type']?.startsWith(type));
    return decode(part?.body ?? '', part?.headers['content-transfer-encoding']).replaceAll('\r\n', '\n');
  };
  return { headers, subject: headers.subject ?? '', text: content('text/plain'), html: content('text/html') };
}

function split(text: string): { headers: Record<string, string>; body: string } {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = lines.map((line) => [line.split(':')[0]?.toLowerCase() ?? '', line.slice(line.indexOf(':') + 2)]);
  return { headers: Object.fromEntries(headers), body: rest.join('\r\n\r\n') };
}

function decode(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  if (encoding !== 'quoted-printable') return body;
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
