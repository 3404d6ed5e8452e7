import type { Capability } from '../connectors/connector.ts';
import { type Connector, EmrFailure, type Grant, type Operations } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { type Account, bindings, readAccount, replaceGrant, type StoredAccount } from './accounts.ts';

/** An account with its credentials unsealed, ready for EMR calls. */
export type OpenAccount = {
  account: StoredAccount;
  connector: Connector;
  operations: Partial<Operations>;
  /**
   * Discovers the server's capabilities again and stores them. Open the account again afterwards: this may have renewed
   * the session, and `operations` would try to renew it with a refresh token that is no longer valid.
   */
  refreshCapabilities: (options: { thorough: boolean }) => Promise<void>;
};

/**
 * Opens the account of a job, or of a request, with its sealed credentials. Throws `login_required` if it must be linked again, and
 * `refused`, which is final, if it was unlinked after the job was accepted: an account that was linked again since may
 * belong to somebody else.
 */
export async function openAccount(
  ctx: Context,
  job: { id?: number; client_id: string; account_id: string },
  signal: AbortSignal,
): Promise<OpenAccount> {
  const opened = await ctx.db.tenant(job.client_id, async (tx) => {
    const account = await readAccount(tx, job.account_id);
    if (account && job.id !== undefined && (await isUnlinked(tx, account, job.id))) {
      throw new EmrFailure('refused', 'The account was unlinked.', { code: 'account_unlinked' });
    }
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
  const endpoint = { address: account.emr_address, outbound: ctx.emr_outbound, signal, keys: ctx.signing_keys };
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
    refreshCapabilities: async (options) => {
      const found = await connector.refreshCapabilities?.(endpoint, access, options);
      if (!found) return;
      stored_grant = await storeGrant(ctx, account, stored_grant, found.grant, found.capabilities);
      ctx.lookups.clear();
    },
  };
}

async function isUnlinked(tx: Tx, { status, unlinked_at }: StoredAccount, job_id: number): Promise<boolean> {
  if (status === 'revoked' || unlinked_at === null) return status === 'revoked';
  const [earlier] = await tx`SELECT FROM jobs JOIN accounts ON accounts.id = jobs.account_id
    WHERE jobs.id = ${job_id} AND jobs.created_at < accounts.unlinked_at`;
  return earlier !== undefined;
}

export function connectorOf(ctx: Pick<Context, 'connectors'>, name: string): Connector {
  const connector = ctx.connectors.get(name);
  if (!connector) throw new Error(`No connector is called ${name}.`);
  return connector;
}

/** The operations and fields available for an account: those of its connector, minus those its server lacks. */
export function capabilitiesOf(
  ctx: Pick<Context, 'connectors'>,
  account: Pick<Account, 'connector' | 'capabilities'>,
): readonly Capability[] {
  const { capabilities } = connectorOf(ctx, account.connector);
  const found = account.capabilities;
  return found === null ? capabilities : capabilities.filter((name) => found.includes(name));
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
  capabilities?: readonly Capability[],
): Promise<Buffer> {
  return ctx.db.tenant(account.client_id, async (tx) => {
    const owner = { client_id: account.client_id, owner_id: account.id };
    const sealed = await ctx.vault.seal(tx, owner, bindings.grant(account.id), JSON.stringify(grant));
    const replaced = await replaceGrant(tx, account.id, { before, sealed, capabilities });
    return replaced ? sealed : before;
  });
}
