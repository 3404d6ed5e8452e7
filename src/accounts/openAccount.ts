import {
  type Connector,
  EmrFailure,
  type Grant,
  type OperationName,
  type Operations,
} from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { bindings, readAccount, type StoredAccount } from './accounts.ts';

/** An account with its credentials unsealed, ready for EMR calls. */
export type OpenAccount = {
  account: StoredAccount;
  connector: Connector;
  operations: Partial<Operations>;
  /**
   * Discovers the server's capabilities again and stores them. Open the account again afterwards: this may have renewed
   * the session, and `operations` would try to renew it with a refresh token that is no longer valid.
   */
  lookAgain: () => Promise<void>;
};

/**
 * Opens a linked account with its sealed credentials. Throws `login_required` if it must be linked again, and `refused`,
 * which is final, if it was revoked.
 */
export async function openAccount(
  ctx: Context,
  who: { client_id: string; account_id: string },
  signal: AbortSignal,
): Promise<OpenAccount> {
  const opened = await ctx.db.tenant(who.client_id, async (tx) => {
    const account = await readAccount(tx, who.account_id);
    if (account?.status === 'revoked') throw new EmrFailure('refused', 'The account link was revoked.');
    if (account?.status !== 'active') return undefined;
    return {
      account,
      credentials: await ctx.vault.unseal(tx, account.credentials_sealed, bindings.credentials(account.id)),
      grant: await ctx.vault.unseal(tx, account.grant_sealed, bindings.grant(account.id)),
    };
  });
  if (!opened) throw new EmrFailure('login_required', 'The account link has expired.');
  const { account } = opened;
  const connector = connectorOf(ctx, account.connector);
  let stored_grant = account.grant_sealed;
  const endpoint = { address: account.emr_address, outbound: ctx.outbound, signal, keys: ctx.signing_keys };
  const access = {
    // Both were sealed by linkAccount from values of these types.
    credentials: JSON.parse(opened.credentials),
    grant: JSON.parse(opened.grant),
    timezone: account.timezone,
    saveGrant: async (grant: Grant) => {
      stored_grant = await storeGrant(ctx, account, stored_grant, grant);
    },
  };
  return {
    account,
    connector,
    operations: connector.open(endpoint, access),
    lookAgain: async () => {
      const found = await connector.refreshCapabilities?.(endpoint, access);
      if (!found) return;
      stored_grant = await storeGrant(ctx, account, stored_grant, found.grant, found.capabilities);
      ctx.lookups.clear();
    },
  };
}

export function connectorOf(ctx: Pick<Context, 'connectors'>, name: string): Connector {
  const connector = ctx.connectors.get(name);
  if (!connector) throw new Error(`No connector is called ${name}.`);
  return connector;
}

/**
 * Replaces a stored session with its renewal. If another lane has renewed it too, or the account was linked again
 * meanwhile, the stored one is kept and this one is used by its caller only.
 */
async function storeGrant(
  ctx: Context,
  account: StoredAccount,
  before: Buffer,
  grant: Grant,
  offers?: readonly OperationName[],
): Promise<Buffer> {
  return ctx.db.tenant(account.client_id, async (tx) => {
    const owner = { client_id: account.client_id, owner_id: account.id };
    const sealed = await ctx.vault.seal(tx, owner, bindings.grant(account.id), JSON.stringify(grant));
    const rows = await tx`UPDATE accounts SET grant_sealed = ${sealed} ${offers ? tx`, offers = ${[...offers]}` : tx``}
                           WHERE id = ${account.id} AND grant_sealed = ${before} RETURNING id`;
    // Requests are checked against cached capabilities.
    if (offers) await tx`SELECT pg_notify('chartwire_access', '')`;
    return rows.length > 0 ? sealed : before;
  });
}
