import { apiError } from '../../catalog/errors.ts';
import { newToken } from '../../catalog/ids.ts';
import type { LinkedAccount } from '../../model/activity.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import { bindings, getAccount, lockAccount, replaceToken } from './accounts.ts';
import { requireConnector } from './connectAccount.ts';

/** An account's access token, for display to an operator. */
export async function revealToken(ctx: Context, client_id: string, account_id: string): Promise<string> {
  return ctx.db.tenant(client_id, async (tx) => {
    const account = await getAccount(tx, account_id);
    if (account.status === 'revoked') throw apiError('account_revoked');
    return ctx.vault.unseal(tx, account.token_sealed, bindings.token(account.id));
  });
}

export type TokenRotation = {
  /** The hash of the token that asks for it: a token that was replaced already cannot get the new one, or a leaked token would stay useful. */
  presented?: Buffer;
  /** The old token, and those that it had replaced, become invalid at once. */
  immediately?: boolean | undefined;
};

/** Replaces an account's access token; the old one stays valid for 24 hours, unless it is replaced immediately. */
export async function rotateToken(
  ctx: Pick<Context, 'vault'>,
  tx: Tx,
  account_id: string,
  { presented, immediately = false }: TokenRotation = {},
): Promise<string> {
  const { id, client_id } = await getAccount(tx, account_id);
  await lockAccount(tx, id);
  const { status, token_hash } = await getAccount(tx, id);
  if (status === 'revoked') throw apiError('account_revoked');
  if (presented && !presented.equals(token_hash)) throw apiError('access_token_replaced');
  const access_token = newToken('access_token');
  const sealed = await ctx.vault.seal(tx, { client_id, owner_id: id }, bindings.token(id), access_token);
  if (immediately) await removeReplacedTokens(tx, id);
  else await addReplacedToken(tx, { token_hash, client_id, account_id: id });
  await replaceToken(tx, id, { hash: hashToken(access_token), sealed });
  return access_token;
}

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

/** A client's linked accounts, oldest first, or only the given one. */
export async function listLinkedAccounts(
  ctx: Context,
  client_id: string,
  account_id: string | undefined,
): Promise<LinkedAccount[]> {
  const rows = await ctx.db.search<Omit<LinkedAccount, 'emr_name' | 'practice_page_url'> & { id: string }>(
    client_id,
    (sql) => sql`
      SELECT replace(account.id::text, '-', '') AS id, account.reference_id AS access_token_reference_id,
             account.user_id, organization.org_id, organization.connector AS emr, account.status, iso(account.linked_at) AS linked_at,
             (SELECT json_build_object('job_id', job.id, 'status', job.state,
                       'at', iso(coalesce(job.finished_at, job.started_at, job.created_at)),
                       'emr_requests', coalesce(job.emr_requests, 0))
                FROM jobs AS job WHERE job.organization_id = organization.id AND job.type = 'sync'
               ORDER BY job.id DESC LIMIT 1) AS last_sync,
             (SELECT count(*) FROM jobs WHERE jobs.account_id = account.id AND jobs.parked
                 AND jobs.state = 'queued') AS waiting_jobs
        FROM accounts AS account JOIN organizations AS organization ON organization.id = account.organization_id
       ${account_id === undefined ? sql`` : sql`WHERE account.id = ${account_id}`}
       ORDER BY account.linked_at, account.id`,
  );
  return rows.map(({ id, ...row }) => ({
    ...row,
    emr_name: requireConnector(ctx, row.emr).display_name,
    practice_page_url: `${ctx.base_url}/practice#account=${id}`,
  }));
}
