import { isKeyPurpose, key_purposes } from '../../../catalog/keyPurposes.ts';
import type { Query } from '../../../platform/db/database.ts';
import { listUnwraps, type UnwrapCount } from '../../../platform/security/keyUnwraps.ts';
import { type AlertText, listOpenAlerts, listRecentAlerts } from '../../../product/alerts/alerts.ts';
import { lookUpAlert } from '../../../product/alerts/catalogue.ts';
import { createChannels } from '../../../product/alerts/channels.ts';
import { listAlertMessages, readChannelHealth, type SentMessage } from '../../../product/alerts/messages.ts';
import type { Context } from '../../../product/context.ts';
import type { Alert, ListedAlert } from './schema.ts';

/** The channels with their last result, and the alerts with the messages about them. */
export async function describeAlerts(ctx: Pick<Context, 'config' | 'base_url' | 'webhook_outbound' | 'db'>) {
  const { system } = ctx.db;
  const [open, recent, health] = await Promise.all([
    listOpenAlerts(system),
    listRecentAlerts(system),
    readChannelHealth(system),
  ]);
  const messages = await listAlertMessages(
    system,
    [...open, ...recent].map(({ id }) => id),
  );
  const channels = createChannels(ctx).map(({ name, target }) => {
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

/** The counts with purposes as people read them. Those of a newer version may be unknown here. */
export async function describeUnwraps(system: Query): Promise<UnwrapCount[]> {
  return (await listUnwraps(system)).map((count) => ({
    ...count,
    purpose: isKeyPurpose(count.purpose) ? key_purposes[count.purpose] : count.purpose,
  }));
}

/** An alert as pages show it: its text and what its catalogue says. */
export function describeAlert({ id, code, summary, page, opened_at, resolved_at }: AlertText): Alert {
  const { title, severity, remedy } = lookUpAlert(code);
  return { id, code, title, severity, summary, remedy, page, opened_at, resolved_at };
}

function withMessages(text: AlertText, messages: readonly SentMessage[]): ListedAlert {
  const own = messages.filter(({ alert_id }) => alert_id === text.id);
  return { ...describeAlert(text), messages: own.map(({ channel, state, sent_at }) => ({ channel, state, sent_at })) };
}
