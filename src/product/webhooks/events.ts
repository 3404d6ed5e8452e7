import { newId } from '../../catalog/ids.ts';
import { collectMrns, type EventOf, type EventType, events, type SyncEventOf } from '../../model/events.ts';
import { type Database, type Fragment, type Query, type Tx, unseen } from '../../platform/db/database.ts';
import { limitTo } from '../../platform/db/fragments.ts';
import { first_id, walkIds } from '../../platform/db/walk.ts';
import { formatCursor, readPosition } from '../../platform/security/cursors.ts';
import type { Context } from '../context.ts';
import { addDeliveries } from './deliveries.ts';
import { type Addressed, findSubscribed } from './endpoints.ts';
import { parsePeriod } from './period.ts';

/** An event with the account and the job it belongs to. */
export type EventOccurrence = {
  client_id: string;
  account_id: string;
  job_id: number | null;
  /** The client's own reference of the job. */
  reference?: string | null;
  event: EventOf | SyncEventOf;
  /** Whether a sync found it. Only endpoints with `sync_events` get it. */
  from_sync?: boolean;
  /** The active span, for a link from the deliveries. */
  traceparent?: string | null;
};

/** Stores an event; see `emitEvents`. Returns its id. */
export async function emitEvent(tx: Tx, occurrence: EventOccurrence): Promise<string> {
  const [id] = await emitEvents(tx, [occurrence]);
  if (id === undefined) throw new Error('The event was not stored.');
  return id;
}

/**
 * Stores events, and one delivery of each for every enabled endpoint subscribed to its type, in the caller's transaction,
 * so that state and event commit together. Returns the events' ids. The caller notifies `chartwire_deliveries` after the
 * commit.
 */
export async function emitEvents(tx: Tx, occurrences: readonly EventOccurrence[]): Promise<string[]> {
  const prepared = await prepareEvents(tx, occurrences);
  await storeEvents(tx, prepared);
  return prepared.map(({ event }) => event.id);
}

/**
 * Stores the events of changes that a sync found, as far as an endpoint receives them. Their times are later than those of
 * all events of the account before, each a millisecond after the one before it, so that `created` has their order.
 */
export async function emitSyncEvents(tx: Tx, occurrences: readonly EventOccurrence[]): Promise<void> {
  const prepared = (await prepareEvents(tx, occurrences)).filter(({ endpoint_ids }) => endpoint_ids.length > 0);
  const [first] = prepared;
  if (!first) return;
  const { client_id, account_id } = first.event;
  const [latest] = await tx<{ ms: number }[]>`
    SELECT (extract(epoch FROM greatest(clock_timestamp(), max(created_at))) * 1000)::float8 AS ms
      FROM events WHERE client_id = ${client_id} AND account_id = ${account_id}`;
  if (!latest) throw new Error('An aggregate returned no row.');
  const timed = prepared.map(({ event, endpoint_ids }, n) => {
    const created_at = new Date(Math.floor(latest.ms) + 1 + n).toISOString();
    const body = JSON.stringify({ ...JSON.parse(event.body), created: created_at });
    return { endpoint_ids, event: { ...event, created_at, body } };
  });
  await storeEvents(tx, timed);
}

/** An event, ready to be stored, and the endpoints that get it. */
export type PreparedEvent = { event: NewEvent; endpoint_ids: string[] };

/** The first half of `emitEvents`, which stores nothing. */
export async function prepareEvents(tx: Tx, occurrences: readonly EventOccurrence[]): Promise<PreparedEvent[]> {
  if (occurrences.length === 0) return [];
  const accounts = new Set(occurrences.map(({ account_id }) => account_id));
  const types = new Set(occurrences.map(({ event }) => event.type));
  const [findOrigin, findEndpoints] = await Promise.all([
    findOrigins(tx, [...accounts]),
    findSubscribed(tx, [...types]),
  ]);
  return occurrences.map((occurrence) => {
    const { client_id, account_id, job_id, event, from_sync = false, traceparent = null } = occurrence;
    const origin = findOrigin(account_id);
    const id = newId();
    const endpoint_ids = findEndpoints({ type: event.type, org_id: origin.org_id, from_sync });
    return {
      endpoint_ids,
      event: {
        ...{ id, client_id, account_id, job_id, traceparent, from_sync },
        type: event.type,
        body: envelope(id, origin, occurrence),
        created_at: origin.created,
        mrns: collectMrns(event.data),
        delivery_status: endpoint_ids.length > 0 ? 'pending' : null,
      },
    };
  });
}

/** The second half of `emitEvents`. */
export async function storeEvents(tx: Tx, prepared: readonly PreparedEvent[]): Promise<void> {
  const deliveries = prepared.flatMap(({ endpoint_ids, event: { client_id, id: event_id } }) =>
    endpoint_ids.map((endpoint_id) => ({ client_id, event_id, endpoint_id })),
  );
  const events = prepared.map(({ event }) => event);
  await Promise.all([addEvents(tx, events), addDeliveries(tx, deliveries)]);
}

type Origin = { reference_id: string; org_id: string; created: string };

/** The database's time in milliseconds, as on the wire, so that the row and the envelope have the same timestamp. */
async function findOrigins(tx: Tx, account_ids: readonly string[]): Promise<(account_id: string) => Origin> {
  const rows = await tx<(Origin & { id: string })[]>`
    SELECT accounts.id, reference_id, org_id, iso(date_trunc('milliseconds', clock_timestamp())) AS created
      FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
     WHERE accounts.id = ANY (${[...account_ids]}::uuid[])`;
  const origins = new Map(rows.map(({ id, ...origin }) => [id, origin]));
  return (account_id) => {
    const origin = origins.get(account_id);
    if (!origin) throw new Error('An event needs an account of the tenant.');
    return origin;
  };
}

/** The body that is sent and signed. JSON.stringify omits undefined fields. */
function envelope(id: string, origin: Origin, { job_id, reference, event }: EventOccurrence): string {
  const kind = events[event.type];
  return JSON.stringify({
    id,
    object: 'event',
    created: origin.created,
    type: event.type,
    job_id: kind.has_job_id && job_id !== null ? String(job_id) : undefined,
    access_token_reference_id: kind.has_account_reference ? origin.reference_id : undefined,
    reference: reference ?? undefined,
    data: event.data,
  });
}

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
};
export type EventPage = EventFilters & { page: number; page_size: number };

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
  from_sync: boolean;
};

export async function addEvents(tx: Tx, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx`
    INSERT INTO events (id, client_id, account_id, job_id, type, body, delivery_status, mrns, from_sync, traceparent, created_at)
    SELECT id, client_id, account_id, job_id, type, body, delivery_status, mrns, from_sync, traceparent, created_at
      FROM json_to_recordset(${tx.json(events)}::text::json) AS event (id uuid, client_id uuid, account_id uuid,
             job_id bigint, type text, body text, delivery_status text, mrns text[], from_sync boolean, traceparent text,
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
  { page, page_size, ...filters }: EventPage,
): Promise<{ body: string; mrns: string[] }> {
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

/** A page of an account's events by cursor, oldest first: ids begin with the time. */
export async function walkEvents(
  { db, system_keys }: Pick<Context, 'db' | 'system_keys'>,
  account: { id: string; client_id: string },
  { filters, cursor, page_size }: { filters: EventFilters; cursor: string; page_size: number },
): Promise<{ body: string; mrns: string[] }> {
  const place = ['list', 'events', account.id, filters] as const;
  const after = readPosition(system_keys, place, cursor) ?? first_id;
  const rows = await db.read<{ id: string; element: string; mrns: string[] }>(account.client_id, (sql) => {
    const page = walkIds(sql, {
      table: 'events',
      within: recentEvents(sql, account.client_id, account.id),
      conditions: eventConditions(sql, filters),
      after: unseen(sql, after, 'uuid'),
      page_size,
    });
    return sql`SELECT id, ${elementText(sql)} AS element, mrns FROM events
      WHERE client_id = ${account.client_id} AND id = ANY (ARRAY(${page})) ORDER BY id`;
  });
  const shown = rows.slice(0, page_size);
  const last = rows.length > page_size ? shown.at(-1) : undefined;
  const next_cursor = last ? formatCursor(system_keys, place, last.id) : null;
  const elements = shown.map(({ element }) => element).join(',');
  const pagination = JSON.stringify({ page_size, next_cursor });
  return {
    body: `{"success":true,"webhook_events":[${elements}],"pagination":${pagination}}`,
    mrns: shown.flatMap(({ mrns }) => mrns),
  };
}

/** An account's event that can still be resent: its patients, and what decides which endpoints receive it. */
export async function findRecent(
  tx: Tx,
  account_id: string,
  id: string,
): Promise<(Addressed & { mrns: string[] }) | undefined> {
  const [row] = await tx<(Addressed & { mrns: string[] })[]>`
    SELECT type, mrns, from_sync, org_id
      FROM events JOIN accounts ON accounts.id = events.account_id
      JOIN organizations ON organizations.id = accounts.organization_id
     WHERE events.id = ${id} AND account_id = ${account_id}
       AND events.created_at > now() - make_interval(days => ${event_days_max})`;
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
 * Deletes expired events of a client with their deliveries, except those that are `kept`. Returns how many, at most
 * `batch`. The days are a sub-select: if the planner knew their number, it would see that few events are that old, prefer
 * a custom plan to the generic one, and plan anew at every execution.
 */
export async function deleteExpiredEvents(
  tx: Tx,
  client_id: string,
  { days, batch, kept }: { days: number; batch: number; kept: Fragment | undefined },
): Promise<number> {
  const { count } = await tx`
    DELETE FROM events WHERE id IN (
      SELECT id FROM events
       WHERE client_id = ${client_id} AND created_at < now() - make_interval(days => (SELECT ${days}::int))
         ${kept ? tx`AND NOT coalesce(${kept}, false)` : tx``}
       ORDER BY created_at ${limitTo(tx, batch)})`;
  return count;
}

function matchingEvents(sql: Query, client_id: string, account_id: string, filters: EventFilters): Fragment {
  return eventConditions(sql, filters).reduce(
    (all, condition) => sql`${all} AND ${condition}`,
    sql`FROM events WHERE ${recentEvents(sql, client_id, account_id)}`,
  );
}

/**
 * The client_id condition repeats the tenant policy for the planner: without it the planner assumed that the policy
 * matches nothing and read all of an account's 100,000 events to find those of one job (54 ms instead of 0.2 ms).
 */
function recentEvents(sql: Query, client_id: string, account_id: string): Fragment {
  return sql`client_id = ${client_id} AND account_id = ${account_id}
    AND created_at > now() - make_interval(days => ${event_days_max})`;
}

/** Only the filters in use are part of the statement, so that each combination is planned with its own index. */
function eventConditions(sql: Query, filters: EventFilters): Fragment[] {
  const { job_id, event_type, delivery_status, start_date, end_date } = filters;
  const from = start_date === undefined ? undefined : parsePeriod('start_date', start_date);
  const to = end_date === undefined ? undefined : parsePeriod('end_date', end_date);
  return [
    job_id === undefined ? [] : sql`job_id = ${job_id}`,
    event_type === undefined ? [] : sql`type = ${event_type}`,
    delivery_status === undefined ? [] : sql`delivery_status = ${delivery_status}`,
    from === undefined ? [] : sql`created_at >= ${from.starts}::text::timestamptz`,
    to === undefined ? [] : sql`created_at < ${to.ends}::text::timestamptz`,
  ].flat();
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

/** A page that finds more events than this outside the stored totals renews them. */
export const uncounted_max = 1_000;

/** Events of the last minutes are not part of a total: their transactions may still be in progress. */
const settled_after = '5 minutes';

/** The type of the total of all types. */
const all_types = '';

/** The events of an account of the last `days`. */
type AccountEvents = { client_id: string; account_id: string; days: number };

/** The exact number of events, of one type or all, and how many of those counted here a new total would cover. */
export function eventTotal(
  sql: Query,
  { client_id, account_id, days }: AccountEvents,
  type: string | undefined,
): Fragment {
  // As in the list itself, client_id repeats the tenant policy for the planner.
  const events = sql`FROM events WHERE client_id = ${client_id} AND account_id = ${account_id}
    ${type === undefined ? sql`` : sql`AND type = ${type}`}`;
  const oldest = sql`now() - make_interval(days => ${days})`;
  return sql`
    SELECT coalesce(counted.total, 0) - expired.n + added.n AS n, expired.n + added.settled AS uncounted
      FROM (SELECT) AS one
      LEFT JOIN event_counts AS counted ON counted.account_id = ${account_id} AND counted.type = ${type ?? all_types}
     CROSS JOIN LATERAL (
       SELECT count(*) AS n ${events} AND created_at > counted.counted_from
          AND created_at <= least(counted.counted_to, ${oldest})) AS expired
     CROSS JOIN LATERAL (
       SELECT count(*) AS n, count(*) FILTER (WHERE created_at <= now() - ${settled_after}::interval) AS settled
         ${events} AND created_at > greatest(counted.counted_to, ${oldest})) AS added`;
}

/** Counts the events of an account again. If another process is doing that, or is deleting some, this one does nothing. */
export async function countEvents(db: Database, { client_id, account_id, days }: AccountEvents): Promise<void> {
  await db.tenant(client_id, async (tx) => {
    const [lock] = await tx<{ mine: boolean }[]>`
      SELECT pg_try_advisory_xact_lock(event_counts_lock(${account_id})) AS mine`;
    if (!lock?.mine) return;
    await tx`DELETE FROM event_counts WHERE account_id = ${account_id}`;
    await tx`
      INSERT INTO event_counts (account_id, client_id, type, counted_from, counted_to, total)
      SELECT ${account_id}, ${client_id}, coalesce(type, ${all_types}), period.starts, period.ends, count(*)
        FROM (SELECT now() - make_interval(days => ${days}) AS starts, now() - ${settled_after}::interval AS ends) AS period
        JOIN events ON client_id = ${client_id} AND account_id = ${account_id}
         AND created_at > period.starts AND created_at <= period.ends
       GROUP BY GROUPING SETS ((period.starts, period.ends, type), (period.starts, period.ends))`;
  });
}
