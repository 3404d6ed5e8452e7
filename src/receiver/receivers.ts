import type { Sql, Tx } from '../db/database.ts';
import { hashToken } from '../security/hash.ts';

/** How the built-in receiver answers: a status, or none when it closes the connection. */
export type ReceiverAnswer = {
  status: number | null;
  delay_ms: number;
  /** For so many requests, then it is well again; null: until it is told otherwise. */
  times: number | null;
};

export type Receiver = ReceiverAnswer & { endpoint_id: string; url: string; endpoint_status: 'enabled' | 'disabled' };

/** The receiver of the tenant, if there is one. */
export async function findReceiver(tx: Tx): Promise<Receiver | undefined> {
  const [row] = await tx<Receiver[]>`
    SELECT endpoint_id, receiver.status, delay_ms, times, endpoint.url, endpoint.status AS endpoint_status
      FROM receivers AS receiver JOIN webhook_endpoints AS endpoint ON endpoint.id = receiver.endpoint_id`;
  return row;
}

/** Whose receiver the key of an address names. */
export async function findOwner(system: Sql, key: string): Promise<string | undefined> {
  const [row] = await system<{ client_id: string }[]>`
    SELECT client_id FROM receivers WHERE key_hash = ${hashToken(key)}`;
  return row?.client_id;
}

/** Two operators who open one at once wait for each other: there is one per client. */
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

/** False when the tenant has no receiver. */
export async function setAnswer(tx: Tx, { status, delay_ms, times }: ReceiverAnswer): Promise<boolean> {
  const told = await tx`UPDATE receivers SET status = ${status}, delay_ms = ${delay_ms}, times = ${times}`;
  return told.count > 0;
}

/** How this request is answered; of a number of times one is used up. Requests at the same moment take turns. */
export async function takeAnswer(
  tx: Tx,
): Promise<{ endpoint_id: string; status: number | null; delay_ms: number } | undefined> {
  const [receiver] = await tx<{ endpoint_id: string; status: number | null; delay_ms: number; times: number | null }[]>`
    SELECT endpoint_id, status, delay_ms, times FROM receivers FOR NO KEY UPDATE`;
  if (!receiver) return undefined;
  const { times, ...answer } = receiver;
  if (times === 1) await setAnswer(tx, { status: 200, delay_ms: 0, times: null });
  else if (times !== null) await setAnswer(tx, { ...answer, times: times - 1 });
  return answer;
}
