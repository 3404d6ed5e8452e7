import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { unparkJobs } from '../jobs/park.ts';
import { getAccount } from './accounts.ts';
import { connectorOf } from './openAccount.ts';

/**
 * Ends an account for good: its access token dies, what the EMR gave us to come back with is forgotten, and links that
 * were made for it no longer open. Jobs that wait are woken and not removed: each ends by its own next try as failed
 * (or for review, where a write may have arrived unseen), so that its event is sent and its record settled.
 * Gives how many wait.
 */
export async function revokeAccount(ctx: Pick<Context, 'connectors'>, tx: Tx, account_id: string): Promise<number> {
  const { id } = await getAccount(tx, account_id);
  // Whoever parks a job or links the account locks this row first.
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
