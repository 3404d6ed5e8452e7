import { bindings, readAccount } from '../accounts/accounts.ts';
import { apiError } from '../../catalog/errors.ts';
import type { Context } from '../context.ts';
import { consumePublicToken } from './publicTokens.ts';

/** Exchanges a public token for the account's permanent access token. Works once. */
export async function exchangePublicToken(ctx: Context, client_id: string, public_token: string): Promise<string> {
  return ctx.db.tenant(client_id, async (tx) => {
    const account_id = await consumePublicToken(tx, public_token);
    const account = account_id && (await readAccount(tx, account_id));
    if (!account) throw apiError('public_token_invalid', undefined, { field: 'public_token' });
    return ctx.vault.unseal(tx, account.token_sealed, bindings.token(account.id));
  });
}
