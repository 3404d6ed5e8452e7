import type { Sql, Tx } from '../db/database.ts';
import type { Lease } from '../db/lease.ts';
import { holdLane, type Job, passLane, releaseJob } from './jobs.ts';

/** Work of an account that needs a person waits this long for one. */
export const parked_days_max = 14;

/**
 * Sets every waiting job of an account aside, until it is linked again. The lanes go on with the jobs of other
 * accounts; a lane that has none left goes away and comes back with `unparkJobs`. Lanes at work are left to their
 * workers, who find out by themselves.
 */
export async function parkJobs(tx: Tx, account_id: string): Promise<void> {
  // Lanes at work are not locked here: their holders may be committing, and each would wait for the other.
  const lanes = await tx<{ id: string }[]>`
    SELECT id FROM lanes WHERE account_id = ${account_id}
       AND (locked_until IS NULL OR locked_until <= clock_timestamp()) ORDER BY id FOR UPDATE`;
  await tx`UPDATE jobs SET parked = true, parked_since = coalesce(parked_since, now())
            WHERE account_id = ${account_id} AND state = 'queued' AND NOT parked`;
  await passIdleLanes(
    tx,
    lanes.map((lane) => lane.id),
  );
}

/**
 * Sets the job that a worker holds aside; its lane goes on with the next one. The account's row is locked first: a
 * person may be linking it at this moment, and a job parked after that would never be woken.
 */
export async function parkRunning(tx: Tx, lease: Lease, job: Job): Promise<void> {
  const [account] = await tx<{ status: string }[]>`SELECT status FROM accounts WHERE id = ${job.account_id} FOR SHARE`;
  // Linked meanwhile, it goes on; revoked meanwhile, its next try ends it.
  if (account?.status !== 'login_required') return releaseJob(tx, lease, job);
  await holdLane(tx, lease);
  await tx`UPDATE jobs SET state = 'queued', parked = true, parked_since = coalesce(parked_since, now())
            WHERE id = ${job.id}`;
  await passLane(tx, lease.id);
}

/** The account's jobs take their places again, in the order they were accepted. */
export async function unparkJobs(tx: Tx, account_id: string, parallel_max: number): Promise<void> {
  await replaceInLanes(
    tx,
    await tx`
    UPDATE jobs SET parked = false, parked_since = NULL, retries = 0, retry_since = NULL
     WHERE account_id = ${account_id} AND state = 'queued' AND parked RETURNING id`,
    parallel_max,
  );
}

/** Brings back one job that has waited too long: its next try ends it, for `parked_since` stays. */
export async function wakeExpired(tx: Tx, job_id: number, parallel_max: number): Promise<void> {
  await replaceInLanes(
    tx,
    await tx`UPDATE jobs SET parked = false WHERE id = ${job_id} AND state = 'queued' AND parked RETURNING id`,
    parallel_max,
  );
}

/** Jobs of any tenant that have been parked longer than they may be. */
export function findExpired(
  system: Sql,
  limit: number,
): Promise<{ id: number; client_id: string; connector: string }[]> {
  return system.pooled<{ id: number; client_id: string; connector: string }[]>`
    SELECT jobs.id, jobs.client_id, organizations.connector
      FROM jobs JOIN organizations ON organizations.id = jobs.organization_id
     WHERE parked AND parked_since < now() - make_interval(days => ${parked_days_max})
     ORDER BY parked_since LIMIT ${limit}`;
}

async function replaceInLanes(tx: Tx, jobs: Iterable<{ id?: number }>, parallel_max: number): Promise<void> {
  const ids = [...jobs].map((job) => Number(job.id));
  if (ids.length === 0) return;
  const lanes = await tx<{ id: string }[]>`
    INSERT INTO lanes (client_id, organization_id, account_id, key, parallel_max)
      SELECT DISTINCT ON (organization_id, lane) client_id, organization_id, account_id, lane, ${parallel_max}::integer
        FROM jobs WHERE id = ANY (${ids}) ORDER BY organization_id, lane, id
      ON CONFLICT (organization_id, key) DO UPDATE SET key = excluded.key
      RETURNING id`;
  await passIdleLanes(
    tx,
    lanes.map((lane) => lane.id),
  );
}

/** As `passLane`, for many lanes at once and none that a worker holds; one whose head stays keeps its pause. */
async function passIdleLanes(tx: Tx, lane_ids: string[]): Promise<void> {
  await tx`
    WITH head AS (
      SELECT lanes.id, (SELECT jobs.account_id FROM jobs
               WHERE jobs.organization_id = lanes.organization_id AND jobs.lane = lanes.key
                 AND jobs.state IN ('queued', 'running') AND NOT jobs.parked ORDER BY jobs.id LIMIT 1) AS account_id
        FROM lanes WHERE lanes.id = ANY (${lane_ids}::uuid[])
         AND (lanes.locked_until IS NULL OR lanes.locked_until <= clock_timestamp())
    ), gone AS (
      DELETE FROM lanes USING head WHERE lanes.id = head.id AND head.account_id IS NULL
    )
    UPDATE lanes SET account_id = head.account_id, ready_at = clock_timestamp()
      FROM head WHERE lanes.id = head.id AND head.account_id <> lanes.account_id`;
}
