import { newId, newWebhookSecret } from '../../catalog/ids.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Vault } from '../../platform/security/vault.ts';

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
  const sealed = await vault.seal(tx, { client_id, owner_id: client_id }, bindingOf(id), secret);
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
  return (await readSecretsOf(vault, tx, [endpoint_id])).get(endpoint_id) ?? [];
}

/** The same for each of several endpoints. */
export async function readSecretsOf(
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
    secrets.get(row.endpoint_id)?.push(await vault.unseal(tx, row.secret_sealed, bindingOf(row.id)));
  }
  return secrets;
}

function bindingOf(id: string): string {
  return `webhook_secret:${id}`;
}
