import type { Database, Tx } from '../db/database.ts';
import { type Lease, LeaseLost } from '../db/lease.ts';
import type { FinalState } from './states.ts';

/** A job as its worker sees it. */
export type Job = {
  id: number;
  client_id: string;
  organization_id: string;
  account_id: string;
  operation_id: string;
  type: string;
  lane: string;
  attempts: number;
  retries: number;
  /** Seconds since the first of the failures in a row, and since the job was first parked. */
  retrying_s: number | null;
  parked_s: number | null;
  waited_s: number;
  /** When this try began, by the database's clock. */
  tried_at: Date;
  input: unknown;
};

export type JobProblem = { code: string; message: string; details?: Record<string, unknown> };

/** Locks the lane if this worker still holds it; everything that a worker commits passes here. */
export async function holdLane(tx: Tx, lease: Lease): Promise<{ organization_id: string; key: string }> {
  const [lane] = await tx<{ organization_id: string; key: string }[]>`
    SELECT organization_id, key FROM lanes
     WHERE id = ${lease.id} AND fence = ${lease.fence} AND locked_until > clock_timestamp() FOR UPDATE`;
  if (!lane) throw new LeaseLost();
  return lane;
}

/** The lane's next job, now running, or undefined when there is none; then the lane is gone too. */
export async function startHead(tx: Tx, lease: Lease): Promise<Job | undefined> {
  const lane = await holdLane(tx, lease);
  const [job] = await tx<Job[]>`
    UPDATE jobs SET state = 'running', attempts = attempts + 1, started_at = coalesce(started_at, now())
     WHERE id = (SELECT id FROM jobs WHERE organization_id = ${lane.organization_id} AND lane = ${lane.key}
                  AND state IN ('queued', 'running') AND NOT parked ORDER BY id LIMIT 1)
    RETURNING id, client_id, organization_id, account_id, operation_id, type, lane, attempts, retries,
      extract(epoch FROM now() - retry_since)::float8 AS retrying_s,
      extract(epoch FROM now() - parked_since)::float8 AS parked_s,
      extract(epoch FROM now() - created_at)::float8 AS waited_s, now() AS tried_at,
      (SELECT input FROM operations WHERE operations.id = operation_id) AS input`;
  if (!job) await tx`DELETE FROM lanes WHERE id = ${lease.id}`;
  return job;
}

/** Back to the queue, to be tried again after the pause; the lane waits with it, so that order holds. */
export async function retryJob(tx: Tx, lease: Lease, job: Job, pause_ms: number, problem: JobProblem): Promise<void> {
  await holdLane(tx, lease);
  await tx`UPDATE jobs SET state = 'queued', retries = retries + 1, retry_since = coalesce(retry_since, now()),
             error = ${JSON.stringify(problem)}::text::json WHERE id = ${job.id}`;
  await tx`UPDATE lanes SET locked_until = NULL, owner = NULL,
             ready_at = clock_timestamp() + ${pause_ms}::float8 * interval '1 millisecond' WHERE id = ${lease.id}`;
}

/** Back to the queue as it was: the process is going down. */
export async function releaseJob(tx: Tx, lease: Lease, job: Job): Promise<void> {
  await holdLane(tx, lease);
  await tx`UPDATE jobs SET state = 'queued' WHERE id = ${job.id}`;
  await tx`UPDATE lanes SET locked_until = NULL, owner = NULL, ready_at = clock_timestamp() WHERE id = ${lease.id}`;
}

/** Ends the job and hands the lane to the next one. */
export async function endJob(
  tx: Tx,
  lease: Lease,
  job: Job,
  end: { state: FinalState; error: JobProblem | null; event_id: string | null },
): Promise<void> {
  await holdLane(tx, lease);
  await tx`UPDATE jobs SET state = ${end.state}, finished_at = clock_timestamp(), event_id = ${end.event_id},
             error = ${end.error === null ? null : JSON.stringify(end.error)}::text::json WHERE id = ${job.id}`;
  await passLane(tx, lease.id);
}

/** The lane goes to its next job, whose account it then counts for, or away when it is empty. */
export async function passLane(tx: Tx, lane_id: string): Promise<void> {
  const [next] = await tx<{ account_id: string }[]>`
    SELECT jobs.account_id FROM lanes JOIN jobs ON jobs.organization_id = lanes.organization_id AND jobs.lane = lanes.key
     WHERE lanes.id = ${lane_id} AND jobs.state IN ('queued', 'running') AND NOT jobs.parked ORDER BY jobs.id LIMIT 1`;
  if (!next) await tx`DELETE FROM lanes WHERE id = ${lane_id}`;
  else
    await tx`UPDATE lanes SET account_id = ${next.account_id}, locked_until = NULL, owner = NULL,
               ready_at = clock_timestamp() WHERE id = ${lane_id}`;
}

/** What a client sees of one job of its account, and which patient it is about. */
export function readJob(db: Database, client_id: string, account_id: string, job_id: number) {
  return db.read<{ body: string; mrns: string[] }>(
    client_id,
    (sql) => sql`
      SELECT (jsonb_build_object('success', true, 'job', shown.doc) || shown.doc)::text AS body,
             -- Of a patient who was asked for by this very operation the cache knows the MRN.
             (SELECT array_remove(ARRAY[input ->> 'patient_mrn', input ->> 'mrn',
                       (SELECT mrn FROM patients WHERE patients.id = operations.id)], NULL)
                FROM operations WHERE operations.id = shown.operation_id) AS mrns
        FROM (
        SELECT jsonb_build_object(
          'job_id', job.id, 'type', job.type, 'status', job.state, 'attempts', job.attempts,
          'created_at', iso(job.created_at), 'started_at', iso(job.started_at), 'finished_at', iso(job.finished_at),
          'error', job.error, 'event_id', replace(job.event_id::text, '-', ''),
          'timeline', (SELECT coalesce(jsonb_agg(jsonb_build_object('step', step.name, 'kind', step.kind,
              'attempt', step.attempt, 'at', iso(step.at), 'detail', step.detail) ORDER BY step.n), '[]')
            FROM job_steps AS step WHERE step.job_id = job.id)) AS doc, job.operation_id
        FROM jobs AS job WHERE job.id = ${job_id} AND job.account_id = ${account_id}) AS shown`,
  );
}
