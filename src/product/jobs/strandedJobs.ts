import type { Sql, Tx } from '../../platform/db/database.ts';
import { advanceIdleLanes, restoreLanes } from './lanes.ts';

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
