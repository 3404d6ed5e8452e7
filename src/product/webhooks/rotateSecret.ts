import type { Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { findOldestEnabled, lockEndpoint } from './endpoints.ts';
import { addSecret, readLiveSecrets } from './secrets.ts';

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
