import type { Sql, Tx } from '../../platform/db/database.ts';
import {
  type ClaimedJob,
  releaseJob,
  setExpiredUnparked,
  setQueuedParked,
  setRunningParked,
  setUnparked,
} from './jobs.ts';
import { advanceIdleLanes, advanceLanes, checkLease, lockIdleLanes, restoreLanes } from './lanes.ts';

/** How long the jobs of an account wait for it to be re-linked before they fail. */
export const parked_days_max = 14;

/**
 * Parks every queued job of an account until it is re-linked. Its lanes continue with the jobs of other accounts; a
 * lane without any is deleted and recreated by `unparkJobs`. Lanes that a worker holds are left to the worker, whose
 * own sign-in fails.
 */
export async function parkJobs(tx: Tx, account_id: string): Promise<void> {
  const lanes = await lockIdleLanes(tx, account_id);
  await setQueuedParked(tx, account_id);
  await advanceIdleLanes(tx, lanes);
}

/**
 * Parks the job that a worker holds; its lane continues with the next one. The account's row is locked first: if it
 * is being re-linked at this moment, a job parked afterwards would never be unparked.
 */
export async function parkRunningJob(tx: Tx, claimed: ClaimedJob): Promise<void> {
  const { job, lease } = claimed;
  const [account] = await tx<{ status: string }[]>`SELECT status FROM accounts WHERE id = ${job.account_id} FOR SHARE`;
  // If the account was re-linked meanwhile, the job continues; if it was unlinked, the next attempt fails.
  if (account?.status !== 'login_required') return releaseJob(tx, claimed);
  await checkLease(tx, lease);
  await setRunningParked(tx, job.id);
  await advanceLanes(tx, [lease.id]);
}

/** Returns the account's jobs to their lanes, in the order they were accepted. */
export async function unparkJobs(tx: Tx, account_id: string, parallel_max: number): Promise<void> {
  await returnToLanes(tx, await setUnparked(tx, account_id), parallel_max);
}

/**
 * Returns a job that was parked for too long to its lane, where its next attempt fails. The account is locked first, as
 * everywhere jobs are unparked: who cancels the job waits for it before locking the lane.
 */
export async function unparkExpiredJob(tx: Tx, job_id: number, parallel_max: number): Promise<void> {
  await tx`SELECT FROM accounts WHERE id = (SELECT account_id FROM jobs WHERE id = ${job_id}) FOR NO KEY UPDATE`;
  await returnToLanes(tx, await setExpiredUnparked(tx, job_id), parallel_max);
}

/** Jobs of any tenant that have been parked for more than `parked_days_max`. */
export function findExpiredParkedJobs(
  system: Sql,
  limit: number,
): Promise<{ id: number; client_id: string; connector: string }[]> {
  return system.pooled<{ id: number; client_id: string; connector: string }[]>`
    SELECT jobs.id, jobs.client_id, organizations.connector
      FROM jobs JOIN organizations ON organizations.id = jobs.organization_id
     WHERE parked AND parked_since < now() - make_interval(days => ${parked_days_max})
     ORDER BY parked_since LIMIT ${limit}`;
}

async function returnToLanes(tx: Tx, job_ids: number[], parallel_max: number): Promise<void> {
  if (job_ids.length === 0) return;
  await advanceIdleLanes(tx, await restoreLanes(tx, job_ids, parallel_max));
}

/**
 * Unfinished jobs of any tenant that are neither parked nor in a lane: no worker would ever start them. There should be
 * none. Jobs of the last minute are left out: this statement may have started before their lane was committed.
 */
export function findStrandedJobs(
  system: Sql,
  limit = 100,
): Promise<{ id: number; client_id: string; connector: string }[]> {
  return system.pooled<{ id: number; client_id: string; connector: string }[]>`
    SELECT jobs.id, jobs.client_id, organizations.connector
      FROM jobs JOIN organizations ON organizations.id = jobs.organization_id
     WHERE jobs.state IN ('queued', 'running') AND NOT jobs.parked
       AND jobs.created_at < now() - interval '1 minute'
       AND NOT EXISTS (SELECT FROM lanes WHERE lanes.organization_id = jobs.organization_id AND lanes.key = jobs.lane)
     ORDER BY jobs.id LIMIT ${limit}`;
}

/** Returns a job to its lane. Harmless if the job has finished or was parked meanwhile: the worker deletes an empty lane. */
export async function repairStrandedJob(tx: Tx, job_id: number, parallel_max: number): Promise<void> {
  await advanceIdleLanes(tx, await restoreLanes(tx, [job_id], parallel_max));
}
