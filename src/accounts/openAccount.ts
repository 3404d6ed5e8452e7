import {
  type Connector,
  EmrFailure,
  type Grant,
  type OperationName,
  type Operations,
} from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { bindings, readAccount, type StoredAccount } from './accounts.ts';

/** An account whose EMR can be spoken to. */
export type OpenAccount = {
  account: StoredAccount;
  connector: Connector;
  operations: Partial<Operations>;
  /**
   * Asks the server anew what it can do, and keeps it. The account must be opened anew after that: the sign-in may have
   * been renewed with it, and `operations` would renew once more by what is no longer good.
   */
  lookAgain: () => Promise<void>;
};

/**
 * Opens a linked account with its sealed credentials. One that needs a person fails with `login_required`, one
 * that was revoked with `refused`, which is final.
 */
export async function openAccount(
  ctx: Context,
  who: { client_id: string; account_id: string },
  signal: AbortSignal,
): Promise<OpenAccount> {
  const opened = await ctx.db.tenant(who.client_id, async (tx) => {
    const account = await readAccount(tx, who.account_id);
    // Nobody will link it again: whatever still waits for it has come to its end.
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
  let kept = account.grant_sealed;
  const endpoint = { address: account.emr_address, outbound: ctx.outbound, signal, keys: ctx.signing_keys };
  const access = {
    // Both were sealed by linkAccount from values of these types.
    credentials: JSON.parse(opened.credentials),
    grant: JSON.parse(opened.grant),
    timezone: account.timezone,
    saveGrant: async (grant: Grant) => {
      kept = await keepGrant(ctx, account, kept, grant);
    },
  };
  return {
    account,
    connector,
    operations: connector.open(endpoint, access),
    lookAgain: async () => {
      const found = await connector.refreshCapabilities?.(endpoint, access);
      if (!found) return;
      kept = await keepGrant(ctx, account, kept, found.grant, found.capabilities);
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
 * A renewed session takes the place of the one it was made from. Another lane may have renewed it too, or a person may
 * have linked the account anew: then theirs stands, and this one serves only whoever made it.
 */
async function keepGrant(
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
    // Requests are refused by what was looked up.
    if (offers) await tx`SELECT pg_notify('chartwire_access', '')`;
    return rows.length > 0 ? sealed : before;
  });
}
