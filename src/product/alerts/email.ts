import { getSystemErrorName } from 'node:util';
import type { SmtpServer } from '../../catalog/settings/alertSettings.ts';

export type Email = { id: string; from: string; to: readonly string[]; subject: string; text: string; html: string };

/** Why an email was not sent, in words that may be shown and logged: no address, and nothing that the server said. */
export class EmailFailure extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'EmailFailure';
  }
}

/** How long a server that does not respond can occupy the sender. */
const total_timeout_ms = 30_000;
const step_timeout_ms = 10_000;

/** Sends an email. `problem`: it was accepted for some recipients only. */
export async function sendEmail(
  server: SmtpServer,
  email: Email,
  timeouts: { step_ms?: number; total_ms?: number } = {},
): Promise<{ problem: string | null }> {
  const { id, from, to, subject, text, html } = email;
  const domain = from.slice(from.lastIndexOf('@') + 1);
  const sent = await withTransport(server, timeouts, (transport) =>
    transport.sendMail({
      from,
      to: [...to],
      subject,
      text,
      html,
      // The same at every attempt, so that mail programs can show one that was repeated once.
      messageId: `<${id}@${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    }),
  );
  const { length } = sent.rejected;
  return { problem: length === 0 ? null : `${server.host} rejected ${length} of ${to.length} recipients.` };
}

/** Connects, checks the certificate and signs in, without sending anything. */
export async function checkEmailServer(server: SmtpServer): Promise<void> {
  await withTransport(server, {}, (transport) => transport.verify());
}

type Transport = Awaited<ReturnType<typeof openTransport>>;

async function withTransport<T>(
  server: SmtpServer,
  { step_ms = step_timeout_ms, total_ms = total_timeout_ms }: { step_ms?: number; total_ms?: number },
  work: (transport: Transport) => Promise<T>,
): Promise<T> {
  const transport = await openTransport(server, step_ms);
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })), total_ms);
  });
  try {
    return await Promise.race([work(transport), timeout]);
  } catch (error) {
    throw new EmailFailure(problemOf(error, server), { cause: error });
  } finally {
    clearTimeout(timer);
    transport.close();
  }
}

/** The package is loaded only if email is configured. */
async function openTransport(server: SmtpServer, timeout_ms: number) {
  const { createTransport } = await import('nodemailer');
  return createTransport({
    host: server.host,
    port: server.port,
    secure: server.secure,
    requireTLS: server.require_tls,
    // A mail server on this machine often has a certificate for no name at all.
    ignoreTLS: !server.secure && !server.require_tls,
    ...(server.auth && { auth: server.auth }),
    connectionTimeout: timeout_ms,
    greetingTimeout: timeout_ms,
    socketTimeout: timeout_ms,
    dnsTimeout: timeout_ms,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

function problemOf(error: unknown, { host, port }: SmtpServer): string {
  const { code, responseCode, errno } = error as { code?: string; responseCode?: number; errno?: number };
  const detail = responseCode ?? (errno === undefined ? (code ?? 'unknown') : getSystemErrorName(errno));
  const where = `${host}:${port}`;
  if (code === 'EAUTH') return `${where} rejected the user name or password (${detail}).`;
  if (code === 'ETIMEDOUT') return `${where} did not respond in time.`;
  if (code === 'EDNS') return `${host} could not be found.`;
  if (code === 'EENVELOPE') return `${where} rejected the sender or all recipients (${detail}).`;
  if (code === 'ETLS' || isCertificateError(error)) return `${where} has no TLS with a trusted certificate.`;
  if (responseCode !== undefined) return `${where} rejected the message (${responseCode}).`;
  return `${where} cannot be reached (${detail}).`;
}

function isCertificateError(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|certificate/i.test(`${code} ${message}`);
}
