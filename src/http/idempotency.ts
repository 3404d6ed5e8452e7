import { createHash } from 'node:crypto';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { ApiError, apiError } from '../errors.ts';
import type { NewJob } from '../jobs/enqueue.ts';
import { Replayed } from './endpoint.ts';

export type Idempotency = NonNullable<NewJob['idempotency']>;

/** Keys are kept this long; afterwards the same key may name a new request. */
const kept = '24 hours';
const twin_wait = '5s';

/** What an Idempotency-Key header comes to: neither the key nor the request itself is kept, only their hashes. */
export function readIdempotencyKey(
  key: string | string[] | undefined,
  scope_id: string | undefined,
  request: { endpoint: string; params: unknown; body: unknown },
): Idempotency | undefined {
  if (key === undefined || scope_id === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key)) throw apiError('idempotency_key_invalid');
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return { scope_id, key_hash: hash(key), request_hash: hash(JSON.stringify(request)) };
}

type KeyRow = {
  request_hash: Buffer;
  operation_id: string | null;
  job_id: number | null;
  answer_sealed: Buffer | null;
  expired: boolean;
};

type Accepted = { id: string; job_id: number };

/**
 * Accepts a request whose own statement stores its key (`accept` gives undefined when the key is taken), or answers
 * as the earlier one with the same key was. It is so answered even where it would be refused today: what the first
 * one referred to may be gone since, but it was accepted, and a client must not believe otherwise.
 */
export async function acceptOnce(
  ctx: Context,
  client_id: string,
  idempotency: Idempotency | undefined,
  accept: () => Promise<Accepted | undefined>,
  answer: (accepted: Accepted) => unknown,
): Promise<unknown> {
  const replay = async () => {
    const earlier = idempotency && (await findEarlier(ctx, client_id, idempotency));
    return earlier && new Replayed(answer(earlier));
  };
  try {
    const accepted = await accept();
    if (accepted) return answer(accepted);
  } catch (error) {
    const earlier = error instanceof ApiError && (await replay());
    if (earlier) return earlier;
    throw error;
  }
  const earlier = await replay();
  if (earlier) return earlier;
  // The key had run out and is free now.
  const again = await accept();
  if (!again) throw apiError('idempotency_key_running');
  return answer(again);
}

/** The earlier request of a taken key; undefined when it is too old to count, and then the key is free again. */
async function findEarlier(ctx: Context, client_id: string, idempotency: Idempotency): Promise<Accepted | undefined> {
  return ctx.db.tenant(client_id, async (tx) => {
    const row = await readKey(tx, idempotency);
    if (!row?.operation_id || row.job_id === null) return undefined;
    return { id: row.operation_id, job_id: row.job_id };
  });
}

/** Runs a change once: the key is stored in its transaction, the answer sealed beside it (it may hold a secret). */
export async function runOnce(
  ctx: Context,
  client_id: string,
  idempotency: Idempotency | undefined,
  work: (tx: Tx) => Promise<Record<string, unknown>>,
): Promise<unknown> {
  return ctx.db.tenant(client_id, async (tx) => {
    if (!idempotency) return work(tx);
    await tx`SELECT set_config('lock_timeout', ${twin_wait}, true)`;
    let row = await takeKey(tx, client_id, idempotency);
    // A key that had run out was removed just now.
    if (row === 'expired') row = await takeKey(tx, client_id, idempotency);
    const binding = `idempotency:${idempotency.key_hash.toString('hex')}`;
    if (row !== 'taken') {
      const sealed = row === 'expired' ? null : row.answer_sealed;
      if (!sealed) throw apiError('idempotency_key_running');
      return new Replayed(JSON.parse(await ctx.vault.unseal(tx, sealed, binding)));
    }
    await tx`SELECT set_config('lock_timeout', '0', true)`;
    const answer = await work(tx);
    const sealed = await ctx.vault.seal(tx, { client_id, owner_id: client_id }, binding, JSON.stringify(answer));
    await tx`UPDATE idempotency_keys SET answer_sealed = ${sealed}
      WHERE scope_id = ${idempotency.scope_id} AND key_hash = ${idempotency.key_hash}`;
    return answer;
  });
}

async function takeKey(tx: Tx, client_id: string, idempotency: Idempotency): Promise<'taken' | 'expired' | KeyRow> {
  const taken = await tx`
    INSERT INTO idempotency_keys (scope_id, key_hash, client_id, request_hash)
      VALUES (${idempotency.scope_id}, ${idempotency.key_hash}, ${client_id}, ${idempotency.request_hash})
      ON CONFLICT DO NOTHING RETURNING 1`;
  if (taken.length > 0) return 'taken';
  return (await readKey(tx, idempotency)) ?? 'expired';
}

async function readKey(tx: Tx, idempotency: Idempotency): Promise<KeyRow | undefined> {
  const { scope_id, key_hash } = idempotency;
  const [row] = await tx<KeyRow[]>`
    SELECT request_hash, answer_sealed, operation_id, created_at < now() - ${kept}::interval AS expired,
           (SELECT min(jobs.id) FROM jobs WHERE jobs.operation_id = idempotency_keys.operation_id) AS job_id
      FROM idempotency_keys WHERE scope_id = ${scope_id} AND key_hash = ${key_hash}`;
  if (row?.expired) {
    await tx`DELETE FROM idempotency_keys WHERE scope_id = ${scope_id} AND key_hash = ${key_hash}
               AND created_at < now() - ${kept}::interval`;
    return undefined;
  }
  if (row && !row.request_hash.equals(idempotency.request_hash)) throw apiError('idempotency_key_reused');
  return row;
}
