import type { EventType } from '../../model/events.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';

export type Endpoint = {
  id: string;
  url: string;
  status: 'enabled' | 'disabled';
  disabled_reason: string | null;
  /** null: every type. */
  event_types: EventType[] | null;
  created_at: Date;
};

/** The tenant's endpoints, oldest first. */
export async function listEndpoints(tx: Tx): Promise<Endpoint[]> {
  return tx<Endpoint[]>`
    SELECT id, url, status, disabled_reason, event_types, created_at FROM webhook_endpoints ORDER BY created_at, id`;
}

export async function findEndpoint(tx: Tx, id: string): Promise<Endpoint | undefined> {
  const [row] = await tx<Endpoint[]>`
    SELECT id, url, status, disabled_reason, event_types, created_at FROM webhook_endpoints WHERE id = ${id}`;
  return row;
}

/** Serializes a client's registrations: two concurrent ones could insert the same URL, or exceed the limit. */
export async function lockRegistration(tx: Tx, client_id: string): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`webhook ${client_id}`}, 0))`;
}

export async function countEndpoints(tx: Tx): Promise<number> {
  const [row] = await tx<{ n: number }[]>`SELECT count(*) AS n FROM webhook_endpoints`;
  return row?.n ?? 0;
}

/** Locks the endpoint that is registered for a URL. */
export async function lockEndpointAt(tx: Tx, url: string): Promise<Endpoint | undefined> {
  const [row] = await tx<Endpoint[]>`
    SELECT id, url, status, disabled_reason, event_types, created_at FROM webhook_endpoints
     WHERE url = ${url} FOR NO KEY UPDATE`;
  return row;
}

/** Enables an endpoint, forgets its failures and sets its event types. */
export async function renewEndpoint(
  tx: Tx,
  { id, event_types }: { id: string; event_types: readonly EventType[] | null },
): Promise<void> {
  await tx`
    UPDATE webhook_endpoints
       SET event_types = ${event_types && [...event_types]}, status = 'enabled', disabled_reason = NULL, failing_since = NULL
     WHERE id = ${id}`;
}

export async function insertEndpoint(
  tx: Tx,
  endpoint: { id: string; client_id: string; url: string; event_types: readonly EventType[] | null },
): Promise<void> {
  await tx`
    INSERT INTO webhook_endpoints (id, client_id, url, event_types, created_at)
    VALUES (${endpoint.id}, ${endpoint.client_id}, ${endpoint.url}, ${endpoint.event_types && [...endpoint.event_types]},
      clock_timestamp())`;
}

/**
 * The enabled endpoints subscribed to an event type, for each of these types. The lock waits for a concurrent removal:
 * without it the delivery could reference a deleted row, which would fail the caller's whole transaction, the end of a job.
 */
export async function findSubscribed(tx: Tx, types: readonly string[]): Promise<(type: string) => string[]> {
  const rows = await tx<Pick<Endpoint, 'id' | 'event_types'>[]>`
    SELECT id, event_types FROM webhook_endpoints
     WHERE status = 'enabled' AND (event_types IS NULL OR event_types && ${[...types]}::text[]) ORDER BY id FOR KEY SHARE`;
  return (type) =>
    rows
      .filter(({ event_types }) => event_types === null || event_types.some((each) => each === type))
      .map(({ id }) => id);
}

/** Locks all enabled endpoints against removal, like `findSubscribed` does for one event type. */
export async function lockEnabled(tx: Tx): Promise<void> {
  await tx`SELECT FROM webhook_endpoints WHERE status = 'enabled' ORDER BY id FOR KEY SHARE`;
}

export async function findOldestEnabled(tx: Tx): Promise<string | undefined> {
  const [row] = await tx<{ id: string }[]>`
    SELECT id FROM webhook_endpoints WHERE status = 'enabled' ORDER BY created_at, id LIMIT 1`;
  return row?.id;
}

/** Locks an endpoint. Returns false if it does not exist. */
export async function lockEndpoint(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx`SELECT id FROM webhook_endpoints WHERE id = ${id} FOR UPDATE`;
  return rows.length > 0;
}

export async function deleteEndpoint(tx: Tx, id: string): Promise<void> {
  await tx`DELETE FROM webhook_endpoints WHERE id = ${id}`;
}

/** Returns false if the endpoint does not exist. */
export async function setEventTypes(tx: Tx, id: string, event_types: readonly EventType[] | null): Promise<boolean> {
  const rows = await tx`
    UPDATE webhook_endpoints SET event_types = ${event_types && [...event_types]} WHERE id = ${id} RETURNING id`;
  return rows.length > 0;
}

/** Enables an endpoint and clears its failure record. Returns false if it does not exist. */
export async function enableEndpoint(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx`
    UPDATE webhook_endpoints
       SET failing_since = CASE WHEN status = 'enabled' THEN failing_since END, status = 'enabled', disabled_reason = NULL
     WHERE id = ${id} RETURNING id`;
  return rows.length > 0;
}

export async function moveEndpoint(tx: Tx, id: string, url: string): Promise<void> {
  await tx`UPDATE webhook_endpoints SET url = ${url} WHERE id = ${id}`;
}

export async function markDisabled(tx: Tx, id: string, reason: string): Promise<boolean> {
  const rows = await tx`
    UPDATE webhook_endpoints SET status = 'disabled', disabled_reason = ${reason}
     WHERE id = ${id} AND status = 'enabled' RETURNING id`;
  return rows.length > 0;
}

/**
 * Clears the failure records after successes. The row of a healthy endpoint is not updated, so it is not locked. One
 * statement per endpoint, in id order and in one round trip: an UPDATE with a sub-select that locks the rows deadlocks with
 * another one, even on a single row, if both waited for a third transaction's update while an event held a key share lock.
 */
export async function clearFailures(tx: Tx, ids: readonly string[]): Promise<void> {
  await Promise.all(
    ids
      .toSorted()
      .map(
        (id) => tx`UPDATE webhook_endpoints SET failing_since = NULL WHERE id = ${id} AND failing_since IS NOT NULL`,
      ),
  );
}

/** Records a failed attempt and returns how long every attempt has been failing. */
export async function recordFailure(tx: Tx, id: string): Promise<{ enabled: boolean; failing_s: number } | undefined> {
  const [row] = await tx<{ enabled: boolean; failing_s: number }[]>`
    UPDATE webhook_endpoints SET failing_since = coalesce(failing_since, clock_timestamp()) WHERE id = ${id}
    RETURNING status = 'enabled' AS enabled,
      extract(epoch FROM clock_timestamp() - failing_since)::float8 AS failing_s`;
  return row;
}

/** The error of the last attempt at the next due delivery to `endpoint`. */
export function lastProblem(sql: Query): Fragment {
  return sql`(
    SELECT attempt.problem FROM (SELECT deliveries.id, attempts FROM deliveries
        WHERE endpoint_id = endpoint.id AND ready_at IS NOT NULL AND attempts > 0 ORDER BY ready_at LIMIT 1) AS due
      JOIN delivery_attempts AS attempt ON attempt.delivery_id = due.id AND attempt.attempt = due.attempts)`;
}
