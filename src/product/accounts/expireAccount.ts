import type { Context } from '../context.ts';
import type { Job } from '../jobs/jobs.ts';
import { parkJobs } from '../jobs/park.ts';
import { emitEvent } from '../webhooks/emitEvent.ts';
import { markLoginRequired, readAccount } from './accounts.ts';

/**
 * Marks an account as `login_required`, sends the event once and parks the account's queued jobs, in one transaction.
 * An account that was revoked, or whose session is no longer the one that this attempt used, is left alone. Returns
 * whether the account must be linked again.
 */
export async function expireAccount(ctx: Context, job: Job, reason: string): Promise<boolean> {
  const { client_id, account_id, session } = job;
  const needed = await ctx.db.repeatable(client_id, async (tx) => {
    // Without a session, the account was not active when the attempt opened it.
    const changed = session !== undefined && (await markLoginRequired(tx, account_id, session, reason));
    const account = await readAccount(tx, account_id);
    if (!changed || !account) return account?.status === 'login_required';
    await emitEvent(tx, {
      client_id,
      account_id,
      job_id: null,
      traceparent: ctx.telemetry.traceparent(),
      event: {
        type: 'login_required',
        data: {
          access_token_reference_id: account.reference_id,
          user_id: account.user_id,
          org_id: account.org_id,
          emr_name: account.connector,
          reason,
        },
      },
    });
    await parkJobs(tx, account_id);
    return true;
  });
  ctx.lookups.clear();
  ctx.notifications.notify('chartwire_deliveries', client_id);
  return needed;
}
