import { newToken } from '../../catalog/ids.ts';
import type { Context } from '../context.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/hash.ts';

/** What a link token is for. `account_id` is set in update mode: the account to link again. */
export type LinkPurpose = {
  client_id: string;
  user_id: string;
  org_id: string;
  connector: string;
  emr_address: string;
  emr_app_id: string | null;
  account_id: string | null;
  callback_url: string | null;
  language: string | null;
  /** A link created in the dashboard does not hand a public token to the application. */
  created_in: 'api' | 'dashboard';
};

/** `exhausted`: too many failed sign-ins. */
export type LinkState = 'open' | 'expired' | 'used' | 'exhausted';

/** A link from the dashboard is sent to a clinic by email; an application opens its own link at once. */
export const link_minutes: Record<LinkPurpose['created_in'], number> = { api: 30, dashboard: 7 * 24 * 60 };
/** A link takes two sign-ins (without and with the code). This many allow for mistakes but not for guessing. */
export const sign_ins_max = 20;

/** `created_by`: the operator who creates it in the dashboard. */
export async function addLinkToken(tx: Tx, purpose: LinkPurpose, created_by: string | null = null): Promise<string> {
  const token = newToken('link_token');
  await tx`INSERT INTO link_tokens (token_hash, client_id, user_id, org_id, connector, emr_address, emr_app_id,
      account_id, callback_url, language, created_in, created_by, expires_at)
    VALUES (${hashToken(token)}, ${purpose.client_id}, ${purpose.user_id}, ${purpose.org_id}, ${purpose.connector},
      ${purpose.emr_address}, ${purpose.emr_app_id}, ${purpose.account_id}, ${purpose.callback_url}, ${purpose.language},
      ${purpose.created_in}, ${created_by},
      now() + make_interval(mins => ${link_minutes[purpose.created_in]}))`;
  return token;
}

/** The purpose of a valid link token. Reading does not use it up, so that a wrong password can be corrected. */
export async function findLinkToken(tx: Tx, token: string): Promise<LinkPurpose | undefined> {
  const [row] = await tx<LinkPurpose[]>`
    SELECT client_id, user_id, org_id, connector, emr_address, emr_app_id, account_id, callback_url, language, created_in
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
      SELECT client_id, user_id, org_id, connector, emr_address, emr_app_id, account_id, callback_url, language,
             created_in,
             CASE WHEN used_at IS NOT NULL AND attempts > ${sign_ins_max} THEN 'exhausted'
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
  const [row] = await tx<{ attempts: number }[]>`
    UPDATE link_tokens SET attempts = attempts + 1, used_at = CASE WHEN attempts >= ${sign_ins_max} THEN now() END
     WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING attempts`;
  if (!row) return 'gone';
  return row.attempts > sign_ins_max ? 'exhausted' : 'counted';
}

/** Marks the token as used. Of several concurrent attempts exactly one succeeds. */
export async function consumeLinkToken(tx: Tx, token: string): Promise<boolean> {
  const used = await tx`UPDATE link_tokens SET used_at = now()
    WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING 1`;
  return used.length > 0;
}

/** Uses up the open links of an account. */
export async function invalidateLinkTokens(tx: Tx, account: { org_id: string; user_id: string }): Promise<void> {
  await tx`UPDATE link_tokens SET used_at = now()
    WHERE org_id = ${account.org_id} AND user_id = ${account.user_id} AND used_at IS NULL`;
}

/** Uses up all open links of an organization, or of the client. */
export async function invalidateLinks(tx: Tx, org_id: string | undefined): Promise<void> {
  await tx`UPDATE link_tokens SET used_at = now()
    WHERE used_at IS NULL ${org_id === undefined ? tx`` : tx`AND org_id = ${org_id}`}`;
}

/** Deletes the open links that an operator has created, for all clients. */
export async function removeLinksBy(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM link_tokens WHERE created_by = ${operator_id} AND used_at IS NULL`;
}

/** Deletes tokens a day after they expired. */
export async function purgeLinkTokens({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM link_tokens WHERE expires_at < now() - interval '1 day'`;
}
