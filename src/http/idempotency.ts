import { createHash } from 'node:crypto';
import { ApiError, apiError } from '../catalog/errors.ts';
import type { Tx } from '../platform/db/database.ts';
import type { Context } from '../product/context.ts';
import {
  type IdempotencyKey,
  insertKey,
  key_wait,
  readKey,
  storeKeyResponse,
} from '../product/jobs/idempotencyKeys.ts';
import { Replayed } from './endpoint.ts';

/**
 * Reads the Idempotency-Key headers, of which a proxy may have repeated one. Only hashes of the key and of the request are
 * stored.
 */
export function readIdempotencyKey(
  sent: readonly string[] | undefined,
  scope_id: string | undefined,
  request: { endpoint: string; params: unknown; body: unknown },
): IdempotencyKey | undefined {
  const [key, another] = new Set(sent);
  if (key === undefined || scope_id === undefined) return undefined;
  if (another !== undefined || !/^[\x20-\x7e]{1,255}$/.test(key)) throw apiError('idempotency_key_invalid');
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return { scope_id, key_hash: hash(key), request_hash: hash(canonicalJson(request)) };
}

/** The same text for equal values, whatever the order of their keys. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

/** `input` is what the operation stores: from it a replay finds the id that the client was given. */
type Accepted = { id: string; job_id: number; input?: unknown };

type AcceptableRequest<Response> = {
  accept: () => Promise<Accepted | undefined>;
  respond: (accepted: Accepted) => Response;
};

/**
 * Accepts a request that stores its key together with its job (`accept` returns undefined if the key is in use), or
 * replays the response to the earlier request. The response is replayed even if the request would be rejected today:
 * the record it refers to may be gone, but the first request was accepted and the client must not conclude otherwise.
 */
export async function acceptOnce<Response>(
  ctx: Context,
  client_id: string,
  idempotency: IdempotencyKey | undefined,
  { accept, respond }: AcceptableRequest<Response>,
): Promise<Response | Replayed> {
  const replay = async () => {
    const earlier = idempotency && (await findAccepted(ctx, client_id, idempotency));
    return earlier && new Replayed(respond(earlier));
  };
  try {
    const accepted = await accept();
    if (accepted) return respond(accepted);
  } catch (error) {
    const replayed = error instanceof ApiError && (await replay());
    if (replayed) return replayed;
    throw error;
  }
  const replayed = await replay();
  if (replayed) return replayed;
  // The key had expired and was deleted just now.
  const accepted = await accept();
  if (!accepted) throw apiError('idempotency_key_running');
  return respond(accepted);
}

async function findAccepted(
  ctx: Context,
  client_id: string,
  idempotency: IdempotencyKey,
): Promise<Accepted | undefined> {
  const row = await ctx.db.tenant(client_id, (tx) => readKey(tx, idempotency));
  if (!row?.operation_id || row.job_id === null) return undefined;
  return { id: row.operation_id, job_id: row.job_id, input: row.input };
}

/**
 * Makes a change once: the key is stored in the transaction of the change, with the sealed response (it may contain a
 * secret). A repeated request gets that response.
 */
export async function runOnce<Result extends Record<string, unknown>>(
  ctx: Context,
  client_id: string,
  idempotency: IdempotencyKey | undefined,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result | Replayed> {
  return ctx.db.tenant(client_id, async (tx) => {
    if (!idempotency) return work(tx);
    await tx`SELECT set_config('lock_timeout', ${key_wait}, true)`;
    const binding = `idempotency:${idempotency.key_hash.toString('hex')}`;
    const claim = await claimKey(tx, client_id, idempotency);
    if (!claim.claimed) {
      if (!claim.response_sealed) throw apiError('idempotency_key_running');
      return new Replayed(JSON.parse(await ctx.vault.unseal(tx, claim.response_sealed, binding)));
    }
    await tx`SELECT set_config('lock_timeout', '0', true)`;
    const response = await work(tx);
    const sealed = await ctx.vault.seal(tx, { client_id, owner_id: client_id }, binding, JSON.stringify(response));
    await storeKeyResponse(tx, idempotency, sealed);
    return response;
  });
}

type Claim = { claimed: true } | { claimed: false; response_sealed: Buffer | null };

async function claimKey(tx: Tx, client_id: string, idempotency: IdempotencyKey): Promise<Claim> {
  // A second attempt succeeds if the key had expired: `readKey` has then deleted it.
  for (const _attempt of [1, 2]) {
    if (await insertKey(tx, client_id, idempotency)) return { claimed: true };
    const row = await readKey(tx, idempotency);
    if (row) return { claimed: false, response_sealed: row.response_sealed };
  }
  return { claimed: false, response_sealed: null };
}
