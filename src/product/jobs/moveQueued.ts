import type { Tx } from '../../platform/db/database.ts';
import type { NewJob } from './enqueue.ts';
import { setLane } from './jobs.ts';
import { advanceIdleLanes, restoreLanes } from './lanes.ts';
import { lockUnsent } from './startJob.ts';

/**
 * Moves the queued job of an operation, whose request names another patient now, into the lane that a new job would get.
 * Returns false if a worker has started the job; nothing is stored then. Without a queued job there is nothing to do.
 *
 * Locks in the order of all others: the account, the lanes by id, the job. The caller has locked the record. A worker
 * starts a job under the lock of its lane, so either it finds the job gone, or we find it started.
 */
export async function moveQueued(
  tx: Tx,
  { operation, organization_id, lane, earlier_lane, parallel_max }: NewJob,
): Promise<boolean> {
  const [job] = await tx<{ id: number; lane: string; account_id: string; parked: boolean }[]>`
    SELECT id, lane, account_id, parked FROM jobs WHERE operation_id = ${operation.id} AND state = 'queued'`;
  if (!job) return true;
  await tx`SELECT FROM accounts WHERE id = ${job.account_id} FOR SHARE`;
  const keys = [job.lane, lane, ...(earlier_lane === undefined ? [] : [earlier_lane])];
  const lanes = await tx<{ id: string; key: string }[]>`
    SELECT id, key FROM lanes WHERE organization_id = ${organization_id} AND key = ANY (${keys}) ORDER BY id FOR UPDATE`;
  const target = lanes.some(({ key }) => key === earlier_lane) ? earlier_lane : lane;
  if (target === undefined || target === job.lane) return true;
  if (!(await lockUnsent(tx, job))) return false;
  await setLane(tx, job.id, target);
  // A parked job has no lane until it is resumed.
  if (job.parked) return true;
  const restored = await restoreLanes(tx, [job.id], parallel_max);
  const former = lanes.filter(({ key }) => key === job.lane).map(({ id }) => id);
  // Either lane may have another first job now. A worker that holds one goes on by itself.
  await advanceIdleLanes(tx, [...restored, ...former]);
  return true;
}
