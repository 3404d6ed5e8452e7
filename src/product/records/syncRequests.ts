import { spaceSyncs } from '../accounts/organizations.ts';
import type { Context } from '../context.ts';
import { addEmrRequests } from '../jobs/jobs.ts';
import { JobPaused, type JobRun } from '../jobs/run.ts';

/**
 * `in_full`: whether lists are read in full of which changes alone could be read. `progressed`: whether this attempt has
 * got further than the one before.
 */
export type ListReading = { in_full: boolean; progressed: boolean };

/**
 * Stores how many requests were sent since the last time, and postpones the next sync if they were many. After a crash,
 * those since the last time are missing. Returns how long to wait if the sync has sent as many as it may in an hour.
 */
export async function storeRequests(
  ctx: Context,
  { job, checkLease }: JobRun,
  { in_full }: ListReading,
): Promise<{ sent: number; wait_ms: number }> {
  const { requests = 0 } = job;
  if (requests === 0) return { sent: 0, wait_ms: 0 };
  const per_hour = ctx.config.sync_requests_per_hour;
  const limits = { per_hour, minutes_max: in_full ? full_spacing_minutes_max : spacing_minutes_max };
  const { sent, left_ms } = await ctx.db.repeatable(job.client_id, async (tx) => {
    // The organization is locked before the lane, as linking does; the other order could deadlock.
    await spaceSyncs(tx, { id: job.organization_id, job_id: job.id, requests }, limits);
    const hour = await addEmrRequests(tx, job.id, requests);
    await checkLease(tx);
    return hour;
  });
  job.requests = 0;
  return { sent, wait_ms: sent < per_hour ? 0 : left_ms };
}

/**
 * Returns the sync to the queue until its next hour if it has sent as many requests as it may in one. Only called where
 * the next attempt goes on instead of starting over, and not before this one has got further: every attempt does.
 */
export async function pauseIfSpent(ctx: Context, run: JobRun, reading: ListReading): Promise<void> {
  if (!reading.progressed) return;
  const { sent, wait_ms } = await storeRequests(ctx, run, reading);
  if (wait_ms === 0) return;
  await run.steps.note('requests', { sent, in_ms: Math.round(wait_ms) });
  throw new JobPaused(wait_ms);
}

/** How many requests may be sent before they are stored and compared with the limit. */
export const requests_unstored_max = 100;

/** A list that is read in full once a day must not delay the changes of the day for long. */
const full_spacing_minutes_max = 60;
const spacing_minutes_max = 24 * 60;
