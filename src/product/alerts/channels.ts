import type { Config } from '../../catalog/settings/config.ts';
import type { Context } from '../context.ts';
import { sendWebhook, timeout_ms } from '../webhooks/sendWebhook.ts';
import type { ChannelName } from './alertMessages.ts';
import { EmailFailure, sendEmail } from './email.ts';
import { emailOf, type Message, webhookBodyOf } from './message.ts';

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

export function openChannels(ctx: ChannelContext): Channel[] {
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
        const email = { id: message.id, from, to, ...emailOf(message, ctx.base_url) };
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
      const body = webhookBodyOf(message, ctx.base_url, new Date());
      const webhook = { url, id: message.id, body, attempt, secrets: [secret] };
      const outcome = await sendWebhook(ctx, webhook, { signal: AbortSignal.timeout(2 * timeout_ms) });
      return { sent: outcome?.success ?? false, problem: outcome ? outcome.problem : 'The request was aborted.' };
    },
  };
}
