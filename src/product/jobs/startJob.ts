import type { Batch } from '../../platform/db/batches.ts';
import type { Database, Fragment, Tx } from '../../platform/db/database.ts';
import { type Lease, LeaseLost } from '../../platform/db/lease.ts';
import { alone, type InProgress } from '../../platform/worker/worker.ts';
import { insertStarts, selectHistory } from './jobSteps.ts';
import type { Job, JobState } from './jobs.ts';
import { advanceLanes } from './lanes.ts';

/**
 * Starts the next job of a lane, together with those of the client's other lanes that were claimed at the same time.
 * Undefined if the lane is empty; it is deleted then.
 */
export async function startJob(db: Database, lease: Lease, in_progress: InProgress = alone): Promise<Job | undefined> {
  const job = await db.batchedOrAlone(lease.client_id, start_batch, lease, in_progress());
  if (job === 'lost') throw new LeaseLost();
  return job === 'idle' ? undefined : job;
}

const start_batch: Batch<Lease, Awaited<ReturnType<typeof startNextJobs>>[number]> = {
  max: 100,
  kind: 'transaction',
  run: (tx, _client_id, leases) => startNextJobs(tx, leases),
};

/**
 * Starts the job at the head of each lane (`start_jobs` in 0011_jobs.sql) and adds the start to its timeline. Returns
 * `idle` for a lane without a job, which is deleted, and `lost` for one that this worker no longer holds.
 */
export async function startNextJobs(tx: Tx, leases: readonly Lease[]): Promise<(Job | 'idle' | 'lost')[]> {
  const ids = leases.map(({ id }) => id);
  const fences = leases.map(({ fence }) => fence);
  // The second statement sees what the first one did, and what was committed while that waited for a lane.
  const [leased, started] = await Promise.all([
    tx<{ lane_id: string }[]>`
      SELECT lane_id FROM start_jobs(${ids}::uuid[], ${fences}::bigint[]) AS lane_id`,
    tx<(Job & { lane_id: string })[]>`
      WITH job AS MATERIALIZED (
        SELECT lanes.id AS lane_id, first.*
          FROM lanes JOIN unnest(${ids}::uuid[], ${fences}::bigint[]) AS lease (id, fence)
            ON lanes.id = lease.id AND lanes.fence = lease.fence CROSS JOIN LATERAL (
          SELECT * FROM jobs WHERE organization_id = lanes.organization_id AND lane = lanes.key
             AND state IN ('queued', 'running') AND NOT parked ORDER BY id LIMIT 1) AS first
         WHERE lanes.locked_until > clock_timestamp() AND first.state = 'running'
      ), step AS (
        ${insertStarts(tx)}
      )
      SELECT lane_id, ${jobColumns(tx)}
        FROM job`,
  ]);
  const leased_ids = new Set(leased.map(({ lane_id }) => lane_id));
  const jobs = new Map(started.map(({ lane_id, ...job }) => [lane_id, job]));
  const idle = ids.filter((id) => leased_ids.has(id) && !jobs.has(id));
  if (idle.length > 0) await advanceLanes(tx, idle);
  return ids.map((id) => (leased_ids.has(id) ? (jobs.get(id) ?? 'idle') : 'lost'));
}

/** The columns of a `Job` for each row of the CTE `job`. */
function jobColumns(tx: Tx): Fragment {
  return tx`id, client_id, organization_id, account_id, operation_id, type, lane, attempts, retries,
    run_again_of, traceparent, reference, extract(epoch FROM now() - retry_since)::float8 AS retrying_s,
    extract(epoch FROM now() - parked_since)::float8 AS parked_s,
    extract(epoch FROM now() - created_at)::float8 AS waited_s,
    (SELECT input FROM operations WHERE operations.id = operation_id) AS input,
    (SELECT edited_from_job_id IS NOT NULL FROM operations WHERE operations.id = operation_id) AS is_edited_copy,
    (SELECT emr_address FROM organizations WHERE organizations.id = job.organization_id) AS emr_address,
    EXISTS (SELECT FROM emr_outages WHERE emr_outages.account_id = job.account_id) AS during_outage,
    ${overtakes(tx)} AS overtakes,
    ${selectHistory(tx)} AS history`;
}

/** A job with its state, as its worker would see it. */
export type StoredJob = Job & { state: JobState; patient_mrn: string | null };

/** Reads a job that no worker has started by this. */
export async function readStoredJob(tx: Tx, job_id: number): Promise<StoredJob | undefined> {
  const [job] = await tx<StoredJob[]>`
    WITH job AS MATERIALIZED (SELECT * FROM jobs WHERE id = ${job_id})
    SELECT ${jobColumns(tx)}, state,
           (SELECT patient_mrn FROM operations WHERE operations.id = operation_id) AS patient_mrn FROM job`;
  return job;
}

/**
 * Locks a job that is still queued in the same lane, and none of whose steps has an intent; false if it is not. Its lane
 * is locked before. Only a queued job is locked: a finished one may be about to be run again, under a lock of its own.
 */
export async function lockUnsent(tx: Tx, { id, lane }: Pick<Job, 'id' | 'lane'>): Promise<boolean> {
  const [read] = await tx`SELECT FROM jobs WHERE id = ${id} AND state = 'queued' AND lane = ${lane}`;
  if (!read) return false;
  const [locked] = await tx`SELECT FROM jobs WHERE id = ${id} AND state = 'queued' AND lane = ${lane} FOR UPDATE`;
  const [intent] = await tx`SELECT FROM job_steps WHERE job_id = ${id} AND kind = 'intent' LIMIT 1`;
  return locked !== undefined && intent === undefined;
}

/**
 * Whether an earlier job of the patient still waits in the patient's own lane. The two are in different lanes if the
 * patient was synced while this one was being accepted, and therefore in the lane by MRN.
 */
function overtakes(tx: Tx): Fragment {
  return tx`job.lane LIKE 'mrn:%' AND EXISTS (
    SELECT FROM patients JOIN jobs AS earlier ON earlier.organization_id = patients.organization_id
       AND earlier.lane = 'patient:' || replace(patients.id::text, '-', '')
     WHERE patients.client_id = job.client_id AND patients.organization_id = job.organization_id
       AND patients.mrn = substr(job.lane, 5)
       AND earlier.state IN ('queued', 'running') AND NOT earlier.parked AND earlier.id < job.id)`;
}
