import { newToken } from '../../catalog/ids.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/hash.ts';

const public_token_minutes = 30;

export async function addPublicToken(tx: Tx, client_id: string, account_id: string): Promise<string> {
  const token = newToken('public_token');
  await tx`INSERT INTO public_tokens (token_hash, client_id, account_id, expires_at)
    VALUES (${hashToken(token)}, ${client_id}, ${account_id}, now() + make_interval(mins => ${public_token_minutes}))`;
  return token;
}

/** Marks a public token as used and returns its account. Row-level security hides other clients' tokens. */
export async function consumePublicToken(tx: Tx, token: string): Promise<string | undefined> {
  const [row] = await tx<{ account_id: string }[]>`UPDATE public_tokens SET used_at = now()
    WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING account_id`;
  return row?.account_id;
}

export async function invalidatePublicTokens(tx: Tx, account_id: string): Promise<void> {
  await tx`UPDATE public_tokens SET used_at = now() WHERE account_id = ${account_id} AND used_at IS NULL`;
}

/** Deletes tokens a day after they expired. */
export async function purgePublicTokens({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM public_tokens WHERE expires_at < now() - interval '1 day'`;
}
