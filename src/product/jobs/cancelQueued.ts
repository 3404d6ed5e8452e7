import type { Tx } from '../../platform/db/database.ts';
import { insertSteps } from './jobSteps.ts';
import { type Job, type JobFailure, setCancelled } from './jobs.ts';
import { advanceLanes, lockLane } from './lanes.ts';
import { lockUnsent } from './startJob.ts';

export const cancellation: JobFailure = {
  code: 'cancelled',
  message: 'The job was canceled before anything was sent to the EMR.',
};

/**
 * Ends a queued or parked job that has sent nothing to the EMR; its lane goes on. `storeEvent` returns the event's id.
 * Returns false if the job has started or finished; nothing is stored then.
 *
 * Locks in the order of all others: the account (as re-linking does before it unparks jobs), the lane, the job. The
 * caller has locked the record. A worker starts a job under the lock of its lane, so either it finds the job gone, or we
 * find it started.
 */
export async function cancelQueued(
  tx: Tx,
  job: Job,
  storeEvent: () => Promise<string | null> = async () => null,
): Promise<boolean> {
  await tx`SELECT FROM accounts WHERE id = ${job.account_id} FOR SHARE`;
  const lane = await lockLane(tx, job);
  if (!(await lockUnsent(tx, job))) return false;
  await setCancelled(tx, job, { failure: cancellation, event_id: await storeEvent() });
  await insertSteps(tx, [{ job, step: { name: 'cancelled', kind: 'note' } }]);
  // A worker that holds the lane goes on by itself. Behind another job there is nothing to do.
  if (lane?.idle && lane.first_job_id === job.id) await advanceLanes(tx, [lane.id]);
  return true;
}
