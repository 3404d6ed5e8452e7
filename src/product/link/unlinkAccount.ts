import type { Tx } from '../../platform/db/database.ts';
import { removeReplacedTokens } from '../accounts/accessTokens.ts';
import { getAccount, lockAccount, markRevoked } from '../accounts/accounts.ts';
import { removeEvidence } from '../accounts/capabilities.ts';
import { requireConnector } from '../accounts/connectAccount.ts';
import { addEndedGrant } from '../accounts/grantRenewals.ts';
import { removeWriteLimit } from '../accounts/serverFacts.ts';
import type { Context } from '../context.ts';
import { unparkJobs } from '../jobs/park.ts';
import { failExportsOfAccount } from '../records/bulkExports.ts';
import { invalidateLinkTokens } from './linkTokens.ts';
import { invalidatePublicTokens } from './publicTokens.ts';

/**
 * Unlinks an account: its access tokens stop working, its credentials and session are deleted once the EMR has been asked
 * to revoke them, and its open links become invalid. Queued jobs are woken rather than removed: each fails in its next
 * attempt (or goes to review if a write may have arrived), so that its event is sent and its record updated. Returns how
 * many jobs are unfinished.
 */
export async function unlinkAccount(ctx: Pick<Context, 'connectors'>, tx: Tx, account_id: string): Promise<number> {
  const before_lock = await getAccount(tx, account_id);
  // Before the account: a link that is being completed locks them in this order.
  await invalidateLinkTokens(tx, before_lock);
  await lockAccount(tx, before_lock.id);
  const account = await getAccount(tx, before_lock.id);
  if (account.status === 'revoked') return 0;
  await addEndedGrant(tx, account);
  await markRevoked(tx, account.id);
  await removeReplacedTokens(tx, account.id);
  await removeEvidence(tx, account.id);
  await removeWriteLimit(tx, account.id);
  await invalidatePublicTokens(tx, account.id);
  await unparkJobs(tx, account.id, requireConnector(ctx, account.connector).limits.parallel_max);
  // After the lanes, as syncs lock them.
  await failExportsOfAccount(tx, account.id);
  const [jobs] = await tx<{ n: number }[]>`
    SELECT count(*) AS n FROM jobs WHERE account_id = ${account.id} AND state IN ('queued', 'running')`;
  return jobs?.n ?? 0;
}
