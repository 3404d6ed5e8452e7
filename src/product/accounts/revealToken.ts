import { apiError } from '../../catalog/errors.ts';
import type { Context } from '../context.ts';
import { bindings, getAccount } from './accounts.ts';

/** An account's access token, for display to an operator. */
export async function revealToken(ctx: Context, client_id: string, account_id: string): Promise<string> {
  return ctx.db.tenant(client_id, async (tx) => {
    const account = await getAccount(tx, account_id);
    if (account.status === 'revoked') throw apiError('account_revoked');
    return ctx.vault.unseal(tx, account.token_sealed, bindings.token(account.id));
  });
}
