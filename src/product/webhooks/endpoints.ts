import { apiError } from '../../catalog/errors.ts';
import { newId, newReference, newWebhookSecret } from '../../catalog/ids.ts';
import type { EventType } from '../../model/events.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';
import { checkUrl, webhookRules } from '../../platform/security/addresses.ts';
import { destinationChange, formatDestination } from '../../platform/security/outbound.ts';
import type { Vault } from '../../platform/security/vault.ts';
import type { Context } from '../context.ts';

export type NewEndpoint = { url: string; event_types?: readonly EventType[] | undefined };

export type RegisteredEndpoint = {
  id: string;
  secret: string;
  /** The endpoint as it was, if the URL was registered already, and as it is now. */
  before: Endpoint | undefined;
  after: Endpoint | undefined;
};

/**
 * Registers a URL that receives events (all types, unless some are named), with its own secret. A URL that is already
 * registered keeps its endpoint, secret and, unless new ones are named, event types, and is enabled again: an application
 * that registers at every start must not receive every event twice, or events that an operator turned off for it.
 */
export async function addEndpoint(
  ctx: Pick<Context, 'config' | 'vault'>,
  tx: Tx,
  client_id: string,
  { url, event_types }: NewEndpoint,
): Promise<RegisteredEndpoint> {
  const checked = checkUrl(url, webhookRules(ctx.config));
  if ('refused' in checked) {
    throw apiError('webhook_url_refused', { rule: checked.refused }, { field: 'webhook_url' });
  }
  await lockRegistration(tx, client_id);
  const before = await lockEndpointAt(tx, url);
  if (before) {
    const { id } = before;
    await renewEndpoint(tx, { id, event_types: event_types ?? before.event_types });
    const [newest] = await readLiveSecrets(ctx.vault, tx, id);
    const secret = newest ?? (await addSecret(ctx.vault, tx, { client_id, endpoint_id: id }));
    return { id, secret, before, after: await findEndpoint(tx, id) };
  }
  const max = ctx.config.webhook_endpoints;
  if ((await countEndpoints(tx)) >= max) throw apiError('webhook_endpoints_max', { max: String(max) });
  const id = newReference('webhook_endpoint');
  await insertEndpoint(tx, { id, client_id, url, event_types: event_types ?? null });
  const secret = await addSecret(ctx.vault, tx, { client_id, endpoint_id: id });
  return { id, secret, before, after: await findEndpoint(tx, id) };
}

/**
 * Changes the URL of an endpoint, which keeps its secret, event types and deliveries: pending ones go to the new URL.
 * Returns false if there is no such endpoint.
 */
export async function changeUrl(
  ctx: Pick<Context, 'config'>,
  tx: Tx,
  client_id: string,
  { id, url }: { id: string; url: string },
): Promise<boolean> {
  const checked = checkUrl(url, webhookRules(ctx.config));
  if ('refused' in checked) throw refused(checked.refused);
  await lockRegistration(tx, client_id);
  const endpoints = await listEndpoints(tx);
  if (!endpoints.some((each) => each.id === id)) return false;
  if (endpoints.some((each) => each.id !== id && each.url === url)) throw refused('is already registered.');
  const [built_in] = await tx`SELECT FROM receivers WHERE endpoint_id = ${id}`;
  if (built_in) throw refused('of the built-in receiver cannot be changed.');
  await moveEndpoint(tx, id, url);
  return true;
}

function refused(rule: string): Error {
  return apiError('webhook_url_refused', { rule }, { field: 'webhook_url' });
}

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

/** The audit detail of a change of an endpoint: where events went and go, and which ones. */
export function describeChange(before: Endpoint | undefined, after: Endpoint | undefined): Record<string, unknown> {
  const url = after?.url ?? before?.url;
  const destinations = destinationChange('webhook', before?.url, after?.url);
  return {
    ...(url !== undefined && { url: formatDestination(url) }),
    ...(destinations.length > 0 && { destinations }),
    ...difference('status', before?.status, after?.status),
    ...difference('event_types', before && (before.event_types ?? 'all'), after && (after.event_types ?? 'all')),
  };
}

/** The values before and after, if they differ; null stands for an endpoint that does not exist. */
function difference(name: string, before: unknown, after: unknown): Record<string, unknown> {
  if (JSON.stringify(before) === JSON.stringify(after)) return {};
  return { [name]: { old: before ?? null, new: after ?? null } };
}

/** How long a replaced secret keeps signing. */
const overlap_hours = 24;

/** Ten signatures take 500 bytes. Receivers reject long headers, so after more rotations in a day the oldest stop signing. */
const live_max = 10;

/**
 * Creates a secret for an endpoint and returns it. The previous one stays valid for 24 hours; with `immediately`, all
 * earlier ones become invalid at once.
 */
export async function addSecret(
  vault: Vault,
  tx: Tx,
  { client_id, endpoint_id }: { client_id: string; endpoint_id: string },
  { immediately = false }: { immediately?: boolean | undefined } = {},
): Promise<string> {
  const id = newId();
  const secret = newWebhookSecret();
  const sealed = await vault.seal(tx, { client_id, owner_id: client_id }, toBinding(id), secret);
  await tx`DELETE FROM webhook_secrets
    WHERE endpoint_id = ${endpoint_id} AND (${immediately} OR expires_at <= clock_timestamp())`;
  await tx`
    UPDATE webhook_secrets SET expires_at = clock_timestamp() + make_interval(hours => ${overlap_hours})
     WHERE endpoint_id = ${endpoint_id} AND expires_at IS NULL`;
  await tx`
    INSERT INTO webhook_secrets (id, client_id, endpoint_id, secret_sealed, created_at)
    VALUES (${id}, ${client_id}, ${endpoint_id}, ${sealed}, clock_timestamp())`;
  return secret;
}

/** The secrets that currently sign for an endpoint, newest first. */
export async function readLiveSecrets(vault: Vault, tx: Tx, endpoint_id: string): Promise<string[]> {
  return (await readEndpointSecrets(vault, tx, [endpoint_id])).get(endpoint_id) ?? [];
}

/** The same for each of several endpoints. */
export async function readEndpointSecrets(
  vault: Vault,
  tx: Tx,
  endpoint_ids: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await tx<{ id: string; endpoint_id: string; secret_sealed: Buffer }[]>`
    SELECT live.* FROM unnest(${[...endpoint_ids]}::text[]) AS endpoint (id) CROSS JOIN LATERAL (
      SELECT id, endpoint_id, secret_sealed, created_at FROM webhook_secrets
       WHERE endpoint_id = endpoint.id AND (expires_at IS NULL OR expires_at > clock_timestamp())
       ORDER BY created_at DESC, id DESC LIMIT ${live_max}) AS live
     ORDER BY live.created_at DESC, live.id DESC`;
  const secrets = new Map<string, string[]>(endpoint_ids.map((id) => [id, []]));
  for (const row of rows) {
    secrets.get(row.endpoint_id)?.push(await vault.unseal(tx, row.secret_sealed, toBinding(row.id)));
  }
  return secrets;
}

function toBinding(id: string): string {
  return `webhook_secret:${id}`;
}

/**
 * Creates a new secret for an endpoint; the previous one keeps signing for 24 hours, unless it is replaced immediately.
 * Without an id, uses the oldest enabled endpoint. Undefined if there is no such endpoint. The lock ensures that concurrent rotations leave one newest
 * secret.
 */
export async function rotateSecret(
  ctx: Pick<Context, 'vault'>,
  tx: Tx,
  client_id: string,
  { endpoint_id, immediately }: { endpoint_id?: string | undefined; immediately?: boolean | undefined } = {},
): Promise<{ id: string; secret: string } | undefined> {
  const id = endpoint_id ?? (await findOldestEnabled(tx));
  if (id === undefined || !(await lockEndpoint(tx, id))) return undefined;
  return { id, secret: await addSecret(ctx.vault, tx, { client_id, endpoint_id: id }, { immediately }) };
}

/** For clients that support one secret only: the newest secret of the oldest enabled endpoint. */
export async function newestSecretOfOldestEndpoint(ctx: Pick<Context, 'vault'>, tx: Tx): Promise<string | undefined> {
  const id = await findOldestEnabled(tx);
  if (id === undefined) return undefined;
  const [newest] = await readLiveSecrets(ctx.vault, tx, id);
  return newest;
}
