import type { AlertText } from './alerts.ts';
import { alertOf } from './catalogue.ts';

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
export function emailOf(message: Message, base_url: string): { subject: string; text: string; html: string } {
  const all = itemsOf(message);
  const items = all.slice(0, listed_max);
  const more = all.length > items.length ? `${all.length - items.length} more are listed in the dashboard.` : undefined;
  const alerts_url = `${base_url}/dashboard/settings/alerts`;
  const heading = headingOf(message);
  const text = [
    heading,
    ...items.map((item) => linesOf(item, base_url).join('\n')),
    ...(more ? [more] : []),
    `All alerts: ${alerts_url}`,
  ].join('\n\n');
  const html = [
    '<!doctype html><html lang="en"><body style="font-family: sans-serif; line-height: 1.5; max-width: 40em">',
    `<h1 style="font-size: 1.2em">${escapeHtml(heading)}</h1>`,
    ...items.map((item) => htmlOf(item, base_url)),
    ...(more ? [`<p>${more}</p>`] : []),
    `<p><a href="${escapeHtml(alerts_url)}">All alerts</a></p></body></html>`,
  ].join('\n');
  return { subject: `[Chartwire] ${subjectOf(message, heading)}`, text: `${text}\n`, html };
}

/** The body of a webhook. */
export function webhookBodyOf(message: Message, base_url: string, now: Date): string {
  const alerts = itemsOf(message).map(({ change, alert }) => {
    const { id, code, client_id, client_name, summary, page, opened_at, resolved_at } = alert;
    const { title, severity, remedy } = alertOf(code);
    const client = client_id === null ? null : { client_id, name: client_name };
    const url = `${base_url}/dashboard${page}`;
    return { id, change, code, severity, title, summary, remedy, client, opened_at, resolved_at, url };
  });
  return JSON.stringify({ type: `alerts.${message.kind}`, timestamp: now.toISOString(), data: { alerts } });
}

/** Critical ones first. */
function itemsOf({ opened, reminded, resolved }: Message): Item[] {
  const items = (change: Change, alerts: readonly AlertText[]) => alerts.map((alert): Item => ({ change, alert }));
  const open = [...items('opened', opened), ...items('reminder', reminded)];
  const isCritical = ({ alert }: Item) => severityOf(alert) === 'critical';
  return [...open.filter(isCritical), ...open.filter((item) => !isCritical(item)), ...items('resolved', resolved)];
}

function headingOf(message: Message): string {
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
function subjectOf(message: Message, heading: string): string {
  if (message.kind === 'test') return 'Test message';
  const [first, ...others] = itemsOf(message);
  if (message.kind === 'digest' || first === undefined || others.length > 0) {
    const critical = itemsOf(message).some(
      ({ change, alert }) => change !== 'resolved' && severityOf(alert) === 'critical',
    );
    return `${critical ? 'Critical: ' : ''}${heading.replace(/\.$/, '')}`;
  }
  return `${labelOf(first)}: ${alertOf(first.alert.code).title}`;
}

function labelOf({ change, alert }: Item): string {
  if (alert.resolved_at !== null) return 'Resolved';
  const severity = severityOf(alert) === 'critical' ? 'Critical' : 'Warning';
  return change === 'reminder' ? `Reminder, ${severity.toLowerCase()}` : severity;
}

function linesOf(item: Item, base_url: string): string[] {
  const { alert } = item;
  const { title, cause, remedy } = alertOf(alert.code);
  return [
    `${labelOf(item)}: ${title}`,
    alert.summary,
    periodOf(alert),
    ...(alert.resolved_at === null ? [`Cause: ${cause}`, `What to do: ${remedy}`] : []),
    `${base_url}/dashboard${alert.page}`,
  ];
}

function htmlOf(item: Item, base_url: string): string {
  const { alert } = item;
  const { title, cause, remedy } = alertOf(alert.code);
  const advice = `<br>Cause: ${escapeHtml(cause)}<br>What to do: ${escapeHtml(remedy)}`;
  return [
    `<h2 style="font-size: 1em; margin-bottom: 0">${escapeHtml(`${labelOf(item)}: ${title}`)}</h2>`,
    `<p style="margin-top: 0">${escapeHtml(alert.summary)}<br>${escapeHtml(periodOf(alert))}`,
    alert.resolved_at === null ? advice : '',
    `<br><a href="${escapeHtml(`${base_url}/dashboard${alert.page}`)}">Open in the dashboard</a></p>`,
  ].join('');
}

function periodOf({ opened_at, resolved_at }: AlertText): string {
  return resolved_at === null
    ? `Open since ${timeOf(opened_at)}`
    : `From ${timeOf(opened_at)} to ${timeOf(resolved_at)}`;
}

function timeOf(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

function severityOf({ code }: AlertText): string {
  return alertOf(code).severity;
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
