import { newId } from '../../catalog/ids.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { type AlertText, alert_days } from './alerts.ts';
import { lookUpAlert } from './catalogue.ts';

export const channel_names = ['email', 'webhook'] as const;
export type ChannelName = (typeof channel_names)[number];

/** The ids of the alerts that a message is about, by what happened to them. */
export type MessageAlerts = { opened: string[]; reminded: string[]; resolved: string[] };

/** A message that this process sends now. `attempts` includes this one. */
export type ClaimedMessage = MessageAlerts & { id: string; digest: boolean; attempts: number };

/** A message about an alert, for the dashboard. */
export type SentMessage = {
  alert_id: string;
  channel: ChannelName;
  /** Null: not sent yet, or given up. */
  sent_at: string | null;
  state: 'sent' | 'pending' | 'retrying' | 'failed';
};

/** The last message of a channel that was sent, and the problem of the last attempt if it failed. */
export type ChannelHealth = { channel: ChannelName; last_sent_at: string | null; problem: string | null };

/** If a process dies while it sends a message, another process takes over after this time. Longer than any attempt. */
const claim_s = 120;

/** Queues a message for each channel. One that exists for this day, for a digest, is not queued again. */
export async function queueMessages(
  tx: Tx,
  channels: readonly ChannelName[],
  { opened, reminded, resolved }: MessageAlerts,
  { now, digest_on = null }: { now: Date; digest_on?: string | null },
): Promise<void> {
  for (const channel of channels) {
    await tx`
      INSERT INTO alert_messages (id, channel, opened, reminded, resolved, digest_on, created_at, ready_at)
      VALUES (${newId()}, ${channel}, ${opened}::uuid[], ${reminded}::uuid[], ${resolved}::uuid[], ${digest_on}::date,
        ${now}, ${now})
      ON CONFLICT (channel, digest_on) DO NOTHING`;
  }
}

/** Takes the next due message of a channel. Another process gets it only if this one does not record a result in time. */
export async function claimMessage(system: Sql, channel: ChannelName, now: Date): Promise<ClaimedMessage | undefined> {
  const [row] = await system.pooled<ClaimedMessage[]>`
    UPDATE alert_messages SET attempts = attempts + 1, ready_at = ${now}::timestamptz + make_interval(secs => ${claim_s})
     WHERE id = (SELECT id FROM alert_messages WHERE channel = ${channel} AND ready_at <= ${now}
                  ORDER BY ready_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, opened, reminded, resolved, digest_on IS NOT NULL AS digest, attempts`;
  return row;
}

/** Records an attempt. It does not count if another process has claimed the message meanwhile. */
export async function recordAttempt(
  system: Sql,
  { id, attempts }: Pick<ClaimedMessage, 'id' | 'attempts'>,
  result: { sent_at: Date | null; problem: string | null; retry_at: Date | null },
): Promise<void> {
  await system.pooled`
    UPDATE alert_messages SET sent_at = ${result.sent_at}, problem = ${result.problem}, ready_at = ${result.retry_at}
     WHERE id = ${id} AND attempts = ${attempts} AND sent_at IS NULL`;
}

/** The messages about the opening of these alerts, oldest first. */
export function listAlertMessages(system: Sql, alert_ids: readonly string[]): Promise<SentMessage[]> {
  return system.pooled<SentMessage[]>`
    SELECT alert.id AS alert_id, channel, iso(sent_at) AS sent_at,
           CASE WHEN sent_at IS NOT NULL THEN 'sent' WHEN ready_at IS NULL THEN 'failed'
                WHEN problem IS NOT NULL THEN 'retrying' ELSE 'pending' END AS state
      FROM unnest(${[...alert_ids]}::uuid[]) AS alert (id) JOIN alert_messages ON alert.id = ANY (opened)
     ORDER BY created_at, channel`;
}

export function readChannelHealth(system: Sql): Promise<ChannelHealth[]> {
  return system.pooled<ChannelHealth[]>`
    SELECT channel, iso(max(sent_at)) AS last_sent_at,
           (array_agg(problem ORDER BY created_at DESC) FILTER (WHERE attempts > 0))[1] AS problem
      FROM alert_messages GROUP BY channel`;
}

/** Deletes old messages. */
export async function purgeMessages(system: Sql): Promise<void> {
  await system`DELETE FROM alert_messages WHERE created_at < now() - make_interval(days => ${alert_days})`;
}

/** A message before it is formatted for a channel. */
export type Message = {
  /** The same at every attempt. */
  id: string;
  kind: 'changes' | 'digest' | 'test';
  opened: AlertText[];
  reminded: AlertText[];
  resolved: AlertText[];
};

/** In an email; the dashboard lists the rest. */
const listed_max = 25;

type Change = 'opened' | 'reminder' | 'resolved';
type Item = { change: Change; alert: AlertText };

/** The subject, and the body as plain text and as HTML. */
export function composeEmail(message: Message, base_url: string): { subject: string; text: string; html: string } {
  const all = listItems(message);
  const items = all.slice(0, listed_max);
  const more = all.length > items.length ? `${all.length - items.length} more are listed in the dashboard.` : undefined;
  const alerts_url = `${base_url}/dashboard/settings/alerts`;
  const heading = composeHeading(message);
  const text = [
    heading,
    ...items.map((item) => formatLines(item, base_url).join('\n')),
    ...(more ? [more] : []),
    `All alerts: ${alerts_url}`,
  ].join('\n\n');
  const html = [
    '<!doctype html><html lang="en"><body style="font-family: sans-serif; line-height: 1.5; max-width: 40em">',
    `<h1 style="font-size: 1.2em">${escapeHtml(heading)}</h1>`,
    ...items.map((item) => formatHtml(item, base_url)),
    ...(more ? [`<p>${more}</p>`] : []),
    `<p><a href="${escapeHtml(alerts_url)}">All alerts</a></p></body></html>`,
  ].join('\n');
  return { subject: `[Chartwire] ${composeSubject(message, heading)}`, text: `${text}\n`, html };
}

/** The body of a webhook. */
export function composeWebhookBody(message: Message, base_url: string, now: Date): string {
  const alerts = listItems(message).map(({ change, alert }) => {
    const { id, code, client_id, client_name, summary, page, opened_at, resolved_at } = alert;
    const { title, severity, remedy } = lookUpAlert(code);
    const client = client_id === null ? null : { client_id, name: client_name };
    const url = `${base_url}/dashboard${page}`;
    return { id, change, code, severity, title, summary, remedy, client, opened_at, resolved_at, url };
  });
  return JSON.stringify({ type: `alerts.${message.kind}`, timestamp: now.toISOString(), data: { alerts } });
}

/** Critical ones first. */
function listItems({ opened, reminded, resolved }: Message): Item[] {
  const items = (change: Change, alerts: readonly AlertText[]) => alerts.map((alert): Item => ({ change, alert }));
  const open = [...items('opened', opened), ...items('reminder', reminded)];
  const isCritical = ({ alert }: Item) => findSeverity(alert) === 'critical';
  return [...open.filter(isCritical), ...open.filter((item) => !isCritical(item)), ...items('resolved', resolved)];
}

function composeHeading(message: Message): string {
  const { kind, opened, reminded, resolved } = message;
  if (kind === 'test') return 'This is a test message. Alerts are sent to this address.';
  if (kind === 'digest') return `Daily summary: ${counted(reminded.length, 'open alert')}.`;
  const parts = [
    ...(opened.length > 0 ? [counted(opened.length, 'new alert')] : []),
    ...(reminded.length > 0 ? [counted(reminded.length, 'reminder')] : []),
    ...(resolved.length > 0 ? [`${counted(resolved.length, 'alert')} resolved`] : []),
  ];
  return `${parts.join(', ')}.`;
}

/** A single alert is named; it has no ids, because subjects are shown on locked screens. */
function composeSubject(message: Message, heading: string): string {
  if (message.kind === 'test') return 'Test message';
  const [first, ...others] = listItems(message);
  if (message.kind === 'digest' || first === undefined || others.length > 0) {
    const critical = listItems(message).some(
      ({ change, alert }) => change !== 'resolved' && findSeverity(alert) === 'critical',
    );
    return `${critical ? 'Critical: ' : ''}${heading.replace(/\.$/, '')}`;
  }
  return `${formatLabel(first)}: ${lookUpAlert(first.alert.code).title}`;
}

function formatLabel({ change, alert }: Item): string {
  if (alert.resolved_at !== null) return 'Resolved';
  const severity = findSeverity(alert) === 'critical' ? 'Critical' : 'Warning';
  return change === 'reminder' ? `Reminder, ${severity.toLowerCase()}` : severity;
}

function formatLines(item: Item, base_url: string): string[] {
  const { alert } = item;
  const { title, cause, remedy } = lookUpAlert(alert.code);
  return [
    `${formatLabel(item)}: ${title}`,
    alert.summary,
    formatPeriod(alert),
    ...(alert.resolved_at === null ? [`Cause: ${cause}`, `What to do: ${remedy}`] : []),
    `${base_url}/dashboard${alert.page}`,
  ];
}

function formatHtml(item: Item, base_url: string): string {
  const { alert } = item;
  const { title, cause, remedy } = lookUpAlert(alert.code);
  const advice = `<br>Cause: ${escapeHtml(cause)}<br>What to do: ${escapeHtml(remedy)}`;
  return [
    `<h2 style="font-size: 1em; margin-bottom: 0">${escapeHtml(`${formatLabel(item)}: ${title}`)}</h2>`,
    `<p style="margin-top: 0">${escapeHtml(alert.summary)}<br>${escapeHtml(formatPeriod(alert))}`,
    alert.resolved_at === null ? advice : '',
    `<br><a href="${escapeHtml(`${base_url}/dashboard${alert.page}`)}">Open in the dashboard</a></p>`,
  ].join('');
}

function formatPeriod({ opened_at, resolved_at }: AlertText): string {
  return resolved_at === null
    ? `Open since ${formatTime(opened_at)}`
    : `From ${formatTime(opened_at)} to ${formatTime(resolved_at)}`;
}

function formatTime(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

function findSeverity({ code }: AlertText): string {
  return lookUpAlert(code).severity;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
