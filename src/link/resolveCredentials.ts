import { bindings, readAccount } from '../accounts/accounts.ts';
import { connectorOf } from '../accounts/openAccount.ts';
import type { Connector, Credentials, SignInWay } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { mergeCredentials, trimCredentials } from './checkCredentials.ts';
import type { LinkPurpose } from './linkTokens.ts';

/** The credentials of a sign-in: what was entered, completed by what is known already. Not checked yet. */
export async function resolveCredentials(
  ctx: Context,
  tx: Tx,
  purpose: LinkPurpose,
  given: Credentials,
): Promise<{ connector: Connector; credentials: Credentials; way: SignInWay | undefined }> {
  const connector = connectorOf(ctx, purpose.connector);
  const stored = await storedCredentials(ctx, tx, purpose);
  const credentials = mergeCredentials(stored, trimCredentials(connector, given));
  return { connector, credentials, way: connector.sign_in_ways?.find(({ name }) => name === credentials.way) };
}

/** The stored credentials of the account in update mode, which need not be entered again. */
export async function storedCredentials(ctx: Context, tx: Tx, purpose: LinkPurpose): Promise<Credentials> {
  if (purpose.account_id === null) return {};
  const account = await readAccount(tx, purpose.account_id);
  if (!account || account.status === 'revoked') return {};
  // Sealed by linkAccount from a value of this type.
  return JSON.parse(await ctx.vault.unseal(tx, account.credentials_sealed, bindings.credentials(account.id)));
}
