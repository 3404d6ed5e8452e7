import { bindings, readAccount } from '../accounts/accounts.ts';
import type { Credentials } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import type { LinkPurpose } from './linkTokens.ts';

/** The stored credentials of the account in update mode, which need not be entered again. */
export async function storedCredentials(ctx: Context, tx: Tx, purpose: LinkPurpose): Promise<Credentials> {
  if (purpose.account_id === null) return {};
  const account = await readAccount(tx, purpose.account_id);
  if (!account || account.status === 'revoked') return {};
  // Sealed by linkAccount from a value of this type.
  return JSON.parse(await ctx.vault.unseal(tx, account.credentials_sealed, bindings.credentials(account.id)));
}
