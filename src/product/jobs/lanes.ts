import type { Fragment, Query, Sql, Tx } from '../../platform/db/database.ts';
import { clock_tolerance_ms, type Lease, LeaseLost } from '../../platform/db/lease.ts';
import { retry } from '../../platform/worker/backoff.ts';

/**
 * A lane is the job queue of one patient (or of another record whose changes must be applied in order) in one
 * organization. It has a row while it has jobs that can run. platform/db/lease.ts claims the rows and extends their leases.
 */
export type LaneKey = { organization_id: string; key: string };

/**
 * Locks the lanes of these leases, in id order like all code that locks several. Undefined for each lane that this
 * worker no longer holds. Called before anything a worker commits.
 */
export async function lockLeases(tx: Tx, leases: readonly Lease[]): Promise<(LaneKey | undefined)[]> {
  const lanes = await tx<(LaneKey & { position: number })[]>`
    SELECT lease.position, lanes.organization_id, lanes.key
      FROM lanes JOIN unnest(${leases.map(({ id }) => id)}::uuid[], ${leases.map(({ fence }) => fence)}::bigint[])
             WITH ORDINALITY AS lease (id, fence, position) ON lanes.id = lease.id AND lanes.fence = lease.fence
     WHERE lanes.locked_until > clock_timestamp() ORDER BY lanes.id FOR UPDATE OF lanes`;
  const by_position = new Map(lanes.map(({ position, ...lane }) => [position, lane]));
  return leases.map((_, n) => by_position.get(n + 1));
}

/** Throws LeaseLost if this worker no longer holds the lane, which is locked otherwise. */
export async function checkLease(tx: Tx, lease: Lease): Promise<void> {
  const [lane] = await lockLeases(tx, [lease]);
  if (!lane) throw new LeaseLost();
}

/** Locks the existing lanes of the CTE `job`, in id order. */
export function lockLanes(sql: Query): Fragment {
  return sql`
    SELECT lanes.id FROM lanes
      JOIN job ON job.client_id = lanes.client_id AND job.organization_id = lanes.organization_id AND job.lane = lanes.key
     ORDER BY lanes.id FOR UPDATE OF lanes`;
}

/**
 * Creates the lanes of the CTE `job`, or locks them (the CTE `existing`): the no-op update ensures that either a worker
 * about to delete the empty lane sees the new job, or we see the deletion. A lane has the account of its first job.
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

/** Creates a lane for a job that was taken out of a lane, which moves on to its next job. */
export async function splitLane(
  tx: Tx,
  lane_id: string,
  { key, account_id, pause_ms }: { key: string; account_id: string; pause_ms: number },
): Promise<void> {
  await tx`
    INSERT INTO lanes (client_id, organization_id, account_id, key, parallel_max, ready_at)
      SELECT client_id, organization_id, ${account_id}, ${key}, parallel_max,
             clock_timestamp() + ${pause_ms}::float8 * interval '1 millisecond'
        FROM lanes WHERE id = ${lane_id}`;
  await advanceLanes(tx, [lane_id]);
}

/**
 * Ends the leases once the first jobs are gone: each lane moves on to its next job and that job's account, or is
 * deleted.
 */
export async function advanceLanes(tx: Tx, lane_ids: readonly string[]): Promise<void> {
  await tx`
    WITH ${selectHeads(tx, lane_ids)}, deleted AS (
      DELETE FROM lanes USING head WHERE lanes.id = head.id AND head.account_id IS NULL
    )
    UPDATE lanes SET account_id = head.account_id, locked_until = NULL, owner = NULL, ready_at = clock_timestamp()
      FROM head WHERE lanes.id = head.id AND head.account_id IS NOT NULL`;
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

/** A locked lane: whether no worker holds it, and its first job. */
type LockedLane = { id: string; idle: boolean; first_job_id: number | null };

/** Locks the lane of a job; undefined if it has none, because the job is parked. */
export async function lockLane(
  tx: Tx,
  { organization_id, lane }: { organization_id: string; lane: string },
): Promise<LockedLane | undefined> {
  const [locked] = await tx<{ id: string; idle: boolean }[]>`
    SELECT id, locked_until IS NULL OR locked_until <= clock_timestamp() AS idle
      FROM lanes WHERE organization_id = ${organization_id} AND key = ${lane} FOR UPDATE`;
  if (!locked) return undefined;
  const [first] = await tx<{ id: number }[]>`
    SELECT id FROM jobs WHERE organization_id = ${organization_id} AND lane = ${lane}
       AND state IN ('queued', 'running') AND NOT parked ORDER BY id LIMIT 1`;
  return { ...locked, first_job_id: first?.id ?? null };
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

/** Like `advanceLanes`, skipping those a worker holds. If the first job of a lane stays the same, so does its pause. */
export async function advanceIdleLanes(tx: Tx, lane_ids: readonly string[]): Promise<void> {
  await tx`
    WITH ${selectHeads(tx, lane_ids, tx`AND (lanes.locked_until IS NULL OR lanes.locked_until <= clock_timestamp())`)},
    deleted AS (
      DELETE FROM lanes USING head WHERE lanes.id = head.id AND head.account_id IS NULL
    )
    UPDATE lanes SET account_id = head.account_id, ready_at = clock_timestamp()
      FROM head WHERE lanes.id = head.id AND head.account_id <> lanes.account_id`;
}

/** The longest pause before the first attempt of a job: a destination that hangs is set aside for a minute. */
const first_pause_max_ms = 60_000;

/**
 * Ends pauses that are longer than any can be. They were set by a database server whose clock was ahead. Before its
 * first failure, a job waits for a minute at most; after one, up to an hour, if its EMR asked for that. A failure that
 * lies in the future shows that the earlier clock set its pause. Returns how many lanes are ready now.
 */
export async function boundLanePauses(system: Sql): Promise<number> {
  const sql = system.pooled;
  const after = (ms: number) => sql`clock_timestamp() + ${ms + clock_tolerance_ms}::float8 * interval '1 millisecond'`;
  const bounded = await sql`
    UPDATE lanes SET ready_at = clock_timestamp()
     WHERE id IN (SELECT lanes.id FROM lanes LEFT JOIN LATERAL (
                    SELECT jobs.retry_since FROM jobs
                     WHERE jobs.organization_id = lanes.organization_id AND jobs.lane = lanes.key
                       AND jobs.state IN ('queued', 'running') AND NOT jobs.parked ORDER BY jobs.id LIMIT 1) AS head ON true
                   WHERE lanes.ready_at > ${after(first_pause_max_ms)}
                     AND (lanes.locked_until IS NULL OR lanes.locked_until <= clock_timestamp())
                     AND (head.retry_since IS NULL OR head.retry_since > ${after(0)}
                          OR lanes.ready_at > ${after(retry.total_ms)})
                   ORDER BY lanes.id FOR UPDATE OF lanes SKIP LOCKED)`;
  return bounded.count;
}

/** The CTE `head`: the lanes with the account of their first job, which is null in an empty lane. */
function selectHeads(sql: Query, lane_ids: readonly string[], condition: Fragment = sql``): Fragment {
  return sql`head AS MATERIALIZED (
      SELECT lanes.id, (SELECT jobs.account_id FROM jobs
               WHERE jobs.organization_id = lanes.organization_id AND jobs.lane = lanes.key
                 AND jobs.state IN ('queued', 'running') AND NOT jobs.parked ORDER BY jobs.id LIMIT 1) AS account_id
        FROM lanes WHERE lanes.id = ANY (${[...lane_ids]}::uuid[]) ${condition}
    )`;
}
