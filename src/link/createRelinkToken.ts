import type { StoredAccount } from '../accounts/accounts.ts';
import type { Tx } from '../db/database.ts';
import { addLinkToken } from './linkTokens.ts';

/**
 * The token of a link by which a person links a known account again, made in the dashboard: nobody there holds its
 * access token. A revoked account comes back like a new one: nothing is known of it that need not be typed.
 */
export function createRelinkToken(tx: Tx, account: StoredAccount, language: 'en' | 'es' | undefined): Promise<string> {
  return addLinkToken(tx, {
    client_id: account.client_id,
    user_id: account.user_id,
    org_id: account.org_id,
    connector: account.connector,
    emr_address: account.emr_address,
    account_id: account.status === 'revoked' ? null : account.id,
    callback_url: null,
    language: language ?? null,
    made_in: 'dashboard',
  });
}
