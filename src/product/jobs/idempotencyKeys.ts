import { apiError } from '../../catalog/errors.ts';
import type { Fragment, Query, Sql, Tx } from '../../platform/db/database.ts';

/** An Idempotency-Key as it is stored: hashes only, neither the key nor the request. */
export type IdempotencyKey = { scope_id: string; key_hash: Buffer; request_hash: Buffer };

/** How long a request waits for another one with the same key before it is rejected. */
export const key_wait = '5s';

/** Keys expire after this time and can then be used for a new request. */
const lifetime = '24 hours';

/** The request that used a key first. `operation_id` and `job_id` are null if it queued no job. */
export type KeyRow = {
  operation_id: string | null;
  job_id: number | null;
  /** The input of the operation. */
  input: unknown;
  response_sealed: Buffer | null;
};

/**
 * Inserts the keys of the rows of the CTE `request` and returns the operations of those that were not in use. Of equal
 * keys, the first one wins. Keys are inserted in sorted order: two statements with the same keys in different orders
 * would deadlock.
 */
export function insertOperationKeys(sql: Query): Fragment {
  return sql`
    INSERT INTO idempotency_keys (scope_id, key_hash, client_id, request_hash, operation_id)
      SELECT scope_id, decode(key_hash, 'hex'), client_id, decode(request_hash, 'hex'), operation_id
        FROM request WHERE scope_id IS NOT NULL ORDER BY scope_id, key_hash, position
      ON CONFLICT (scope_id, key_hash) DO NOTHING RETURNING operation_id`;
}

/** Inserts the key of a change that is made in this transaction; returns false if the key is in use. */
export async function insertKey(tx: Tx, client_id: string, key: IdempotencyKey): Promise<boolean> {
  const inserted = await tx`
    INSERT INTO idempotency_keys (scope_id, key_hash, client_id, request_hash)
      VALUES (${key.scope_id}, ${key.key_hash}, ${client_id}, ${key.request_hash})
      ON CONFLICT DO NOTHING RETURNING 1`;
  return inserted.length > 0;
}

export async function storeKeyResponse(tx: Tx, key: IdempotencyKey, response_sealed: Buffer): Promise<void> {
  await tx`UPDATE idempotency_keys SET response_sealed = ${response_sealed}
    WHERE scope_id = ${key.scope_id} AND key_hash = ${key.key_hash}`;
}

/**
 * The request that used the key first. An expired key is deleted and not returned. Throws if the key was used for a
 * different request.
 */
export async function readKey(tx: Tx, key: IdempotencyKey): Promise<KeyRow | undefined> {
  const { scope_id, key_hash } = key;
  const [row] = await tx<(KeyRow & { request_hash: Buffer; expired: boolean })[]>`
    SELECT request_hash, response_sealed, operation_id, created_at < now() - ${lifetime}::interval AS expired,
           (SELECT min(jobs.id) FROM jobs WHERE jobs.operation_id = idempotency_keys.operation_id) AS job_id,
           (SELECT input FROM operations WHERE operations.id = idempotency_keys.operation_id) AS input
      FROM idempotency_keys WHERE scope_id = ${scope_id} AND key_hash = ${key_hash}`;
  if (row?.expired) {
    await tx`DELETE FROM idempotency_keys WHERE scope_id = ${scope_id} AND key_hash = ${key_hash}
               AND created_at < now() - ${lifetime}::interval`;
    return undefined;
  }
  if (row && !row.request_hash.equals(key.request_hash)) throw apiError('idempotency_key_reused');
  return row;
}

export async function purgeExpiredKeys({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM idempotency_keys WHERE created_at < now() - ${lifetime}::interval`;
}
