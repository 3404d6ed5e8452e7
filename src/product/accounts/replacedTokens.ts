import type { Sql, Tx } from '../../platform/db/database.ts';

/** How long an access token stays valid after it was replaced. */
export const replaced_token_hours = 24;

/** Keeps a replaced access token valid until every process of the application uses the new one. */
export async function addReplacedToken(
  tx: Tx,
  token: { token_hash: Buffer; client_id: string; account_id: string },
): Promise<void> {
  await tx`INSERT INTO replaced_tokens (token_hash, client_id, account_id, expires_at)
    VALUES (${token.token_hash}, ${token.client_id}, ${token.account_id},
            now() + make_interval(hours => ${replaced_token_hours}))`;
}

/** Invalidates the replaced access tokens of an account immediately. */
export async function removeReplacedTokens(tx: Tx, account_id: string): Promise<void> {
  await tx`DELETE FROM replaced_tokens WHERE account_id = ${account_id}`;
}

export async function purgeReplacedTokens({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM replaced_tokens WHERE expires_at < now()`;
}
