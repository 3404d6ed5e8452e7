import type { Alert } from '../../model/dashboard/alerts.ts';
import type { Context } from '../context.ts';
import { listMessagesOf, readChannelHealth, type SentMessage } from './alertMessages.ts';
import { type AlertText, listOpenAlerts, listRecentAlerts } from './alerts.ts';
import { type AlertCode, alertOf } from './catalogue.ts';
import { openChannels } from './channels.ts';

type Listed = Alert & { messages: Omit<SentMessage, 'alert_id'>[] };

/** The channels with their last result, and the alerts with the messages about them. */
export async function describeAlerts(ctx: Pick<Context, 'config' | 'base_url' | 'webhook_outbound' | 'db'>) {
  const { system } = ctx.db;
  const [open, recent, health] = await Promise.all([
    listOpenAlerts(system),
    listRecentAlerts(system),
    readChannelHealth(system),
  ]);
  const messages = await listMessagesOf(
    system,
    [...open, ...recent].map(({ id }) => id),
  );
  const channels = openChannels(ctx).map(({ name, target }) => {
    const { last_sent_at = null, problem = null } = health.find(({ channel }) => channel === name) ?? {};
    return { name, target, last_sent_at, problem };
  });
  const listed = (alerts: readonly AlertText[]) => alerts.map((text) => withMessages(text, messages));
  return {
    channels,
    quiet_hours: ctx.config.alert_quiet_hours?.text ?? null,
    digest: ctx.config.alert_digest?.text ?? null,
    open: listed(open),
    recent: listed(recent),
  };
}

/** The open alerts of a client and of the installation, except for these codes. */
export async function listOpenAlertsOf(
  { db }: Pick<Context, 'db'>,
  client_id: string,
  except: readonly AlertCode[],
): Promise<Alert[]> {
  const alerts = await listOpenAlerts(db.system, client_id);
  return alerts.filter(({ code }) => !except.includes(code)).map(describe);
}

function withMessages(text: AlertText, messages: readonly SentMessage[]): Listed {
  const own = messages.filter(({ alert_id }) => alert_id === text.id);
  return { ...describe(text), messages: own.map(({ channel, state, sent_at }) => ({ channel, state, sent_at })) };
}

function describe({ id, code, summary, page, opened_at, resolved_at }: AlertText): Alert {
  const { title, severity, remedy } = alertOf(code);
  return { id, code, title, severity, summary, remedy, page, opened_at, resolved_at };
}
