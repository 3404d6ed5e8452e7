import { spaceSyncs } from '../accounts/organizations.ts';
import type { Context } from '../context.ts';
import { addEmrRequests } from '../jobs/jobs.ts';
import { JobPaused, type JobRun } from '../jobs/run.ts';

/**
 * `in_full`: whether lists are read in full of which changes alone could be read. `progressed`: whether this attempt has
 * got further than the one before. `hour`: what the sync has sent in its current hour, and how long that lasts.
 */
export type ListReading = { in_full: boolean; progressed: boolean; hour: { sent: number; ends_at_ms: number } };

export function startReading(in_full: boolean): ListReading {
  return { in_full, progressed: false, hour: { sent: 0, ends_at_ms: 0 } };
}

/**
 * Stores how many requests were sent since the last time, and postpones the next sync if they were many. After a crash,
 * those since the last time are missing.
 */
export async function storeRequests(ctx: Context, { job, checkLease }: JobRun, reading: ListReading): Promise<void> {
  const { requests = 0 } = job;
  if (requests === 0) return;
  const limits = {
    per_hour: ctx.config.sync_requests_per_hour,
    minutes_max: reading.in_full ? full_spacing_minutes_max : spacing_minutes_max,
  };
  const { sent, left_ms } = await ctx.db.repeatable(job.client_id, async (tx) => {
    // The organization is locked before the lane, as linking does; the other order could deadlock.
    await spaceSyncs(tx, { id: job.organization_id, job_id: job.id, requests }, limits);
    const hour = await addEmrRequests(tx, job.id, requests);
    await checkLease(tx);
    return hour;
  });
  job.requests = 0;
  reading.hour = { sent, ends_at_ms: Date.now() + left_ms };
}

/**
 * Returns the sync to the queue until its next hour if it has sent as many requests as it may in one. Only called where
 * the next attempt goes on instead of starting over, and not before this one has got further: every attempt does.
 */
export async function pauseIfSpent(ctx: Context, run: JobRun, reading: ListReading): Promise<void> {
  if (!reading.progressed) return;
  await storeRequests(ctx, run, reading);
  const { sent, ends_at_ms } = reading.hour;
  const pause_ms = ends_at_ms - Date.now();
  if (sent < ctx.config.sync_requests_per_hour || pause_ms <= 0) return;
  await run.steps.note('requests', { sent, in_ms: Math.round(pause_ms) });
  throw new JobPaused(pause_ms);
}

/** How many requests may be sent before they are stored and compared with the limit. */
export const requests_unstored_max = 100;

/** A list that is read in full once a day must not delay the changes of the day for long. */
const full_spacing_minutes_max = 60;
const spacing_minutes_max = 24 * 60;
