import { apiError } from '../../../catalog/errors.ts';
import { newId, newToken } from '../../../catalog/ids.ts';
import { collectMrns } from '../../../model/events.ts';
import type { Database, Sql, Tx } from '../../../platform/db/database.ts';
import { checkUrl, webhookRules } from '../../../platform/security/addresses.ts';
import { hashToken, type Verdict } from '../../../platform/security/signatures.ts';
import type { Context } from '../../context.ts';
import { describeChange, findEndpoint, moveEndpoint } from '../endpoints.ts';
import { addEndpoint } from '../registration.ts';

/** How the built-in receiver responds. */
export type ReceiverResponse = {
  /** Null closes the connection without a response. */
  status: number | null;
  delay_ms: number;
  /** For how many requests, before it returns to 200; null: until it is changed. */
  times: number | null;
};

export type Receiver = ReceiverResponse & { endpoint_id: string; url: string; endpoint_status: 'enabled' | 'disabled' };

export async function findReceiver(tx: Tx): Promise<Receiver | undefined> {
  const [row] = await tx<Receiver[]>`
    SELECT endpoint_id, receiver.status, delay_ms, times, endpoint.url, endpoint.status AS endpoint_status
      FROM receivers AS receiver JOIN webhook_endpoints AS endpoint ON endpoint.id = receiver.endpoint_id`;
  return row;
}

/** Returns the client that a receiver's key belongs to. */
export async function findOwner(system: Sql, key: string): Promise<string | undefined> {
  const [row] = await system<{ client_id: string }[]>`
    SELECT client_id FROM receivers WHERE key_hash = ${hashToken(key)}`;
  return row?.client_id;
}

/** Serializes operators who create a receiver at the same time: there is one per client. */
export async function lockReceiver(tx: Tx, client_id: string): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`receiver ${client_id}`}, 0))`;
}

export async function insertReceiver(
  tx: Tx,
  receiver: { client_id: string; endpoint_id: string; key: string },
): Promise<void> {
  await tx`
    INSERT INTO receivers (client_id, endpoint_id, key_hash)
    VALUES (${receiver.client_id}, ${receiver.endpoint_id}, ${hashToken(receiver.key)})`;
}

/** Returns false if the client has no receiver. */
export async function setResponse(tx: Tx, { status, delay_ms, times }: ReceiverResponse): Promise<boolean> {
  const updated = await tx`UPDATE receivers SET status = ${status}, delay_ms = ${delay_ms}, times = ${times}`;
  return updated.count > 0;
}

/** Returns how to respond to this request and counts it. The row lock serializes concurrent requests. */
export async function consumeResponse(
  tx: Tx,
): Promise<{ endpoint_id: string; status: number | null; delay_ms: number } | undefined> {
  const [receiver] = await tx<{ endpoint_id: string; status: number | null; delay_ms: number; times: number | null }[]>`
    SELECT endpoint_id, status, delay_ms, times FROM receivers FOR NO KEY UPDATE`;
  if (!receiver) return undefined;
  const { times, ...response } = receiver;
  if (times === 1) await setResponse(tx, { status: 200, delay_ms: 0, times: null });
  else if (times !== null) await setResponse(tx, { ...response, times: times - 1 });
  return response;
}

/** Received requests contain health data, so few are kept, and not for long. */
export const kept_max = 200;
const kept_hours = 24;

/** A request that the built-in receiver got, and how it responded. */
export type ReceivedRow = Omit<ReceiverResponse, 'times'> & {
  id: string;
  at: string;
  method: string;
  body_bytes: number;
  verdict: Verdict;
  event_id: string | null;
  event_type: string | null;
  attempt: string | null;
};

export type ReceivedRequest = ReceivedRow & { headers: Record<string, string>; body: string };

export type NewRequest = Omit<ReceivedRequest, 'id' | 'at'> & { client_id: string };

/** Stores a request and deletes the oldest ones beyond the maximum. */
export async function addRequest(tx: Tx, request: NewRequest): Promise<void> {
  await tx`
    INSERT INTO received_requests (id, client_id, method, headers, body, body_bytes, verdict, event_id, event_type,
      attempt, status, delay_ms)
    VALUES (${newId()}, ${request.client_id}, ${request.method}, ${tx.json(request.headers)}, ${request.body},
      ${request.body_bytes}, ${request.verdict}, ${request.event_id}, ${request.event_type}, ${request.attempt},
      ${request.status}, ${request.delay_ms})`;
  await tx`
    DELETE FROM received_requests WHERE client_id = ${request.client_id} AND id <= (
      SELECT id FROM received_requests WHERE client_id = ${request.client_id}
       ORDER BY id DESC OFFSET ${kept_max} LIMIT 1)`;
}

/** Newest first. */
export function listRequests(
  db: Database,
  client_id: string,
  { before, page_size }: { before: string | undefined; page_size: number },
): Promise<ReceivedRow[]> {
  return db.read<ReceivedRow>(
    client_id,
    (sql) => sql`
      SELECT replace(id::text, '-', '') AS id, iso(at) AS at, method, body_bytes, verdict, event_id, event_type, attempt,
             status, delay_ms
        FROM received_requests
       WHERE client_id = ${client_id} AND at > now() - make_interval(hours => ${kept_hours})
       ${before === undefined ? sql`` : sql`AND id < ${before}`}
       ORDER BY received_requests.id DESC LIMIT ${page_size}::bigint`,
  );
}

export async function readRequest(db: Database, client_id: string, id: string): Promise<ReceivedRequest | undefined> {
  const [row] = await db.read<ReceivedRequest>(
    client_id,
    (sql) => sql`
      SELECT replace(id::text, '-', '') AS id, iso(at) AS at, method, body_bytes, verdict, event_id, event_type, attempt,
             status, delay_ms, headers, body
        FROM received_requests WHERE client_id = ${client_id} AND id = ${id}`,
  );
  return row;
}

/** The patients that a received body names. The receiver accepts any body, so it may not be an event. */
export function patientsInBody(body: string): string[] {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null && 'data' in parsed ? collectMrns(parsed.data) : [];
  } catch {
    return [];
  }
}

export async function clearRequests(tx: Tx): Promise<number> {
  const deleted = await tx`DELETE FROM received_requests`;
  return deleted.count;
}

/** Deletes the expired requests of all clients. */
export async function purgeReceived(system: Sql): Promise<void> {
  await system.pooled`DELETE FROM received_requests WHERE at < now() - make_interval(hours => ${kept_hours})`;
}

/** The URL path of a receiver, followed by its key. */
export const receiver_path = '/receiver/';

/**
 * Creates the client's receiver and registers it as a webhook endpoint for all event types. An existing receiver is
 * enabled again, at the current address of the service. Also returns the audit detail of the change.
 */
export async function createReceiver(
  ctx: Pick<Context, 'config' | 'vault'>,
  tx: Tx,
  client_id: string,
): Promise<{ receiver: Receiver; detail: Record<string, unknown> }> {
  await lockReceiver(tx, client_id);
  const existing = await findReceiver(tx);
  const before = existing && (await findEndpoint(tx, existing.endpoint_id));
  const key = existing ? readKey(existing.url) : newToken('receiver');
  const url = `${ctx.config.base_url}${receiver_path}${key}`;
  if (existing && existing.url !== url) await moveEndpoint(tx, { id: existing.endpoint_id, url: existing.url }, url);
  const { id: endpoint_id, after } = await addEndpoint(ctx, tx, client_id, { url });
  if (!existing) await insertReceiver(tx, { client_id, endpoint_id, key });
  const receiver = await findReceiver(tx);
  if (!receiver) throw apiError('record_not_found', { noun: 'Webhook', id: endpoint_id });
  return { receiver, detail: describeChange(before, after) };
}

/** Why deliveries cannot reach a receiver at the address of this service, or null if they can. */
export function receiverRefusal({ config }: Pick<Context, 'config'>): string | null {
  const checked = checkUrl(`${config.base_url}${receiver_path}key`, webhookRules(config));
  return 'refused' in checked ? `The address of this service (BASE_URL) ${checked.refused}` : null;
}

function readKey(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}
