import type { EventType } from '../../model/events.ts';
import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import { describeCertificate } from '../../platform/security/certificates.ts';
import { destinationChange, formatDestination } from '../../platform/security/outbound.ts';

/** Which events an endpoint receives. */
export type Subscription = {
  /** null: every type. */
  event_types: readonly EventType[] | null;
  /** The client's IDs of organizations; null: all. */
  org_ids: readonly string[] | null;
  /** Whether it also receives the events of changes that a sync found. */
  sync_events: boolean;
};

export type Endpoint = Subscription & {
  id: string;
  url: string;
  status: 'enabled' | 'disabled';
  disabled_reason: string | null;
  /** Deliveries wait until it is resumed. */
  paused: boolean;
  /** The certificate that the receiver is shown, in PEM form with its chain. */
  certificate: string | null;
  created_at: Date;
};

function endpointColumns(sql: Query): Fragment {
  return sql`id, url, status, disabled_reason, event_types, org_ids, sync_events, paused_at IS NOT NULL AS paused,
    certificate, created_at`;
}

/** The tenant's endpoints, oldest first. */
export async function listEndpoints(tx: Tx): Promise<Endpoint[]> {
  return tx<Endpoint[]>`
    SELECT ${endpointColumns(tx)} FROM webhook_endpoints ORDER BY created_at, id`;
}

/**
 * The URLs of endpoints by ID, without what may be secret in them. The system role cannot read URLs, so they are read as
 * the clients.
 */
export async function readDestinations(
  db: Database,
  endpoints: readonly { id: string; client_id: string }[],
): Promise<Map<string, string>> {
  const destinations = new Map<string, string>();
  for (const client_id of new Set(endpoints.map((each) => each.client_id))) {
    const ids = endpoints.filter((each) => each.client_id === client_id).map(({ id }) => id);
    const rows = await db.read<{ id: string; url: string }>(
      client_id,
      (sql) => sql`SELECT id, url FROM webhook_endpoints WHERE id = ANY (${ids})`,
    );
    for (const { id, url } of rows) destinations.set(id, formatDestination(url));
  }
  return destinations;
}

export async function findEndpoint(tx: Tx, id: string): Promise<Endpoint | undefined> {
  const [row] = await tx<Endpoint[]>`
    SELECT ${endpointColumns(tx)} FROM webhook_endpoints WHERE id = ${id}`;
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
    SELECT ${endpointColumns(tx)} FROM webhook_endpoints
     WHERE url = ${url} FOR NO KEY UPDATE`;
  return row;
}

/** Enables an endpoint, forgets its failures and sets what it receives. */
export async function renewEndpoint(tx: Tx, id: string, subscription: Subscription): Promise<void> {
  await setSubscription(tx, id, subscription);
  await tx`
    UPDATE webhook_endpoints SET status = 'enabled', disabled_reason = NULL, failing_since = NULL WHERE id = ${id}`;
}

export async function setSubscription(
  tx: Tx,
  id: string,
  { event_types, org_ids, sync_events }: Subscription,
): Promise<void> {
  await tx`
    UPDATE webhook_endpoints SET event_types = ${event_types && [...event_types]}, org_ids = ${org_ids && [...org_ids]},
      sync_events = ${sync_events} WHERE id = ${id}`;
}

export async function insertEndpoint(
  tx: Tx,
  { id, client_id, url, ...subscription }: { id: string; client_id: string; url: string } & Subscription,
): Promise<void> {
  await tx`
    INSERT INTO webhook_endpoints (id, client_id, url, created_at) VALUES (${id}, ${client_id}, ${url}, clock_timestamp())`;
  await setSubscription(tx, id, subscription);
}

/** What decides which endpoints receive an event. `org_id`: of the organization of its account. */
export type Addressed = { type: string; org_id: string; from_sync: boolean };

/**
 * The enabled endpoints that receive an event, for events of these types. The lock waits for a concurrent removal:
 * without it the delivery could reference a deleted row, which would fail the caller's whole transaction, the end of a job.
 */
export async function findSubscribed(tx: Tx, types: readonly string[]): Promise<(event: Addressed) => string[]> {
  const rows = await tx<(Pick<Endpoint, 'id'> & Subscription)[]>`
    SELECT id, event_types, org_ids, sync_events FROM webhook_endpoints
     WHERE status = 'enabled' AND (event_types IS NULL OR event_types && ${[...types]}::text[]) ORDER BY id FOR KEY SHARE`;
  return ({ type, org_id, from_sync }) =>
    rows
      .filter(
        ({ event_types, org_ids, sync_events }) =>
          (event_types === null || event_types.some((each) => each === type)) &&
          (org_ids === null || org_ids.includes(org_id)) &&
          (sync_events || !from_sync),
      )
      .map(({ id }) => id);
}

/** The same as a condition on `endpoint` and `event`. */
export function isSubscribed(sql: Query): Fragment {
  return sql`(endpoint.event_types IS NULL OR event.type = ANY (endpoint.event_types))
    AND (endpoint.sync_events OR NOT event.from_sync)
    AND (endpoint.org_ids IS NULL OR EXISTS (
      SELECT FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
       WHERE accounts.id = event.account_id AND organizations.org_id = ANY (endpoint.org_ids)))`;
}

/** Whether an enabled endpoint receives sync events of any of these types of an organization. */
export async function hasSyncEndpoint(tx: Tx, organization_id: string, types: readonly string[]): Promise<boolean> {
  const [row] = await tx`
    SELECT FROM webhook_endpoints AS endpoint
     WHERE status = 'enabled' AND sync_events AND (event_types IS NULL OR event_types && ${[...types]}::text[])
       AND (org_ids IS NULL OR EXISTS (
         SELECT FROM organizations WHERE id = ${organization_id} AND org_id = ANY (endpoint.org_ids))) LIMIT 1`;
  return row !== undefined;
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

/** Pauses or resumes an endpoint. One that was paused starts without failures: it may have been paused for days. */
export async function setPaused(tx: Tx, id: string, paused: boolean): Promise<void> {
  await tx`
    UPDATE webhook_endpoints SET paused_at = ${paused ? tx`coalesce(paused_at, clock_timestamp())` : tx`NULL`},
      failing_since = ${paused ? tx`failing_since` : tx`NULL`} WHERE id = ${id}`;
}

/** Enables an endpoint and clears its failure record. Returns false if it does not exist. */
export async function enableEndpoint(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx`
    UPDATE webhook_endpoints
       SET failing_since = CASE WHEN status = 'enabled' THEN failing_since END, status = 'enabled', disabled_reason = NULL
     WHERE id = ${id} RETURNING id`;
  return rows.length > 0;
}

/** The certificate is for the receiver that it was entered for, so it does not move to another host. */
export async function moveEndpoint(tx: Tx, { id, url }: Pick<Endpoint, 'id' | 'url'>, to: string): Promise<void> {
  await tx`UPDATE webhook_endpoints SET url = ${to} WHERE id = ${id}`;
  if (new URL(url).origin !== new URL(to).origin) await setCertificate(tx, id, no_certificate);
}

/** The columns of a certificate. */
export type CertificateColumns = {
  certificate: string | null;
  certificate_key_sealed: Buffer | null;
  certificate_expires_at: Date | null;
};

export const no_certificate: CertificateColumns = {
  certificate: null,
  certificate_key_sealed: null,
  certificate_expires_at: null,
};

export async function setCertificate(tx: Tx, id: string, columns: CertificateColumns): Promise<void> {
  const { certificate, certificate_key_sealed: key, certificate_expires_at: expires_at } = columns;
  await tx`UPDATE webhook_endpoints SET certificate = ${certificate}, certificate_key_sealed = ${key},
    certificate_expires_at = ${expires_at?.toISOString() ?? null}::text::timestamptz WHERE id = ${id}`;
}

/** The certificate of an endpoint with its sealed key. */
export async function readCertificate(
  tx: Tx,
  id: string,
): Promise<Pick<CertificateColumns, 'certificate' | 'certificate_key_sealed'> | undefined> {
  const [row] = await tx<CertificateColumns[]>`
    SELECT certificate, certificate_key_sealed FROM webhook_endpoints WHERE id = ${id}`;
  return row;
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

/** The audit detail of a change of an endpoint: where events went and go, and which ones. */
export function describeChange(before: Endpoint | undefined, after: Endpoint | undefined): Record<string, unknown> {
  const url = after?.url ?? before?.url;
  const destinations = destinationChange('webhook', before?.url, after?.url);
  return {
    ...(url !== undefined && { url: formatDestination(url) }),
    ...(destinations.length > 0 && { destinations }),
    ...difference('status', before?.status, after?.status),
    ...difference('event_types', before && (before.event_types ?? 'all'), after && (after.event_types ?? 'all')),
    ...difference('org_ids', before && (before.org_ids ?? 'all'), after && (after.org_ids ?? 'all')),
    ...difference('sync_events', before?.sync_events ?? false, after?.sync_events ?? false),
    ...difference('paused', before?.paused ?? false, after?.paused ?? false),
    ...difference('certificate', readEndpointFingerprint(before), readEndpointFingerprint(after)),
  };
}

function readEndpointFingerprint(endpoint: Endpoint | undefined): string | null {
  return endpoint?.certificate ? describeCertificate(endpoint.certificate).fingerprint : null;
}

/** The values before and after, if they differ; null stands for an endpoint that does not exist. */
function difference(name: string, before: unknown, after: unknown): Record<string, unknown> {
  if (JSON.stringify(before) === JSON.stringify(after)) return {};
  return { [name]: { old: before ?? null, new: after ?? null } };
}
