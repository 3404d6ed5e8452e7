import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { newToken } from '../ids.ts';
import { hashToken } from '../security/hash.ts';

/** What a link token is for. `account_id` is set in update mode: the account to link again. */
export type LinkPurpose = {
  client_id: string;
  user_id: string;
  org_id: string;
  connector: string;
  emr_address: string;
  account_id: string | null;
  callback_url: string | null;
  language: string | null;
  /** A link created in the dashboard does not hand a public token to the application. */
  made_in: 'api' | 'dashboard';
};

/** `exhausted`: too many failed sign-ins. */
export type LinkState = 'open' | 'expired' | 'used' | 'exhausted';

export const link_token_minutes = 30;
/** A link takes two sign-ins (without and with the code). This many allow for mistakes but not for guessing. */
export const sign_ins_max = 20;

export async function addLinkToken(tx: Tx, purpose: LinkPurpose): Promise<string> {
  const token = newToken('link_token');
  await tx`INSERT INTO link_tokens (token_hash, client_id, user_id, org_id, connector, emr_address, account_id,
      callback_url, language, made_in, expires_at)
    VALUES (${hashToken(token)}, ${purpose.client_id}, ${purpose.user_id}, ${purpose.org_id}, ${purpose.connector},
      ${purpose.emr_address}, ${purpose.account_id}, ${purpose.callback_url}, ${purpose.language}, ${purpose.made_in},
      now() + make_interval(mins => ${link_token_minutes}))`;
  return token;
}

/** The purpose of a valid link token. Reading does not use it up, so that a wrong password can be corrected. */
export async function findLinkToken(tx: Tx, token: string): Promise<LinkPurpose | undefined> {
  const [row] = await tx<LinkPurpose[]>`
    SELECT client_id, user_id, org_id, connector, emr_address, account_id, callback_url, language, made_in
      FROM link_tokens WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now()`;
  return row;
}

export type KnownLink = { state: LinkState; purpose: LinkPurpose };

/** The purpose and state of a link token, valid or not. */
export function lookUpLink(ctx: Context, token: string): Promise<KnownLink | undefined> {
  return lookUpLinkByHash(ctx, hashToken(token));
}

/** The same by the token's hash: URLs may contain the hash but never the token. */
export async function lookUpLinkByHash(ctx: Context, token_hash: Buffer): Promise<KnownLink | undefined> {
  const [known] = await ctx.db.system<{ client_id: string }[]>`
    SELECT client_id FROM link_tokens WHERE token_hash = ${token_hash}`;
  if (!known) return undefined;
  const [row] = await ctx.db.read<LinkPurpose & { state: LinkState }>(
    known.client_id,
    (sql) => sql`
      SELECT client_id, user_id, org_id, connector, emr_address, account_id, callback_url, language, made_in,
             CASE WHEN used_at IS NOT NULL AND tries > ${sign_ins_max} THEN 'exhausted'
                  WHEN used_at IS NOT NULL THEN 'used'
                  WHEN expires_at <= now() THEN 'expired'
                  ELSE 'open' END AS state
        FROM link_tokens WHERE token_hash = ${token_hash}`,
  );
  if (!row) return undefined;
  const { state, ...purpose } = row;
  return { state, purpose };
}

/** Counts a sign-in before the attempt, so that concurrent ones are counted too. Exceeding the limit uses the token up. */
export async function countSignIn(tx: Tx, token: string): Promise<'counted' | 'exhausted' | 'gone'> {
  const [row] = await tx<{ tries: number }[]>`
    UPDATE link_tokens SET tries = tries + 1, used_at = CASE WHEN tries >= ${sign_ins_max} THEN now() END
     WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING tries`;
  if (!row) return 'gone';
  return row.tries > sign_ins_max ? 'exhausted' : 'counted';
}

/** Marks the token as used. Of several concurrent attempts exactly one succeeds. */
export async function consumeLinkToken(tx: Tx, token: string): Promise<boolean> {
  const used = await tx`UPDATE link_tokens SET used_at = now()
    WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING 1`;
  return used.length > 0;
}
