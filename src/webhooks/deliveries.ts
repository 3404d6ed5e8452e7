import type { Tx } from '../db/database.ts';
import { type Lease, LeaseLost } from '../db/lease.ts';

/** Everything a worker needs to make an attempt. */
export type Delivery = {
  id: string;
  client_id: string;
  event_id: string;
  endpoint_id: string;
  attempts: number;
  schedule_from: number;
  event_type: string;
  body: string;
  url: string;
  enabled: boolean;
  /** The span that sent the event. */
  traceparent: string | null;
};

export type Attempt = {
  number: number;
  duration_ms: number;
  status_code: number | null;
  problem: string | null;
  snippet: string | null;
};

export async function addDeliveries(
  tx: Tx,
  { client_id, event_id, endpoint_ids }: { client_id: string; event_id: string; endpoint_ids: readonly string[] },
): Promise<number> {
  if (endpoint_ids.length === 0) return 0;
  const added = await tx`
    INSERT INTO deliveries (id, client_id, event_id, endpoint_id)
      SELECT gen_random_uuid(), ${client_id}, ${event_id}, id FROM unnest(${[...endpoint_ids]}::text[]) AS subscribed (id)
      ON CONFLICT (event_id, endpoint_id) DO NOTHING`;
  return added.count;
}

export async function readDelivery(tx: Tx, lease: Lease): Promise<Delivery> {
  const [delivery] = await tx<Delivery[]>`
    SELECT delivery.id, delivery.client_id, delivery.event_id, delivery.endpoint_id, delivery.attempts,
           delivery.schedule_from, event.type AS event_type, event.body, event.traceparent, endpoint.url,
           endpoint.status = 'enabled' AS enabled
      FROM deliveries AS delivery
      JOIN events AS event ON event.id = delivery.event_id
      JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
     WHERE delivery.id = ${lease.id} AND delivery.fence = ${lease.fence} AND delivery.locked_until > clock_timestamp()`;
  if (!delivery) throw new LeaseLost();
  return delivery;
}

/** Locks the delivery, or throws LeaseLost if another worker has claimed it. Called before everything a worker commits. */
export async function lockDelivery(tx: Tx, lease: Lease): Promise<void> {
  const held = await tx`
    SELECT id FROM deliveries
     WHERE id = ${lease.id} AND fence = ${lease.fence} AND locked_until > clock_timestamp() FOR UPDATE`;
  if (held.length === 0) throw new LeaseLost();
}

/** Stores an attempt. The response snippet may echo the event, so the row has the same tenant policy as the event. */
export async function addAttempt(tx: Tx, lease: Lease, attempt: Attempt): Promise<void> {
  await tx`
    INSERT INTO delivery_attempts (delivery_id, attempt, client_id, at, duration_ms, status_code, problem, snippet)
    VALUES (${lease.id}, ${attempt.number}, ${lease.client_id}, clock_timestamp(), ${attempt.duration_ms},
      ${attempt.status_code}, ${attempt.problem}, ${attempt.snippet})`;
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
  await lockDelivery(tx, lease);
  await tx`UPDATE deliveries SET locked_until = NULL, owner = NULL,
    ready_at = clock_timestamp() + ${pause_ms}::float8 * interval '1 millisecond' WHERE id = ${lease.id}`;
}

/** Releases the claim during shutdown, so that another worker can claim it immediately. */
export async function releaseDelivery(tx: Tx, lease: Lease): Promise<void> {
  await lockDelivery(tx, lease);
  await tx`UPDATE deliveries SET locked_until = NULL, owner = NULL WHERE id = ${lease.id}`;
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
       AND (endpoint.event_types IS NULL OR event.type = ANY (endpoint.event_types))
       ${endpoint_id === undefined ? tx`` : tx`AND endpoint.id = ${endpoint_id}`}
    RETURNING delivery.event_id`;
  return [...new Set(rows.map((row) => row.event_id))];
}
