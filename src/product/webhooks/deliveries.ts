import { newId } from '../../catalog/ids.ts';
import type { Database, Fragment, Query, Sql, Tx } from '../../platform/db/database.ts';
import { limitTo } from '../../platform/db/fragments.ts';
import { clock_tolerance_ms, type Lease, LeaseLost } from '../../platform/db/lease.ts';
import { first_id } from '../../platform/db/walk.ts';
import { formatCursor, readPosition } from '../../platform/security/cursors.ts';
import { jittered } from '../../platform/worker/backoff.ts';
import type { Context } from '../context.ts';
import type { StoredCertificate } from './certificates.ts';
import { isSubscribed } from './endpoints.ts';

/** Everything a worker needs to make an attempt. */
export type Delivery = {
  id: string;
  client_id: string;
  event_id: string;
  endpoint_id: string;
  attempts: number;
  schedule_from: number;
  event_type: string;
  account_id: string;
  job_id: number | null;
  /** The patients of the event, for the audit record. */
  mrns: string[];
  body: string;
  url: string;
  enabled: boolean;
  paused: boolean;
  /** The span that sent the event. */
  traceparent: string | null;
} & StoredCertificate;

export type Attempt = {
  number: number;
  sent_to: string | null;
  duration_ms: number;
  status_code: number | null;
  problem: string | null;
  snippet: string | null;
  signed_at_s: number;
  signature: string;
};

export type NewDelivery = Pick<Delivery, 'client_id' | 'event_id' | 'endpoint_id'>;

/**
 * Returns how many were added: an endpoint gets an event once. Ids are time-ordered, so that deliveries claimed
 * together are adjacent in the index of ids, however large it is.
 */
export async function addDeliveries(tx: Tx, deliveries: readonly NewDelivery[]): Promise<number> {
  if (deliveries.length === 0) return 0;
  const rows = deliveries.map((delivery) => ({ id: newId(), ...delivery }));
  const added = await tx`
    INSERT INTO deliveries (id, client_id, event_id, endpoint_id)
      SELECT id, client_id, event_id, endpoint_id
        FROM json_to_recordset(${tx.json(rows)}::text::json)
          AS delivery (id uuid, client_id uuid, event_id uuid, endpoint_id text)
      ON CONFLICT (event_id, endpoint_id) DO NOTHING`;
  return added.count;
}

/** Reads claimed deliveries. Undefined for each that another worker has claimed. */
export async function readDeliveries(tx: Tx, leases: readonly Lease[]): Promise<(Delivery | undefined)[]> {
  // LIMIT makes the planner find each event by its id, rather than join with all events of the client.
  const rows = await tx<(Delivery & { position: number })[]>`
    SELECT lease.position, delivery.id, delivery.client_id, delivery.event_id, delivery.endpoint_id, delivery.attempts,
           delivery.schedule_from, event.type AS event_type, event.account_id, event.job_id, event.mrns, event.body,
           event.traceparent, endpoint.url, endpoint.status = 'enabled' AS enabled,
           endpoint.paused_at IS NOT NULL AS paused, endpoint.certificate, endpoint.certificate_key_sealed
      FROM ${heldDeliveries(tx, leases)}
      CROSS JOIN LATERAL (SELECT type, account_id, job_id, mrns, body, traceparent FROM events
        WHERE events.id = delivery.event_id LIMIT 1) AS event
      JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
     WHERE delivery.locked_until > clock_timestamp()`;
  const by_position = new Map(rows.map(({ position, ...delivery }) => [position, delivery]));
  return leases.map((_, n) => by_position.get(n + 1));
}

/**
 * Locks the deliveries, in id order, or throws LeaseLost if another worker has claimed one of them. Called before
 * anything a worker commits.
 */
export async function lockDeliveries(tx: Tx, leases: readonly Lease[]): Promise<void> {
  const locked = await tx`
    SELECT delivery.id FROM ${heldDeliveries(tx, leases)}
     WHERE delivery.locked_until > clock_timestamp() ORDER BY delivery.id FOR UPDATE OF delivery`;
  if (locked.length < leases.length) throw new LeaseLost();
}

/**
 * Stores attempts, and with the same statement their audit records. The response snippet may echo the event, so the rows
 * have the same tenant policy as the event.
 */
export async function addAttempts(
  tx: Tx,
  attempts: readonly (Attempt & { lease: Lease })[],
  audit: { statement: Fragment; count: number },
): Promise<void> {
  const rows = attempts.map(({ lease, number, ...attempt }) => {
    const { sent_to, duration_ms, status_code, problem, snippet, signed_at_s, signature } = attempt;
    return {
      ...{ delivery_id: lease.id, attempt: number, client_id: lease.client_id },
      ...{ sent_to, duration_ms, status_code, problem, snippet, signed_at_s, signature },
    };
  });
  await tx`
    WITH audit_record AS (${audit.statement})
    INSERT INTO delivery_attempts (delivery_id, attempt, client_id, at, sent_to, duration_ms, status_code, problem,
      snippet, signed_at_s, signature)
    SELECT delivery_id, attempt, client_id, clock_timestamp(), sent_to, duration_ms, status_code, problem, snippet,
           signed_at_s, signature
      FROM json_to_recordset(${tx.json(rows)}::text::json) AS made (delivery_id uuid, attempt integer, client_id uuid,
             sent_to text, duration_ms integer, status_code integer, problem text, snippet text,
             signed_at_s bigint, signature text)
     WHERE require_audit_records((SELECT count(*) FROM audit_record), ${audit.count})`;
}

/** Finishes deliveries whose next attempt has succeeded. */
export async function finishDelivered(tx: Tx, leases: readonly Lease[]): Promise<void> {
  await tx`
    UPDATE deliveries SET status = 'success', attempts = attempts + 1, ready_at = NULL, locked_until = NULL, owner = NULL,
      finished_at = clock_timestamp() WHERE id = ANY (${leases.map(({ id }) => id)}::uuid[])`;
}

/**
 * Finishes a delivery. One statement on purpose: when a transaction updates a row twice, PostgreSQL checks its foreign
 * keys again, which locks the endpoint after the event and deadlocks with a removal of the endpoint.
 */
export async function finishDelivery(
  tx: Tx,
  lease: Lease,
  status: 'success' | 'failed',
  attempts: number,
): Promise<void> {
  await tx`
    UPDATE deliveries SET status = ${status}, attempts = ${attempts}, ready_at = NULL, locked_until = NULL, owner = NULL,
      finished_at = clock_timestamp() WHERE id = ${lease.id}`;
}

/** Schedules the next attempt. One statement, for the same reason as in `finishDelivery`. */
export async function retryDelivery(tx: Tx, lease: Lease, pause_ms: number, attempts: number): Promise<void> {
  await tx`
    UPDATE deliveries SET attempts = ${attempts}, locked_until = NULL, owner = NULL,
      ready_at = clock_timestamp() + ${pause_ms}::float8 * interval '1 millisecond' WHERE id = ${lease.id}`;
}

/** Postpones a delivery to a receiver that hangs. No attempt is counted. */
export async function deferDelivery(tx: Tx, lease: Lease, pause_ms: number): Promise<void> {
  await lockDeliveries(tx, [lease]);
  await tx`UPDATE deliveries SET locked_until = NULL, owner = NULL,
    ready_at = clock_timestamp() + ${pause_ms}::float8 * interval '1 millisecond' WHERE id = ${lease.id}`;
}

/** Releases the claim during shutdown, so that another worker can claim it immediately. */
export async function releaseDelivery(tx: Tx, lease: Lease): Promise<void> {
  await lockDeliveries(tx, [lease]);
  await tx`UPDATE deliveries SET locked_until = NULL, owner = NULL WHERE id = ${lease.id}`;
}

export type DeliveryFilters = {
  status?: 'pending' | 'success' | 'failed' | undefined;
  event_type?: string | undefined;
};

/** Resent events can have more. */
const attempts_shown = 20;

/**
 * A page of the deliveries to an endpoint, newest first, as the JSON text of the whole response. Responses of receivers
 * may quote the event: `mrns` are the patients concerned. Undefined if there is no such endpoint.
 */
export async function listDeliveries(
  db: Database,
  { client_id, endpoint_id }: { client_id: string; endpoint_id: string },
  { page, page_size, ...filters }: DeliveryFilters & { page: number; page_size: number },
): Promise<{ body: string; mrns: string[] } | undefined> {
  const [row] = await db.read<{ body: string; mrns: string[][] | null }>(client_id, (sql) => {
    const matching = matchingDeliveries(sql, filters);
    return sql`
      SELECT json_build_object('success', true, 'deliveries', coalesce(page.deliveries, '[]'),
               'pagination', json_build_object('page', ${page}::bigint, 'current_page', ${page}::bigint,
                 'page_size', ${page_size}::bigint, 'total_count', total.n,
                 'total_pages', ceil(total.n::numeric / ${page_size}::bigint)))::text AS body, page.mrns
        FROM webhook_endpoints AS endpoint
       CROSS JOIN LATERAL (SELECT count(*) AS n ${matching}) AS total
       CROSS JOIN LATERAL (
         SELECT json_agg(${deliveryJson(sql)} ORDER BY id DESC) AS deliveries, json_agg(mrns) AS mrns
           FROM (SELECT ${deliveryColumns(sql)} ${matching}
                  ORDER BY delivery.id DESC ${limitTo(sql, page_size)} OFFSET ${(page - 1) * page_size}::bigint
                ) AS delivery) AS page
       WHERE endpoint.id = ${endpoint_id}`;
  });
  return row && { body: row.body, mrns: (row.mrns ?? []).flat() };
}

/** A page of the deliveries to an endpoint by cursor, oldest first. Undefined if the client has no such endpoint. */
export async function walkDeliveries(
  { db, system_keys }: Pick<Context, 'db' | 'system_keys'>,
  { client_id, endpoint_id }: { client_id: string; endpoint_id: string },
  { filters, cursor, page_size }: { filters: DeliveryFilters; cursor: string; page_size: number },
): Promise<{ body: string; mrns: string[] } | undefined> {
  const place = ['list', 'deliveries', client_id, endpoint_id, filters] as const;
  const after = readPosition(system_keys, place, cursor) ?? first_id;
  type PageRow = { id: string | null; element: string; mrns: string[] };
  const rows = await db.read<PageRow>(
    client_id,
    (sql) => sql`SELECT delivery.id, ${deliveryJson(sql)}::text AS element, delivery.mrns
      FROM webhook_endpoints AS endpoint LEFT JOIN LATERAL (SELECT ${deliveryColumns(sql)} ${matchingDeliveries(sql, filters)}
        AND delivery.id > ${after} ORDER BY delivery.id ${limitTo(sql, page_size + 1)}) AS delivery ON true
     WHERE endpoint.id = ${endpoint_id} ORDER BY delivery.id`,
  );
  if (rows.length === 0) return undefined;
  const shown = rows.filter(({ id }) => id !== null).slice(0, page_size);
  const last = rows.length > page_size ? shown.at(-1)?.id : undefined;
  const pagination = JSON.stringify({ page_size, next_cursor: last ? formatCursor(system_keys, place, last) : null });
  return {
    body: `{"success":true,"deliveries":[${shown.map(({ element }) => element).join()}],"pagination":${pagination}}`,
    mrns: shown.flatMap(({ mrns }) => mrns),
  };
}

function matchingDeliveries(sql: Query, { status, event_type }: DeliveryFilters): Fragment {
  return sql`FROM deliveries AS delivery JOIN events AS event ON event.id = delivery.event_id
    WHERE delivery.endpoint_id = endpoint.id AND event.created_at > now() - interval '30 days'
    ${status === undefined ? sql`` : sql`AND delivery.status = ${status}`}
    ${event_type === undefined ? sql`` : sql`AND event.type = ${event_type}`}`;
}

function deliveryColumns(sql: Query): Fragment {
  return sql`delivery.id, delivery.event_id, event.type, delivery.status, event.created_at, delivery.ready_at, event.mrns`;
}

/** A row of these columns, called `delivery`, as the API returns it. */
function deliveryJson(sql: Query): Fragment {
  return sql`json_build_object('id', replace(delivery.id::text, '-', ''),
    'event_id', replace(delivery.event_id::text, '-', ''), 'event_type', delivery.type, 'status', delivery.status,
    'created_at', iso(delivery.created_at), 'next_attempt_at', iso(delivery.ready_at), 'attempts', ${attemptsJson(sql)})`;
}

function attemptsJson(sql: Query): Fragment {
  return sql`(SELECT coalesce(json_agg(json_build_object('attempt', attempt, 'at', iso(at), 'status_code', status_code,
      'duration_ms', duration_ms, 'problem', problem, 'response_start', snippet) ORDER BY attempt DESC), '[]')
    FROM (SELECT * FROM delivery_attempts WHERE delivery_id = delivery.id ORDER BY attempt DESC
          LIMIT ${attempts_shown}::bigint) AS made)`;
}

/** The events with a pending delivery to an endpoint. */
export async function findPendingEvents(tx: Tx, endpoint_id: string): Promise<string[]> {
  const rows = await tx<{ event_id: string }[]>`
    SELECT event_id FROM deliveries WHERE endpoint_id = ${endpoint_id} AND status = 'pending'`;
  return rows.map((row) => row.event_id);
}

/**
 * Fails all pending deliveries to an endpoint. Skips those in progress: their workers reach the same result, and waiting
 * for their locks would block a worker that is about to commit.
 */
export async function failWaiting(tx: Tx, endpoint_id: string): Promise<void> {
  await tx`
    UPDATE deliveries SET status = 'failed', ready_at = NULL, locked_until = NULL, owner = NULL,
      finished_at = clock_timestamp()
     WHERE id IN (SELECT id FROM deliveries
                   WHERE endpoint_id = ${endpoint_id} AND status = 'pending'
                     AND (locked_until IS NULL OR locked_until <= clock_timestamp()) FOR UPDATE SKIP LOCKED)`;
}

/** Fails the deliveries to an endpoint that were due longer ago than retries take. Like `failWaiting`. */
export async function failOverdue(tx: Tx, endpoint_id: string): Promise<void> {
  await tx`
    UPDATE deliveries SET status = 'failed', ready_at = NULL, locked_until = NULL, owner = NULL,
      finished_at = clock_timestamp()
     WHERE id IN (SELECT id FROM deliveries
                   WHERE endpoint_id = ${endpoint_id} AND status = 'pending'
                     AND ready_at < clock_timestamp() - make_interval(hours => ${waiting_hours_max})
                     AND (locked_until IS NULL OR locked_until <= clock_timestamp()) FOR UPDATE SKIP LOCKED)`;
}

/**
 * Makes the waiting deliveries to an endpoint due now. Their number of attempts and the rest of their schedule stay.
 * Skips those in progress: a worker is sending them already.
 */
export async function hurryDeliveries(tx: Tx, endpoint_id: string): Promise<number> {
  const hurried = await tx`
    UPDATE deliveries SET ready_at = clock_timestamp()
     WHERE id IN (SELECT id FROM deliveries
                   WHERE endpoint_id = ${endpoint_id} AND ready_at > clock_timestamp()
                     AND (locked_until IS NULL OR locked_until <= clock_timestamp()) FOR UPDATE SKIP LOCKED)`;
  return hurried.count;
}

/** Restarts the retry schedule of an event's finished deliveries to these endpoints. Attempt numbers continue. */
export async function restartDeliveries(tx: Tx, event_id: string, endpoint_ids: readonly string[]): Promise<number> {
  const restarted = await tx`
    UPDATE deliveries SET status = 'pending', schedule_from = attempts, ready_at = clock_timestamp(), finished_at = NULL
     WHERE event_id = ${event_id} AND endpoint_id = ANY (${[...endpoint_ids]}) AND status <> 'pending'`;
  return restarted.count;
}

/** Restarts the failed deliveries of these events to enabled, subscribed endpoints, or one of them. Returns the events. */
export async function restartFailed(
  tx: Tx,
  event_ids: readonly string[],
  endpoint_id: string | undefined,
): Promise<string[]> {
  const rows = await tx<{ event_id: string }[]>`
    UPDATE deliveries AS delivery SET status = 'pending', schedule_from = attempts, ready_at = clock_timestamp(),
           finished_at = NULL
      FROM events AS event, webhook_endpoints AS endpoint
     WHERE delivery.event_id = ANY (${[...event_ids]}::uuid[]) AND delivery.status = 'failed'
       AND event.id = delivery.event_id AND endpoint.id = delivery.endpoint_id AND endpoint.status = 'enabled'
       AND ${isSubscribed(tx)}
       ${endpoint_id === undefined ? tx`` : tx`AND endpoint.id = ${endpoint_id}`}
    RETURNING delivery.event_id`;
  return [...new Set(rows.map((row) => row.event_id))];
}

/** The longest pause before the first attempt of a delivery: a receiver that hangs is set aside for a minute. */
const first_pause_max_ms = 60_000;

/**
 * Ends pauses that are longer than any can be. They were set by a database server whose clock was ahead. Before its
 * first attempt, a delivery waits for a minute at most; after one, up to the longest pause of the schedule. An attempt
 * that lies in the future shows that the earlier clock set the pause after it. Returns how many deliveries are due now.
 */
export async function boundDeliveryPauses(system: Sql): Promise<number> {
  const sql = system.pooled;
  const after = (ms: number) => sql`clock_timestamp() + ${ms + clock_tolerance_ms}::float8 * interval '1 millisecond'`;
  const bounded = await sql`
    UPDATE deliveries SET ready_at = clock_timestamp()
     WHERE id IN (SELECT delivery.id FROM deliveries AS delivery
                   WHERE delivery.ready_at > ${after(first_pause_max_ms)}
                     AND (delivery.locked_until IS NULL OR delivery.locked_until <= clock_timestamp())
                     AND (delivery.attempts = delivery.schedule_from OR delivery.ready_at > ${after(retry_pause_max_ms)}
                          OR EXISTS (SELECT FROM delivery_attempts AS made
                                      WHERE made.delivery_id = delivery.id AND made.attempt = delivery.attempts
                                        AND made.at > ${after(0)}))
                   ORDER BY delivery.id FOR UPDATE OF delivery SKIP LOCKED)`;
  return bounded.count;
}

/** The deliveries with the fences of these leases, whose numbers are `lease.position`. */
function heldDeliveries(sql: Query, leases: readonly Lease[]): Fragment {
  const ids = leases.map(({ id }) => id);
  return sql`deliveries AS delivery
    JOIN unnest(${ids}::uuid[], ${leases.map(({ fence }) => fence)}::bigint[]) WITH ORDINALITY AS lease (id, fence, position)
      ON delivery.id = lease.id AND delivery.fence = lease.fence`;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** The pause before each attempt: ten attempts over 75.6 hours. Each pause varies by up to 20 %. */
export const retry_delays_ms: readonly number[] = [
  0,
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

/** How long a delivery waits for an endpoint that is paused: as long as its retries take. */
export const waiting_hours_max = 76;

/** The longest Retry-After that is honored. */
const retry_after_max_s = 86_400;

/** The longest pause before another attempt: that of the schedule at its latest, or the longest Retry-After. */
export const retry_pause_max_ms = Math.max(
  jittered(Math.max(...retry_delays_ms), () => 1),
  retry_after_max_s * second,
);

/** The pause before the next attempt, never shorter than the receiver's Retry-After. Undefined after the last attempt. */
export function nextAttemptDelay(
  attempts_made: number,
  retry_after_s: number | undefined,
  random: () => number = Math.random,
): number | undefined {
  const plain = retry_delays_ms[attempts_made];
  if (plain === undefined) return undefined;
  const requested_ms = Math.min(retry_after_s ?? 0, retry_after_max_s) * second;
  return Math.max(Math.round(jittered(plain, random)), requested_ms);
}

/** The seconds a Retry-After header asks for, given as a number or as an HTTP date. Undefined if it cannot be parsed. */
export function retryAfterS(header: string | undefined, now_ms: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  // An HTTP date is in GMT and starts with the name of a day; Date.parse alone would also read "-1" or "2.5".
  const at_ms = /^[A-Z][a-z]+,? .*(GMT|\d{4})$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at_ms) ? undefined : Math.max(0, Math.ceil((at_ms - now_ms) / second));
}
