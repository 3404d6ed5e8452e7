import type { Fragment, Query, Tx } from '../db/database.ts';
import { type Lease, LeaseLost } from '../db/lease.ts';

/**
 * A lane is the queue of one patient (or of another thing that has to be changed in order) in one organization. It has
 * a row here while it has jobs that can run. db/lease.ts claims the rows and extends their leases.
 */
export type LaneKey = { organization_id: string; key: string };

/** Locks the lane, or throws LeaseLost if this worker no longer holds it. Called before everything a worker commits. */
export async function checkLease(tx: Tx, lease: Lease): Promise<LaneKey> {
  const [lane] = await tx<LaneKey[]>`
    SELECT organization_id, key FROM lanes
     WHERE id = ${lease.id} AND fence = ${lease.fence} AND locked_until > clock_timestamp() FOR UPDATE`;
  if (!lane) throw new LeaseLost();
  return lane;
}

/** Locks the lanes of the CTE `job` that exist, in the order of their ids as everywhere several are locked. */
export function lockLanes(sql: Query): Fragment {
  return sql`
    SELECT lanes.id FROM lanes
      JOIN job ON job.client_id = lanes.client_id AND job.organization_id = lanes.organization_id AND job.lane = lanes.key
     ORDER BY lanes.id FOR UPDATE OF lanes`;
}

/**
 * Creates the lanes of the CTE `job`, or locks them (the CTE `existing`): the update that changes nothing makes a worker
 * that is about to delete the empty lane see the new job, or makes us see the deletion. A lane has the account of its
 * first job.
 */
export function insertLanes(sql: Query): Fragment {
  return sql`
    INSERT INTO lanes (client_id, organization_id, account_id, key, parallel_max)
      SELECT DISTINCT ON (job.organization_id, job.lane) job.client_id, job.organization_id, job.account_id, job.lane,
             request.parallel_max
        FROM job JOIN request ON request.operation_id = job.operation_id
       WHERE (SELECT count(*) FROM existing) IS NOT NULL
       ORDER BY job.organization_id, job.lane, job.id
      ON CONFLICT (organization_id, key) DO UPDATE SET key = excluded.key`;
}

/** Ends the lease and keeps the lane's head where it is; the lane is ready again after the pause. */
export async function releaseLane(tx: Tx, lane_id: string, pause_ms: number): Promise<void> {
  await tx`UPDATE lanes SET locked_until = NULL, owner = NULL,
             ready_at = clock_timestamp() + ${pause_ms}::float8 * interval '1 millisecond' WHERE id = ${lane_id}`;
}

/** Ends the lease after the head has left: the lane goes to its next job and that job's account, or is deleted. */
export async function advanceLane(tx: Tx, lane_id: string): Promise<void> {
  const [next] = await tx<{ account_id: string }[]>`
    SELECT jobs.account_id FROM lanes JOIN jobs ON jobs.organization_id = lanes.organization_id AND jobs.lane = lanes.key
     WHERE lanes.id = ${lane_id} AND jobs.state IN ('queued', 'running') AND NOT jobs.parked ORDER BY jobs.id LIMIT 1`;
  if (!next) await deleteLane(tx, lane_id);
  else
    await tx`UPDATE lanes SET account_id = ${next.account_id}, locked_until = NULL, owner = NULL,
               ready_at = clock_timestamp() WHERE id = ${lane_id}`;
}

export async function deleteLane(tx: Tx, lane_id: string): Promise<void> {
  await tx`DELETE FROM lanes WHERE id = ${lane_id}`;
}

/**
 * Locks the lanes of an account that no worker holds. Held lanes are left out: their workers may be committing, and
 * the two transactions would wait for each other.
 */
export async function lockIdleLanes(tx: Tx, account_id: string): Promise<string[]> {
  const lanes = await tx<{ id: string }[]>`
    SELECT id FROM lanes WHERE account_id = ${account_id}
       AND (locked_until IS NULL OR locked_until <= clock_timestamp()) ORDER BY id FOR UPDATE`;
  return lanes.map((lane) => lane.id);
}

/** Creates the lanes of these jobs where they are missing, and locks them. */
export async function restoreLanes(tx: Tx, job_ids: number[], parallel_max: number): Promise<string[]> {
  const lanes = await tx<{ id: string }[]>`
    INSERT INTO lanes (client_id, organization_id, account_id, key, parallel_max)
      SELECT DISTINCT ON (organization_id, lane) client_id, organization_id, account_id, lane, ${parallel_max}::integer
        FROM jobs WHERE id = ANY (${job_ids}) ORDER BY organization_id, lane, id
      ON CONFLICT (organization_id, key) DO UPDATE SET key = excluded.key
      RETURNING id`;
  return lanes.map((lane) => lane.id);
}

/** Like `advanceLane` for many lanes, skipping those a worker holds. If the first job of a lane stays the same, so does its pause. */
export async function advanceIdleLanes(tx: Tx, lane_ids: string[]): Promise<void> {
  await tx`
    WITH head AS (
      SELECT lanes.id, (SELECT jobs.account_id FROM jobs
               WHERE jobs.organization_id = lanes.organization_id AND jobs.lane = lanes.key
                 AND jobs.state IN ('queued', 'running') AND NOT jobs.parked ORDER BY jobs.id LIMIT 1) AS account_id
        FROM lanes WHERE lanes.id = ANY (${lane_ids}::uuid[])
         AND (lanes.locked_until IS NULL OR lanes.locked_until <= clock_timestamp())
    ), deleted AS (
      DELETE FROM lanes USING head WHERE lanes.id = head.id AND head.account_id IS NULL
    )
    UPDATE lanes SET account_id = head.account_id, ready_at = clock_timestamp()
      FROM head WHERE lanes.id = head.id AND head.account_id <> lanes.account_id`;
}
