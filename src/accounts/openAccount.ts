import { type Connector, EmrFailure, type Grant, type Operations } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { bindings, readAccount, type StoredAccount } from './accounts.ts';

/** An account whose EMR can be spoken to. */
export type OpenAccount = {
  account: StoredAccount;
  connector: Connector;
  operations: Partial<Operations>;
};

/** Opens a linked account with its sealed credentials. One that needs a person fails with `login_required`. */
export async function openAccount(
  ctx: Context,
  who: { client_id: string; account_id: string },
  signal: AbortSignal,
): Promise<OpenAccount> {
  const opened = await ctx.db.tenant(who.client_id, async (tx) => {
    const account = await readAccount(tx, who.account_id);
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
  const operations = connector.open(
    { address: account.emr_address, outbound: ctx.outbound, signal },
    {
      // Both were sealed by linkAccount from values of these types.
      credentials: JSON.parse(opened.credentials),
      grant: JSON.parse(opened.grant),
      keepGrant: (grant) => keepGrant(ctx, account, grant),
    },
  );
  return { account, connector, operations };
}

export function connectorOf(ctx: Context, name: string): Connector {
  const connector = ctx.connectors.get(name);
  if (!connector) throw new Error(`No connector is called ${name}.`);
  return connector;
}

/** A renewed session is kept, unless the account was linked anew meanwhile: then the newer grant stands. */
async function keepGrant(ctx: Context, account: StoredAccount, grant: Grant): Promise<void> {
  await ctx.db.tenant(account.client_id, async (tx) => {
    const owner = { client_id: account.client_id, owner_id: account.id };
    const sealed = await ctx.vault.seal(tx, owner, bindings.grant(account.id), JSON.stringify(grant));
    await tx`UPDATE accounts SET grant_sealed = ${sealed}
              WHERE id = ${account.id} AND grant_sealed = ${account.grant_sealed}`;
  });
}
