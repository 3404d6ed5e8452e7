import type { EventType } from '../../model/events.ts';
import type { Database, Fragment, Query, Sql, Tx } from '../../platform/db/database.ts';
import { limitTo } from '../../platform/db/fragments.ts';
import { countEvents, eventTotal, uncounted_max } from './eventCounts.ts';
import { instantOf } from './instantOf.ts';

export type DeliveryStatus = 'pending' | 'success' | 'failed';

/** Events can be read and resent for at most this long. EVENT_DAYS says when they are deleted with their deliveries. */
export const event_days_max = 30;

export type EventFilters = {
  job_id?: number | undefined;
  event_type?: string | undefined;
  delivery_status?: DeliveryStatus | undefined;
  /** Days (YYYY-MM-DD, whole and inclusive, in UTC) or date-times. */
  start_date?: string | undefined;
  end_date?: string | undefined;
  page: number;
  page_size: number;
};

export type NewEvent = {
  id: string;
  client_id: string;
  account_id: string;
  job_id: number | null;
  type: EventType;
  body: string;
  created_at: string;
  delivery_status: DeliveryStatus | null;
  /** The span that sent it. */
  traceparent: string | null;
  /** The patients it concerns. */
  mrns: string[];
};

export async function addEvents(tx: Tx, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx`
    INSERT INTO events (id, client_id, account_id, job_id, type, body, delivery_status, mrns, traceparent, created_at)
    SELECT id, client_id, account_id, job_id, type, body, delivery_status, mrns, traceparent, created_at
      FROM json_to_recordset(${tx.json(events)}::text::json) AS event (id uuid, client_id uuid, account_id uuid,
             job_id bigint, type text, body text, delivery_status text, mrns text[], traceparent text,
             created_at timestamptz)`;
}

/**
 * A page of an account's events, newest first, as the JSON text of the whole response. An element is the body that was
 * sent plus the alternative field names for the same values. Nothing is parsed in Node.
 */
export async function listEvents(
  db: Database,
  client_id: string,
  account_id: string,
  filters: EventFilters,
): Promise<{ body: string; mrns: string[] }> {
  const { page, page_size } = filters;
  const [row] = await db.read<{ body: string; mrns: string[][] | null; uncounted: number }>(client_id, (sql) => {
    const matching = matchingEvents(sql, client_id, account_id, filters);
    const total = isCounted(filters)
      ? eventTotal(sql, { client_id, account_id, days: event_days_max }, filters.event_type)
      : sql`SELECT count(*) AS n, 0 AS uncounted ${matching}`;
    return sql`
      SELECT '{"success":true,"webhook_events":[' || coalesce(page.elements, '') || '],"pagination":'
        || json_build_object('page', ${page}::bigint, 'current_page', ${page}::bigint, 'page_size', ${page_size}::bigint,
             'total_count', total.n, 'total_pages', ceil(total.n::numeric / ${page_size}::bigint)) || '}' AS body,
             page.mrns, total.uncounted::float8 AS uncounted
        FROM (${total}) AS total,
             (SELECT string_agg(${elementText(sql)}, ',' ORDER BY created_at DESC, id DESC) AS elements,
                     json_agg(mrns) AS mrns
                FROM (SELECT id, type, body, created_at, delivery_status, mrns ${matching}
                       ORDER BY created_at DESC, id DESC
                       ${limitTo(sql, page_size)} ${page === 1 ? sql`` : sql`OFFSET ${(page - 1) * page_size}::bigint`}
                     ) AS event) AS page`;
  });
  if (!row) throw new Error('The events query returned no row.');
  if (row.uncounted > uncounted_max) {
    await countEvents(db, { client_id, account_id, days: event_days_max });
  }
  return { body: row.body, mrns: (row.mrns ?? []).flat() };
}

/** The type and patients of an account's event that can still be resent. */
export async function findRecent(
  tx: Tx,
  account_id: string,
  id: string,
): Promise<{ type: string; mrns: string[] } | undefined> {
  const [row] = await tx<{ type: string; mrns: string[] }[]>`
    SELECT type, mrns FROM events WHERE id = ${id} AND account_id = ${account_id}
       AND created_at > now() - make_interval(days => ${event_days_max})`;
  return row;
}

/**
 * Locks events before their deliveries change. Otherwise two deliveries that finish at the same moment would each see
 * the other as pending, and the event would stay pending. All code takes locks in the order endpoint, events by id,
 * deliveries, which rules out deadlocks. Returns how many of the events exist.
 */
export async function lockEvents(tx: Tx, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const rows = await tx`
    SELECT id FROM events WHERE id = ANY (${[...ids]}::uuid[]) ORDER BY id FOR NO KEY UPDATE`;
  return rows.length;
}

/** Recomputes the delivery status of events whose deliveries changed, under `lockEvents`. Null without deliveries. */
export async function updateDeliveryStatus(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx`
    UPDATE events SET delivery_status = (
      SELECT CASE WHEN count(*) = 0 THEN NULL
                  WHEN bool_or(status = 'pending') THEN 'pending'
                  WHEN bool_or(status = 'failed') THEN 'failed'
                  ELSE 'success' END
        FROM deliveries WHERE deliveries.event_id = events.id)
     WHERE id = ANY (${[...ids]}::uuid[])`;
}

/**
 * Deletes expired events of all tenants with their deliveries, one batch per transaction. The days are a sub-select: if
 * the planner knew their number, it would see that few events are that old, prefer a custom plan to the generic one,
 * and plan anew at every execution.
 */
export async function purgeEvents(system: Sql, days: number, batch = 1_000): Promise<number> {
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const rows = await system.pooled`
      DELETE FROM events WHERE id IN (
        SELECT expired.id FROM clients CROSS JOIN LATERAL (
          SELECT id FROM events
           WHERE client_id = clients.id AND created_at < now() - make_interval(days => (SELECT ${days}::int))
           ORDER BY created_at ${limitTo(system, batch)}) AS expired
         ${limitTo(system, batch)})`;
    deleted = rows.count;
  }
  return total;
}

function matchingEvents(sql: Query, client_id: string, account_id: string, filters: EventFilters): Fragment {
  const { job_id, event_type, delivery_status, start_date, end_date } = filters;
  const from = start_date === undefined ? undefined : instantOf('start_date', start_date);
  const to = end_date === undefined ? undefined : instantOf('end_date', end_date);
  // Only the filters in use are part of the statement, so that each combination is planned with its own index. The
  // client_id condition repeats the tenant policy for the planner: without it the planner assumed that the policy
  // matches nothing and read all of an account's 100,000 events to find those of one job (54 ms instead of 0.2 ms).
  return sql`
    FROM events WHERE client_id = ${client_id} AND account_id = ${account_id}
     AND created_at > now() - make_interval(days => ${event_days_max})
    ${job_id === undefined ? sql`` : sql`AND job_id = ${job_id}`}
    ${event_type === undefined ? sql`` : sql`AND type = ${event_type}`}
    ${delivery_status === undefined ? sql`` : sql`AND delivery_status = ${delivery_status}`}
    ${from === undefined ? sql`` : sql`AND created_at >= ${from.starts}::text::timestamptz`}
    ${to === undefined ? sql`` : sql`AND created_at < ${to.ends}::text::timestamptz`}`;
}

/** Totals of other selections are not stored: they change with deliveries, or are small. */
function isCounted({ job_id, delivery_status, start_date, end_date }: EventFilters): boolean {
  return [job_id, delivery_status, start_date, end_date].every((filter) => filter === undefined);
}

function elementText(sql: Query): Fragment {
  return sql`
    left(body, -1) || ',"event_id":"' || replace(id::text, '-', '') || '","event_type":' || to_json(type)
      || ',"created_at":"' || iso(created_at) || '","delivery_status":' || coalesce(to_json(delivery_status)::text, 'null')
      || '}'`;
}
