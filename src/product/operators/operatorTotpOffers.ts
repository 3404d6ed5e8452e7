import type { Tx } from '../../platform/db/database.ts';

/** Enough time to install an app. */
const offer_minutes = 15;

/** Stores the sealed secret that was offered to an operator, in place of an earlier one. */
export async function storeOffer(tx: Tx, operator_id: string, secret_sealed: Buffer): Promise<void> {
  await tx`
    INSERT INTO operator_totp_offers (operator_id, secret_sealed) VALUES (${operator_id}, ${secret_sealed})
    ON CONFLICT (operator_id) DO UPDATE SET secret_sealed = EXCLUDED.secret_sealed, offered_at = now()`;
}

/** The sealed secret that was offered; undefined if there is none, or it has expired. */
export async function findOffer(tx: Tx, operator_id: string): Promise<Buffer | undefined> {
  const [row] = await tx<{ secret_sealed: Buffer }[]>`
    SELECT secret_sealed FROM operator_totp_offers
     WHERE operator_id = ${operator_id} AND offered_at > now() - make_interval(mins => ${offer_minutes})`;
  return row?.secret_sealed;
}

export async function removeOffer(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM operator_totp_offers WHERE operator_id = ${operator_id}`;
}
