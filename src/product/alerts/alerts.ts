import { newId } from '../../catalog/ids.ts';
import type { Query, Sql, Tx } from '../../platform/db/database.ts';
import { type AlertCode, alert_codes } from './catalogue.ts';
import type { Problem } from './conditions.ts';

/** What decides whether and when an alert is sent. */
export type AlertState = {
  id: string;
  code: AlertCode;
  count: number;
  opened_at: Date;
  notified_at: Date | null;
  notified_count: number | null;
  reminded_at: Date | null;
  reminders: number;
  resolved_at: Date | null;
};

/** An alert as it is shown and sent. */
export type AlertText = {
  id: string;
  code: AlertCode;
  /** The public id and the name of the client; null for the installation. */
  client_id: string | null;
  client_name: string | null;
  summary: string;
  page: string;
  opened_at: string;
  resolved_at: string | null;
};

/** How many resolved alerts are listed. */
const recent_max = 50;
/** How long resolved alerts are kept, and messages. */
export const alert_days = 90;
/** A problem that is resolved sooner, before it was sent, is never sent. */
const shortest_s = 60;

/** Opens an alert for every new problem, and updates those that are open. */
export async function openAlerts(tx: Tx, problems: readonly Problem[], now: Date): Promise<void> {
  const rows = problems.map((problem) => ({ id: newId(), ...problem }));
  await tx`
    INSERT INTO alerts AS present (id, code, subject, client_id, organization_id, summary, page, count, opened_at,
      last_seen_at)
    SELECT id, code, subject, client_id, organization_id, summary, page, count, ${now}, ${now}
      FROM json_to_recordset(${tx.json(rows)}) AS problem (id uuid, code text, subject text, client_id uuid,
        organization_id uuid, summary text, page text, count int)
    ON CONFLICT (code, subject) WHERE resolved_at IS NULL DO UPDATE SET last_seen_at = excluded.last_seen_at,
      summary = excluded.summary, page = excluded.page, count = excluded.count`;
}

/**
 * Resolves the open alerts that the evaluation at `now` did not see. Codes of another version of the service, which may
 * run at the same time during an upgrade, are left to it.
 */
export async function resolveAlerts(tx: Tx, now: Date): Promise<void> {
  await tx`UPDATE alerts SET resolved_at = ${now}
    WHERE resolved_at IS NULL AND last_seen_at < ${now} AND code = ANY (${alert_codes})`;
}

/** The alerts about which something may have to be sent. */
export function listUnsent(tx: Tx, now: Date): Promise<AlertState[]> {
  return tx<AlertState[]>`
    SELECT id, code, count, opened_at, notified_at, notified_count, reminded_at, reminders, resolved_at FROM alerts
     WHERE code = ANY (${alert_codes}) AND (resolved_at IS NULL
        OR resolution_notified_at IS NULL AND resolved_at > ${now}::timestamptz - interval '1 day'
           AND (notified_at IS NOT NULL OR resolved_at >= opened_at + make_interval(secs => ${shortest_s})))
     ORDER BY opened_at, id`;
}

export async function markNotified(tx: Tx, ids: readonly string[], now: Date): Promise<void> {
  await tx`UPDATE alerts SET notified_at = ${now}, notified_count = count,
      -- A problem that was over before it was sent is sent once, as resolved.
      resolution_notified_at = CASE WHEN resolved_at IS NOT NULL THEN ${now}::timestamptz END
    WHERE id = ANY (${[...ids]}::uuid[])`;
}

/** `reminders`: how many of the alert's reminder days have passed. */
export async function markReminded(tx: Tx, alert: { id: string; reminders: number }, now: Date): Promise<void> {
  await tx`UPDATE alerts SET reminded_at = ${now}, reminders = ${alert.reminders}, notified_count = count
    WHERE id = ${alert.id}`;
}

export async function markResolutionNotified(tx: Tx, ids: readonly string[], now: Date): Promise<void> {
  await tx`UPDATE alerts SET resolution_notified_at = ${now} WHERE id = ANY (${[...ids]}::uuid[])`;
}

/** The open alerts that were open before an instant. */
export async function listOpenBefore(tx: Tx, before: Date): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    SELECT id FROM alerts WHERE resolved_at IS NULL AND opened_at < ${before} AND code = ANY (${alert_codes})
     ORDER BY opened_at, id`;
  return rows.map(({ id }) => id);
}

/** The texts of alerts, oldest first. Those that were erased are missing. */
export function readAlertTexts(sql: Query, ids: readonly string[]): Promise<AlertText[]> {
  return sql<AlertText[]>`
    SELECT ${textColumns(sql)} FROM alerts LEFT JOIN clients ON clients.id = alerts.client_id
     WHERE alerts.id = ANY (${[...ids]}::uuid[]) ORDER BY opened_at, alerts.id`;
}

/** All open alerts, oldest first. `client_id`: only those of this client and of the installation. */
export function listOpenAlerts(system: Sql, client_id?: string): Promise<AlertText[]> {
  return system.pooled<AlertText[]>`
    SELECT ${textColumns(system)} FROM alerts LEFT JOIN clients ON clients.id = alerts.client_id
     WHERE resolved_at IS NULL AND code = ANY (${alert_codes})
       AND (${client_id ?? null}::uuid IS NULL OR alerts.client_id IS NULL OR alerts.client_id = ${client_id ?? null})
     ORDER BY opened_at, alerts.id`;
}

/** The alerts that were resolved last, newest first. */
export function listRecentAlerts(system: Sql): Promise<AlertText[]> {
  return system.pooled<AlertText[]>`
    SELECT ${textColumns(system)} FROM alerts LEFT JOIN clients ON clients.id = alerts.client_id
     WHERE resolved_at IS NOT NULL AND code = ANY (${alert_codes}) ORDER BY resolved_at DESC, alerts.id LIMIT ${recent_max}`;
}

/** Deletes alerts that were resolved long ago. */
export async function purgeAlerts(system: Sql): Promise<void> {
  await system`DELETE FROM alerts WHERE resolved_at < now() - make_interval(days => ${alert_days})`;
}

function textColumns(sql: Query) {
  return sql`alerts.id, code, clients.public_id AS client_id, clients.name AS client_name, summary, page,
    iso(opened_at) AS opened_at, iso(resolved_at) AS resolved_at`;
}
