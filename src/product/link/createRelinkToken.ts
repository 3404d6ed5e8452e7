import type { StoredAccount } from '../accounts/accounts.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../../platform/db/database.ts';
import { chooseEmrApp } from './chooseEmrApp.ts';
import { addLinkToken, type LinkPurpose } from './linkTokens.ts';

/**
 * A link token for linking a known account again from the dashboard, where its access token is not available. A revoked
 * account is linked like a new one: its credentials were deleted.
 */
export async function createRelinkToken(
  ctx: Context,
  tx: Tx,
  account: StoredAccount,
  language: 'en' | 'es' | undefined,
  created_by: string,
): Promise<string> {
  const account_id = account.status === 'revoked' ? null : account.id;
  const purpose: LinkPurpose = {
    client_id: account.client_id,
    user_id: account.user_id,
    org_id: account.org_id,
    connector: account.connector,
    emr_address: account.emr_address,
    emr_app_id: await chooseEmrApp(ctx, tx, account, account_id),
    account_id,
    callback_url: null,
    language: language ?? null,
    created_in: 'dashboard',
  };
  return addLinkToken(tx, purpose, created_by);
}
