import type { Credentials, Grant } from '../../emr/connector.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { Context } from '../context.ts';
import { bindings, lockAccount, readAccount, type StoredAccount } from './accounts.ts';
import { currentCredentials, requireConnector } from './connectAccount.ts';
import { type EmrOfAccount, type EndpointContext, signOutEndpoint } from './emrApps.ts';
import { claimEndedGrant, type EndedGrant, findDueGrants, removeEndedGrant } from './grantRenewals.ts';
import { countRequests } from './requestBudgets.ts';

export type SignOutContext = EndpointContext & Pick<Context, 'connectors' | 'audit' | 'log'>;

/** At once, so that one EMR that hangs does not delay the others. */
const parallel_max = 20;
const timeout_ms = 10_000;

/** Ends the sessions and revokes the tokens of unlinked accounts at their EMRs. Failures are retried later. */
export async function signOutAccounts(ctx: SignOutContext): Promise<void> {
  const due = await findDueGrants(ctx.db.system, parallel_max);
  await Promise.all(
    due.map(({ id, client_id }) =>
      signOutOnce(ctx, client_id, id).catch((error: unknown) =>
        ctx.log.error({ err: error }, 'an unlinked account could not be signed out'),
      ),
    ),
  );
}

/** Ends a grant at the EMR. Returns whether the EMR supports that. */
export async function signOut(
  ctx: EndpointContext & Pick<Context, 'connectors'>,
  emr: EmrOfAccount & { connector: string },
  access: { credentials: Credentials; grant: Grant },
): Promise<boolean> {
  const connector = requireConnector(ctx, emr.connector);
  if (!connector.signOut) return false;
  const signal = AbortSignal.timeout(timeout_ms);
  const endpoint = await signOutEndpoint(ctx, emr, signal);
  const counted = { connector, emr_app_id: emr.emr_app_id, urgent: true };
  return connector.signOut(countRequests(ctx, endpoint, counted), access);
}

async function signOutOnce(ctx: SignOutContext, client_id: string, id: string): Promise<void> {
  const claimed = await ctx.db.tenant(client_id, async (tx) => {
    const ended = await claimEndedGrant(tx, id);
    const account = ended && (await readAccount(tx, ended.account_id));
    return account && { ended, account };
  });
  if (!claimed) return;
  const { ended, account } = claimed;
  const outcome = await attempt(ctx, account, ended);
  if (outcome !== undefined) await finish(ctx, account, ended, outcome);
}

type Outcome = 'signed_out' | 'not_offered' | 'given_up';

/** Undefined: to be retried. */
async function attempt(ctx: SignOutContext, account: StoredAccount, ended: EndedGrant): Promise<Outcome | undefined> {
  try {
    const access = await ctx.db.tenant(account.client_id, async (tx) => ({
      credentials: await currentCredentials(ctx, tx, account, ended.credentials_sealed),
      // Sealed by linkAccount from a value of this type.
      grant: JSON.parse(await ctx.vault.unseal(tx, ended.grant_sealed, bindings.grant(account.id))),
    }));
    if (Object.keys(access.credentials).length === 0) {
      throw new EmrFailure('refused', 'The EMR app of the account was deleted, so that its tokens cannot be revoked.');
    }
    return (await signOut(ctx, account, access)) ? 'signed_out' : 'not_offered';
  } catch (error) {
    const retry = error instanceof EmrFailure && error.kind === 'unavailable' && !ended.overdue;
    if (retry) return undefined;
    ctx.log.warn({ err: error }, 'the EMR did not end the session of an unlinked account');
    return 'given_up';
  }
}

/** Deletes what was kept, and with the last of it the account's data key, unless the account was re-linked. */
async function finish(ctx: SignOutContext, account: StoredAccount, ended: EndedGrant, outcome: Outcome): Promise<void> {
  const { id, client_id } = account;
  await ctx.db.tenant(client_id, async (tx) => {
    // Linking locks the account before it uses the data key.
    await lockAccount(tx, id);
    const current = await readAccount(tx, id);
    const left = await removeEndedGrant(tx, ended);
    if (left === 0 && current?.status === 'revoked') await ctx.vault.shred(tx, { client_id, owner_id: id });
    await ctx.audit.recordInTransaction(tx, {
      client_id,
      actor_kind: 'worker',
      actor: 'worker',
      account_id: id,
      action: 'account.sign_out',
      outcome,
      subject: id,
    });
  });
}
