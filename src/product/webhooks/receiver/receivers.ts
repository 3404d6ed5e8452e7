import type { Sql, Tx } from '../../../platform/db/database.ts';
import { hashToken } from '../../../platform/security/signatures.ts';

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
