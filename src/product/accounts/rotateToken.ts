import { apiError } from '../../catalog/errors.ts';
import { newToken } from '../../catalog/ids.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/hash.ts';
import { bindings, getAccount, lockAccount, replaceToken } from './accounts.ts';
import { addReplacedToken, removeReplacedTokens } from './replacedTokens.ts';

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
