import { getSystemErrorName } from 'node:util';
import { newId } from '../../catalog/ids.ts';
import type { SmtpServer } from '../../catalog/settings/alertSettings.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Context } from '../context.ts';
import { sendWebhook, timeout_ms } from '../webhooks/sendWebhook.ts';
import { readAlertTexts } from './alerts.ts';
import {
  type ChannelName,
  type ClaimedMessage,
  claimMessage,
  composeEmail,
  composeWebhookBody,
  type Message,
  recordAttempt,
} from './messages.ts';

/** The result of an attempt. `problem` may be shown and logged; with `sent`, it says what part did not work. */
export type Attempt = { sent: boolean; problem: string | null };

export type Channel = {
  name: ChannelName;
  /** Where messages go, without secrets: a URL may contain a token. */
  target: string;
  send(message: Message, attempt: number): Promise<Attempt>;
};

type ChannelContext = Pick<Context, 'config' | 'base_url' | 'webhook_outbound'>;

/** The names of the channels that the settings configure. */
export function configuredChannels(config: Config): ChannelName[] {
  return [
    ...(config.alert_smtp_url ? (['email'] as const) : []),
    ...(config.alert_webhook_url ? (['webhook'] as const) : []),
  ];
}

export function createChannels(ctx: ChannelContext): Channel[] {
  return [emailChannel(ctx), webhookChannel(ctx)].filter((channel) => channel !== undefined);
}

function emailChannel(ctx: ChannelContext): Channel | undefined {
  const { alert_smtp_url: server, alert_email_from: from, alert_email_to: to } = ctx.config;
  if (!server || !from) return undefined;
  return {
    name: 'email',
    target: `${to.join(', ')} through ${server.host}`,
    send: async (message) => {
      try {
        const email = { id: message.id, from, to, ...composeEmail(message, ctx.base_url) };
        return { sent: true, ...(await sendEmail(server, email)) };
      } catch (error) {
        if (!(error instanceof EmailFailure)) throw error;
        return { sent: false, problem: error.message };
      }
    },
  };
}

function webhookChannel(ctx: ChannelContext): Channel | undefined {
  const { alert_webhook_url: url, alert_webhook_secret: secret } = ctx.config;
  if (!url || !secret) return undefined;
  return {
    name: 'webhook',
    target: new URL(url).host,
    send: async (message, attempt) => {
      const body = composeWebhookBody(message, ctx.base_url, new Date());
      const webhook = { url, id: message.id, body, attempt, secrets: [secret] };
      const outcome = await sendWebhook(ctx, webhook, { signal: AbortSignal.timeout(2 * timeout_ms) });
      return { sent: outcome?.success ?? false, problem: outcome ? outcome.problem : 'The request was aborted.' };
    },
  };
}

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
    throw new EmailFailure(describeProblem(error, server), { cause: error });
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

function describeProblem(error: unknown, { host, port }: SmtpServer): string {
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

type SendContext = Pick<Context, 'config' | 'base_url' | 'webhook_outbound' | 'db' | 'log'>;

/** The pauses between attempts. After the last one, a day later, delivery is abandoned. */
const retry_minutes = [1, 2, 5, 15, 30, 60, 120, 240, 480, 480] as const;

/** Sends every message that is due. Channels do not wait for each other. */
export async function sendMessages(ctx: SendContext, now: () => Date = () => new Date()): Promise<void> {
  await Promise.all(createChannels(ctx).map((channel) => sendDue(ctx, channel, now)));
}

/** Sends a test message through every channel at once, and returns the results. */
export async function sendTest(
  ctx: Pick<Context, 'config' | 'base_url' | 'webhook_outbound'>,
): Promise<(Attempt & { channel: ChannelName; target: string })[]> {
  const message: Message = { id: newId(), kind: 'test', opened: [], reminded: [], resolved: [] };
  return Promise.all(
    createChannels(ctx).map(async (channel) => {
      const { name, target } = channel;
      return { channel: name, target, ...(await channel.send(message, 1)) };
    }),
  );
}

async function sendDue(ctx: SendContext, channel: Channel, now: () => Date): Promise<void> {
  for (;;) {
    const claimed = await claimMessage(ctx.db.system, channel.name, now());
    if (!claimed) return;
    await recordAttempt(ctx.db.system, claimed, await attempt(ctx, channel, claimed, now));
  }
}

async function attempt(
  ctx: SendContext,
  channel: Channel,
  claimed: ClaimedMessage,
  now: () => Date,
): Promise<Parameters<typeof recordAttempt>[2]> {
  const message = await readMessage(ctx, claimed);
  if (message.opened.length + message.reminded.length + message.resolved.length === 0) {
    return { sent_at: null, problem: null, retry_at: null };
  }
  const { sent, problem } = await channel.send(message, claimed.attempts);
  if (problem !== null) {
    const fields = { reason: channel.name, attempt: claimed.attempts, problem };
    ctx.log.error(fields, sent ? 'alert message sent with a problem' : 'alert message not sent');
  }
  if (sent) return { sent_at: now(), problem, retry_at: null };
  const pause_min = retry_minutes[claimed.attempts - 1];
  const retry_at = pause_min === undefined ? null : new Date(now().getTime() + pause_min * 60_000);
  return { sent_at: null, problem, retry_at };
}

/** The message with the texts of its alerts as they are now. */
async function readMessage({ db }: SendContext, claimed: ClaimedMessage): Promise<Message> {
  const { id, digest, opened, reminded, resolved } = claimed;
  const texts = await readAlertTexts(db.system.pooled, [...opened, ...reminded, ...resolved]);
  const among = (ids: readonly string[]) => texts.filter((text) => ids.includes(text.id));
  return {
    id,
    kind: digest ? 'digest' : 'changes',
    opened: among(opened),
    reminded: among(reminded),
    resolved: among(resolved),
  };
}
