import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { newToken } from '../ids.ts';
import { hashToken } from '../security/hash.ts';

/** What one run of Link is for. `account_id` is set in update mode: the account that is linked again. */
export type LinkPurpose = {
  client_id: string;
  user_id: string;
  org_id: string;
  connector: string;
  emr_address: string;
  account_id: string | null;
  callback_url: string | null;
  language: string | null;
  /** A link made in the dashboard ends there: the application is not handed a public token. */
  made_in: 'api' | 'dashboard';
};

/** `exhausted`: used up by too many sign-ins that failed. */
export type LinkState = 'open' | 'expired' | 'used' | 'exhausted';

export const link_token_minutes = 30;
/** A link takes two sign-ins (without the code, with it); this many leave room for mistakes, and none for guessing. */
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

/** What a link token is for, if it is still good. Reading it does not use it up: a wrong password can be mended. */
export async function findLinkToken(tx: Tx, token: string): Promise<LinkPurpose | undefined> {
  const [row] = await tx<LinkPurpose[]>`
    SELECT client_id, user_id, org_id, connector, emr_address, account_id, callback_url, language, made_in
      FROM link_tokens WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now()`;
  return row;
}

export type KnownLink = { state: LinkState; purpose: LinkPurpose };

/** Whose link token this is, and what became of it. */
export function lookUpLink(ctx: Context, token: string): Promise<KnownLink | undefined> {
  return lookUpLinkByHash(ctx, hashToken(token));
}

/** The same for whoever knows no more than the hash: an address may hold that, never the token. */
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

/** Counts a sign-in before it is tried, so that many at once are counted too. One too many uses the token up. */
export async function countSignIn(tx: Tx, token: string): Promise<'counted' | 'exhausted' | 'gone'> {
  const [row] = await tx<{ tries: number }[]>`
    UPDATE link_tokens SET tries = tries + 1, used_at = CASE WHEN tries >= ${sign_ins_max} THEN now() END
     WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING tries`;
  if (!row) return 'gone';
  return row.tries > sign_ins_max ? 'exhausted' : 'counted';
}

/** Uses the token up. Of several attempts at once exactly one succeeds. */
export async function burnLinkToken(tx: Tx, token: string): Promise<boolean> {
  const burnt = await tx`UPDATE link_tokens SET used_at = now()
    WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING 1`;
  return burnt.length > 0;
}
