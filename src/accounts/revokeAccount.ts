import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { unparkJobs } from '../jobs/park.ts';
import { getAccount } from './accounts.ts';
import { connectorOf } from './openAccount.ts';

/**
 * Revokes an account: its access token stops working, its credentials and session are deleted, and its open links become
 * invalid. Queued jobs are woken rather than removed: each fails in its next attempt (or goes to review if a write may
 * have arrived), so that its event is sent and its record updated. Returns how many jobs are unfinished.
 */
export async function revokeAccount(ctx: Pick<Context, 'connectors'>, tx: Tx, account_id: string): Promise<number> {
  const { id } = await getAccount(tx, account_id);
  // Parking jobs and linking lock this row first, too.
  await tx`SELECT FROM accounts WHERE id = ${id} FOR NO KEY UPDATE`;
  const account = await getAccount(tx, id);
  if (account.status === 'revoked') return 0;
  const nothing = Buffer.alloc(0);
  await tx`UPDATE accounts SET status = 'revoked', status_reason = NULL, credentials_sealed = ${nothing},
    grant_sealed = ${nothing} WHERE id = ${id}`;
  await tx`UPDATE link_tokens SET used_at = now()
    WHERE org_id = ${account.org_id} AND user_id = ${account.user_id} AND used_at IS NULL`;
  await tx`UPDATE public_tokens SET used_at = now() WHERE account_id = ${id} AND used_at IS NULL`;
  await unparkJobs(tx, id, connectorOf(ctx, account.connector).limits.parallel_max);
  await tx`SELECT pg_notify('chartwire_access', '')`;
  const [jobs] = await tx<{ n: number }[]>`
    SELECT count(*) AS n FROM jobs WHERE account_id = ${id} AND state IN ('queued', 'running')`;
  return jobs?.n ?? 0;
}
