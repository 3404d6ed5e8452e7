import { newId, newWebhookSecret } from '../../catalog/ids.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Vault } from '../../platform/security/vault.ts';
import type { Context } from '../context.ts';
import { findOldestEnabled, lockEndpoint } from './endpoints.ts';

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
