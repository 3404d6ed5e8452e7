import type { Database, Tx } from '../db/database.ts';
import type { EventType } from '../events.ts';
import type { Attention } from '../model/dashboard/overview.ts';

export type Endpoint = {
  id: string;
  url: string;
  status: 'enabled' | 'disabled';
  disabled_reason: string | null;
  /** null: every type. */
  event_types: EventType[] | null;
  created_at: Date;
};

/** The endpoints of the tenant, oldest first. */
export async function listEndpoints(tx: Tx): Promise<Endpoint[]> {
  return tx<Endpoint[]>`
    SELECT id, url, status, disabled_reason, event_types, created_at FROM webhook_endpoints ORDER BY created_at, id`;
}

/** Makes registrations of one address wait for each other: two at once would otherwise both find it new. */
export async function lockUrl(tx: Tx, client_id: string, url: string): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`webhook ${client_id} ${url}`}, 0))`;
}

/** The endpoint of an address that is registered already, enabled and with the types wanted now. */
export async function renewEndpoint(
  tx: Tx,
  { url, event_types }: { url: string; event_types: readonly EventType[] | null },
): Promise<string | undefined> {
  const [row] = await tx<{ id: string }[]>`
    UPDATE webhook_endpoints
       SET event_types = ${event_types && [...event_types]}, status = 'enabled', disabled_reason = NULL, failing_since = NULL
     WHERE url = ${url} RETURNING id`;
  return row?.id;
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
 * The enabled endpoints that want a type of event. The lock waits for a removal under way: without it the delivery
 * would refer to a row that is gone, and the caller's whole transaction, the end of a job, would fail by it.
 */
export async function findWanting(tx: Tx, type: string): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    SELECT id FROM webhook_endpoints
     WHERE status = 'enabled' AND (event_types IS NULL OR ${type} = ANY (event_types)) ORDER BY id FOR KEY SHARE`;
  return rows.map((row) => row.id);
}

/** Waits for removals under way and holds off others, as `findWanting` does, for events of any type. */
export async function lockEnabled(tx: Tx): Promise<void> {
  await tx`SELECT FROM webhook_endpoints WHERE status = 'enabled' ORDER BY id FOR KEY SHARE`;
}

export async function findOldestEnabled(tx: Tx): Promise<string | undefined> {
  const [row] = await tx<{ id: string }[]>`
    SELECT id FROM webhook_endpoints WHERE status = 'enabled' ORDER BY created_at, id LIMIT 1`;
  return row?.id;
}

/** Locks an endpoint against changes by others; false when there is none. */
export async function lockEndpoint(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx`SELECT id FROM webhook_endpoints WHERE id = ${id} FOR UPDATE`;
  return rows.length > 0;
}

export async function deleteEndpoint(tx: Tx, id: string): Promise<void> {
  await tx`DELETE FROM webhook_endpoints WHERE id = ${id}`;
}

/** False when there is no such endpoint. */
export async function setEventTypes(tx: Tx, id: string, event_types: readonly EventType[] | null): Promise<boolean> {
  const rows = await tx`
    UPDATE webhook_endpoints SET event_types = ${event_types && [...event_types]} WHERE id = ${id} RETURNING id`;
  return rows.length > 0;
}

/** Sends to an endpoint again, as if it had never failed. False when there is no such endpoint. */
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

/** The receiver answers: whatever failed before is over. A healthy endpoint's row is not touched, so not locked. */
export async function clearFailing(tx: Tx, id: string): Promise<void> {
  await tx`UPDATE webhook_endpoints SET failing_since = NULL WHERE id = ${id} AND failing_since IS NOT NULL`;
}

/** Notes that a try failed, and says for how long every try has been failing. */
export async function noteFailing(tx: Tx, id: string): Promise<{ enabled: boolean; failing_s: number } | undefined> {
  const [row] = await tx<{ enabled: boolean; failing_s: number }[]>`
    UPDATE webhook_endpoints SET failing_since = coalesce(failing_since, clock_timestamp()) WHERE id = ${id}
    RETURNING status = 'enabled' AS enabled,
      extract(epoch FROM clock_timestamp() - failing_since)::float8 AS failing_s`;
  return row;
}

/**
 * The endpoints of a client that take nothing at present, since when and why: in the words of the last try of the
 * delivery that is due next, or of whoever disabled it.
 */
export function listFailing(db: Database, client_id: string): Promise<Attention['endpoints']> {
  return db.search<Attention['endpoints'][number]>(
    client_id,
    (sql) => sql`
      SELECT id, url, status, iso(failing_since) AS since, coalesce(disabled_reason,
             (SELECT attempt.problem FROM (SELECT deliveries.id, attempts FROM deliveries
                 WHERE endpoint_id = endpoint.id AND ready_at IS NOT NULL AND attempts > 0 ORDER BY ready_at LIMIT 1) AS due
                JOIN delivery_attempts AS attempt ON attempt.delivery_id = due.id AND attempt.attempt = due.attempts),
             'Deliveries to it fail.') AS reason
        FROM webhook_endpoints AS endpoint
       WHERE failing_since IS NOT NULL ORDER BY failing_since, id`,
  );
}
