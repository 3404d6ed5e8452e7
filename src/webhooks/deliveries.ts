import type { Tx } from '../db/database.ts';
import { type Lease, LeaseLost } from '../db/lease.ts';

/** A delivery as its worker sees it. */
export type Delivery = {
  id: string;
  client_id: string;
  event_id: string;
  endpoint_id: string;
  attempts: number;
  ladder_from: number;
  event_type: string;
  body: string;
  url: string;
  enabled: boolean;
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
      SELECT gen_random_uuid(), ${client_id}, ${event_id}, id FROM unnest(${[...endpoint_ids]}::text[]) AS wanting (id)
      ON CONFLICT (event_id, endpoint_id) DO NOTHING`;
  return added.count;
}

/** What is to be sent, and where. */
export async function readDelivery(tx: Tx, lease: Lease): Promise<Delivery> {
  const [delivery] = await tx<Delivery[]>`
    SELECT delivery.id, delivery.client_id, delivery.event_id, delivery.endpoint_id, delivery.attempts,
           delivery.ladder_from, event.type AS event_type, event.body, endpoint.url,
           endpoint.status = 'enabled' AS enabled
      FROM deliveries AS delivery
      JOIN events AS event ON event.id = delivery.event_id
      JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
     WHERE delivery.id = ${lease.id} AND delivery.fence = ${lease.fence} AND delivery.locked_until > clock_timestamp()`;
  if (!delivery) throw new LeaseLost();
  return delivery;
}

/** Locks the delivery if this worker still holds it; everything that a worker commits passes here. */
export async function holdDelivery(tx: Tx, lease: Lease): Promise<void> {
  const held = await tx`
    SELECT id FROM deliveries
     WHERE id = ${lease.id} AND fence = ${lease.fence} AND locked_until > clock_timestamp() FOR UPDATE`;
  if (held.length === 0) throw new LeaseLost();
}

/** Keeps what a try showed, with the beginning of the answer: it lies behind the wall of the event it may echo. */
export async function addAttempt(tx: Tx, lease: Lease, attempt: Attempt): Promise<void> {
  await tx`
    INSERT INTO delivery_attempts (delivery_id, attempt, client_id, at, duration_ms, status_code, problem, snippet)
    VALUES (${lease.id}, ${attempt.number}, ${lease.client_id}, clock_timestamp(), ${attempt.duration_ms},
      ${attempt.status_code}, ${attempt.problem}, ${attempt.snippet})`;
}

/**
 * Ends a delivery after so many tries. Everything in one statement: PostgreSQL checks the references of a row anew
 * when one transaction updates it twice. That locks the endpoint after the event, and a removal of the endpoint,
 * which goes the other way, meets it in a deadlock.
 */
export async function endDelivery(tx: Tx, lease: Lease, status: 'success' | 'failed', attempts: number): Promise<void> {
  await tx`
    UPDATE deliveries SET status = ${status}, attempts = ${attempts}, ready_at = NULL, locked_until = NULL, owner = NULL,
      finished_at = clock_timestamp() WHERE id = ${lease.id}`;
}

/** Lets a delivery wait for its next try; in one statement as `endDelivery`. */
export async function retryDelivery(tx: Tx, lease: Lease, pause_ms: number, attempts: number): Promise<void> {
  await tx`
    UPDATE deliveries SET attempts = ${attempts}, locked_until = NULL, owner = NULL,
      ready_at = clock_timestamp() + ${pause_ms}::float8 * interval '1 millisecond' WHERE id = ${lease.id}`;
}

/** Back as it was, to be taken at once by another worker: the process is going down. */
export async function releaseDelivery(tx: Tx, lease: Lease): Promise<void> {
  await holdDelivery(tx, lease);
  await tx`UPDATE deliveries SET locked_until = NULL, owner = NULL WHERE id = ${lease.id}`;
}

/** The events that still wait for an endpoint. */
export async function findPendingEvents(tx: Tx, endpoint_id: string): Promise<string[]> {
  const rows = await tx<{ event_id: string }[]>`
    SELECT event_id FROM deliveries WHERE endpoint_id = ${endpoint_id} AND status = 'pending'`;
  return rows.map((row) => row.event_id);
}

/**
 * Ends what waits for an endpoint. Deliveries at work are left to their workers, who see the same end: waiting for
 * their locks would stop the worker that is about to commit one.
 */
export async function failWaiting(tx: Tx, endpoint_id: string): Promise<void> {
  await tx`
    UPDATE deliveries SET status = 'failed', ready_at = NULL, locked_until = NULL, owner = NULL,
      finished_at = clock_timestamp()
     WHERE id IN (SELECT id FROM deliveries
                   WHERE endpoint_id = ${endpoint_id} AND status = 'pending'
                     AND (locked_until IS NULL OR locked_until <= clock_timestamp()) FOR UPDATE SKIP LOCKED)`;
}

/** The finished deliveries of an event to these endpoints begin a fresh ladder; the numbers of their tries go on. */
export async function restartDeliveries(tx: Tx, event_id: string, endpoint_ids: readonly string[]): Promise<number> {
  const restarted = await tx`
    UPDATE deliveries SET status = 'pending', ladder_from = attempts, ready_at = clock_timestamp(), finished_at = NULL
     WHERE event_id = ${event_id} AND endpoint_id = ANY (${[...endpoint_ids]}) AND status <> 'pending'`;
  return restarted.count;
}

/** Of these events only what has failed begins a fresh ladder, to enabled endpoints that want it; gives their events. */
export async function restartFailed(tx: Tx, event_ids: readonly string[]): Promise<string[]> {
  const rows = await tx<{ event_id: string }[]>`
    UPDATE deliveries AS delivery SET status = 'pending', ladder_from = attempts, ready_at = clock_timestamp(),
           finished_at = NULL
      FROM events AS event, webhook_endpoints AS endpoint
     WHERE delivery.event_id = ANY (${[...event_ids]}::uuid[]) AND delivery.status = 'failed'
       AND event.id = delivery.event_id AND endpoint.id = delivery.endpoint_id AND endpoint.status = 'enabled'
       AND (endpoint.event_types IS NULL OR event.type = ANY (endpoint.event_types))
    RETURNING delivery.event_id`;
  return [...new Set(rows.map((row) => row.event_id))];
}
