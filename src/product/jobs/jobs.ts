import { apiError } from '../../catalog/errors.ts';
import type { FailureCode } from '../../catalog/failures.ts';
import type { Database, Fragment, Query, Sql, Tx } from '../../platform/db/database.ts';
import type { Lease } from '../../platform/db/lease.ts';
import type { InProgress } from '../../platform/worker/worker.ts';
import { editedCopy } from './editedCopies.ts';
import { checkLease, releaseLane, splitLane } from './lanes.ts';

/** A job as its worker sees it. `Input` is known to the handler of the job's type, which stored it. */
export type Job<Input = unknown> = {
  id: number;
  client_id: string;
  organization_id: string;
  account_id: string;
  operation_id: string;
  type: string;
  lane: string;
  attempts: number;
  retries: number;
  /** Seconds since the first of the consecutive failures, and since the job was first parked. */
  retrying_s: number | null;
  parked_s: number | null;
  waited_s: number;
  emr_address: string;
  /** Whether the latest attempts to reach the account's EMR have failed. */
  during_outage: boolean;
  /** Whether it must wait for an earlier job of the patient, in another lane. */
  overtakes: boolean;
  /** The job of the same operation that an operator runs again with this one. */
  run_again_of: number | null;
  /** Whether an operator has edited an earlier request and sent it with this job. */
  is_edited_copy: boolean;
  /** The client's own reference. */
  reference: string | null;
  /** The span that queued the job. */
  traceparent: string | null;
  /** The session of the account that this attempt uses. Set when the account is opened. */
  session?: UsedSession;
  /** The requests that this attempt has sent to the EMR, without those that `addEmrRequests` has stored. */
  requests?: number;
  input: Input;
  /** The steps of earlier attempts. */
  history: StepHistory;
};

/** A started job, and the lease of its lane: its worker changes it only while it holds the lane. */
export type ClaimedJob = { job: Job; lease: Lease; in_progress?: InProgress };

/** A session of an account as it is stored, and when the account was linked: as text, to keep the microseconds. */
export type UsedSession = { grant_sealed: Buffer; linked_at: string };

/**
 * What is known about a job's operation: its steps so far, null if there are none, and whether a backup contained it.
 */
export type StepHistory = { steps: StoredStep[] | null; restored: RestoredOperation | null };

/** A step of any job of an operation. `cleared`: a reviewer found that the job's writes were not done. */
export type StoredStep = {
  n: number;
  name: string;
  kind: 'note' | 'intent' | 'outcome';
  detail: Record<string, unknown> | null;
  data: Record<string, unknown> | null;
  cleared: boolean;
};

/** Why a job failed, as stored in its `error` column. */
export type JobFailure = { code: FailureCode; message: string; details?: Record<string, unknown> };

/**
 * Inserts a job for each row of the CTE `operation`, as described by the CTE `request`: in the earlier lane if it
 * exists or is being created, otherwise in its own. Ids follow the order of the requests.
 */
export function insertJobs(sql: Query): Fragment {
  return sql`
    INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, run_again_of, traceparent,
                      reference, lane)
      SELECT operation.client_id, request.organization_id, request.account_id, operation.id, request.type,
             request.run_again_of, request.traceparent, request.reference,
             coalesce((SELECT key FROM lanes WHERE lanes.client_id = operation.client_id
                AND lanes.organization_id = request.organization_id AND key = request.earlier_lane),
               CASE WHEN (request.organization_id, request.earlier_lane) IN (SELECT organization_id, lane FROM request)
                 THEN request.earlier_lane ELSE request.lane END)
        FROM operation JOIN request ON request.operation_id = operation.id ORDER BY request.position
      RETURNING id, client_id, organization_id, account_id, operation_id, lane`;
}

/** Why a job is attempted again, and after which pause. */
type Retry = { failure: JobFailure; pause_ms: number };

/** Returns the job to the queue for a retry. The whole lane waits for the pause, which keeps its order. */
export async function retryJob(tx: Tx, { job, lease }: ClaimedJob, { failure, pause_ms }: Retry): Promise<void> {
  await checkLease(tx, lease);
  await requeueFailed(tx, job, failure, job.lane);
  await releaseLane(tx, lease.id, pause_ms);
}

/** The same in a lane of its own. The lane it was in moves on to its next job. */
export async function retryApart(tx: Tx, claimed: ClaimedJob, retry: Retry): Promise<void> {
  const { job, lease } = claimed;
  const { failure, pause_ms } = retry;
  const key = `apart:${job.id}`;
  if (job.lane === key) return retryJob(tx, claimed, retry);
  await checkLease(tx, lease);
  await requeueFailed(tx, job, failure, key);
  await splitLane(tx, lease.id, { key, account_id: job.account_id, pause_ms });
}

async function requeueFailed(tx: Tx, job: Job, failure: JobFailure, lane: string): Promise<void> {
  await tx`UPDATE jobs SET state = 'queued', retries = retries + 1, retry_since = coalesce(retry_since, now()),
             error = ${JSON.stringify(failure)}::text::json, lane = ${lane} WHERE id = ${job.id}`;
}

/** Returns the job to the queue unchanged, for example when the process shuts down. */
export async function releaseJob(tx: Tx, { job, lease }: ClaimedJob, pause_ms = 0): Promise<void> {
  await checkLease(tx, lease);
  await tx`UPDATE jobs SET state = 'queued' WHERE id = ${job.id}`;
  await releaseLane(tx, lease.id, pause_ms);
}

/** Undoes the start of a job whose EMR hangs. The lane waits for the pause; the attempt does not count. */
export async function deferJob(tx: Tx, { job, lease }: ClaimedJob, pause_ms: number): Promise<void> {
  await checkLease(tx, lease);
  await tx`UPDATE jobs SET state = 'queued', attempts = attempts - 1,
             started_at = CASE WHEN attempts > 1 THEN started_at END WHERE id = ${job.id}`;
  await releaseLane(tx, lease.id, pause_ms);
}

/**
 * Stores further requests that a sync has sent to the EMR. Returns how many it has sent in its current hour, and how long
 * that lasts.
 */
export async function addEmrRequests(
  tx: Tx,
  job_id: number,
  requests: number,
): Promise<{ sent: number; left_ms: number }> {
  const current = tx`emr_hour_started_at > now() - interval '1 hour'`;
  const [hour] = await tx<{ sent: number; left_ms: number }[]>`
    UPDATE jobs SET emr_requests = coalesce(emr_requests, 0) + ${requests},
      emr_hour_requests = CASE WHEN ${current} THEN emr_hour_requests ELSE 0 END + ${requests},
      emr_hour_started_at = CASE WHEN ${current} THEN emr_hour_started_at ELSE now() END
    WHERE id = ${job_id}
    RETURNING emr_hour_requests AS sent,
      extract(epoch FROM emr_hour_started_at + interval '1 hour' - now())::float8 * 1000 AS left_ms`;
  return hour ?? { sent: 0, left_ms: 0 };
}

/** How a job ended. */
export type FinishedJob = { id: number; state: FinalState; error: JobFailure | null; event_id: string | null };

/** Ends jobs, whose lanes the caller has locked (`finish_jobs` in 0011_jobs.sql). */
export async function setFinished(tx: Tx, finished: readonly FinishedJob[]): Promise<void> {
  await tx`SELECT finish_jobs(${tx.json(finished)}::text::json)`;
}

/** Ends a locked job of the queue. */
export async function setCancelled(
  tx: Tx,
  { id }: Pick<Job, 'id'>,
  { failure, event_id }: { failure: JobFailure; event_id: string | null },
): Promise<void> {
  await tx`UPDATE jobs SET state = 'cancelled', finished_at = clock_timestamp(), event_id = ${event_id},
             error = ${JSON.stringify(failure)}::text::json, parked = false,
             parked_ms = CASE WHEN parked THEN ${parkedMs(tx)} ELSE parked_ms END WHERE id = ${id}`;
}

/** Parks the queued jobs of an account. */
export async function setQueuedParked(tx: Tx, account_id: string): Promise<void> {
  await tx`UPDATE jobs SET parked = true, parked_since = coalesce(parked_since, now())
            WHERE account_id = ${account_id} AND state = 'queued' AND NOT parked`;
}

/** Parks one running job. */
export async function setRunningParked(tx: Tx, job_id: number): Promise<void> {
  await tx`UPDATE jobs SET state = 'queued', parked = true, parked_since = coalesce(parked_since, now())
            WHERE id = ${job_id}`;
}

/** Unparks the jobs of an account with a fresh retry schedule. Returns their ids. */
export async function setUnparked(tx: Tx, account_id: string): Promise<number[]> {
  const jobs = await tx<{ id: number }[]>`
    UPDATE jobs SET parked = false, parked_ms = ${parkedMs(tx)}, parked_since = NULL, retries = 0, retry_since = NULL
     WHERE account_id = ${account_id} AND state = 'queued' AND parked RETURNING id`;
  return jobs.map(({ id }) => id);
}

/** Unparks one job and keeps `parked_since`, by which its next attempt fails. Returns its id if it was parked. */
export async function setExpiredUnparked(tx: Tx, job_id: number): Promise<number[]> {
  const jobs = await tx<{ id: number }[]>`
    UPDATE jobs SET parked = false, parked_ms = ${parkedMs(tx)} WHERE id = ${job_id} AND state = 'queued' AND parked RETURNING id`;
  return jobs.map(({ id }) => id);
}

/**
 * Records what an operator found in the EMR about a job whose outcome is unknown. It cannot be changed afterwards:
 * another run may rely on it. Returns the MRN of the patient.
 */
export async function reviewJob(
  tx: Tx,
  job_id: number,
  review: { outcome: ReviewOutcome; note: string; by: string },
): Promise<string | null> {
  const [reviewed] = await tx<{ patient_mrn: string | null }[]>`
    UPDATE jobs SET review_outcome = ${review.outcome}, review_note = ${review.note}, reviewed_by = ${review.by},
                    reviewed_at = now()
     WHERE id = ${job_id} AND state = 'needs_review' AND review_outcome IS NULL
    RETURNING (SELECT patient_mrn FROM operations WHERE operations.id = operation_id)`;
  if (reviewed) return reviewed.patient_mrn;
  const [existing] = await tx`SELECT FROM jobs WHERE id = ${job_id}`;
  throw existing ? apiError('job_not_reviewable') : apiError('record_not_found', { noun: 'Job', id: String(job_id) });
}

/**
 * Deletes what these operations' jobs contain of health data: their references, and the texts and details of their
 * errors. The codes stay.
 */
export async function clearJobTexts(tx: Tx, operation_ids: readonly string[]): Promise<void> {
  await tx`UPDATE jobs SET reference = NULL
            WHERE operation_id = ANY (${[...operation_ids]}::uuid[]) AND reference IS NOT NULL`;
  await tx`UPDATE jobs SET error = json_build_object('code', error ->> 'code', 'message', 'Deleted.'), review_note =
             CASE WHEN review_note IS NOT NULL THEN 'Deleted.' END
            WHERE operation_id = ANY (${[...operation_ids]}::uuid[]) AND (error IS NOT NULL OR review_note IS NOT NULL)`;
}

/** How long a parked job has waited for re-linking until now, in total. */
function parkedMs(tx: Tx): Fragment {
  return tx`parked_ms + (extract(epoch FROM clock_timestamp() - parked_since) * 1000)::bigint`;
}

/** Every legal transition between the states of a job; the database rejects any other. */
export const job_transitions = [
  ['queued', 'running'],
  // Waiting for a retry, parked until the account is re-linked, or released at shutdown.
  ['running', 'queued'],
  ['running', 'succeeded'],
  ['running', 'partial'],
  ['running', 'failed'],
  ['running', 'needs_review'],
  // Before anything was sent to the EMR.
  ['queued', 'cancelled'],
] as const;

export type JobState = (typeof job_transitions)[number][number];
export type FinalState = Exclude<JobState, 'queued' | 'running'>;
/** The latest job of the request that an operator has made from a failed one. */
export type EditedCopy = { job_id: number; state: JobState | 'parked' };
export const job_states = [...new Set(job_transitions.flat())];

/** What an operator found in the EMR about a write whose outcome is unknown. */
export const review_outcomes = ['done', 'not_done'] as const;
export type ReviewOutcome = (typeof review_outcomes)[number];

/**
 * What a client requested. Its id is returned to the client and is part of the marker that the EMR stores. `reference` is
 * the client's own one, which is stored with the job: another run of the operation can have another one.
 */
export type Operation = { id: string; type: string; input: unknown; reference: string | null };

/** Inserts the operations of the CTE `request`, except those whose key is not in the CTE `accepted`. */
export function insertOperations(sql: Query): Fragment {
  return sql`
    INSERT INTO operations (id, client_id, organization_id, account_id, type, input)
      SELECT operation_id, client_id, organization_id, account_id, type, input
        FROM request WHERE scope_id IS NULL OR operation_id IN (SELECT operation_id FROM accepted)
      RETURNING id, client_id`;
}

/** Replaces the input of an operation and returns its row. */
export function updateOperation(sql: Query, operation: Pick<Operation, 'id' | 'input'>): Fragment {
  return sql`
    UPDATE operations SET input = ${JSON.stringify(operation.input)}::text::json WHERE id = ${operation.id}
    RETURNING id, client_id`;
}

/** Links the operations whose jobs this transaction has queued to the failed job that they correct. Returns how many. */
export async function setEditedFrom(tx: Tx, client_id: string, job_id: number): Promise<number> {
  // What this transaction stored has its time, which another one may share.
  const linked = await tx`
    UPDATE operations SET edited_from_job_id = ${job_id} WHERE client_id = ${client_id} AND id IN (
      SELECT operation_id FROM jobs
       WHERE client_id = ${client_id} AND created_at = now() AND xmin = pg_current_xact_id()::xid)`;
  return linked.count;
}

/** Moves a locked job into another lane. */
export async function setLane(tx: Tx, job_id: number, lane: string): Promise<void> {
  await tx`UPDATE jobs SET lane = ${lane} WHERE id = ${job_id}`;
}

/** Gives the queued job of an operation the client's reference, unless it has one. */
export async function addReference(tx: Tx, operation_id: string, reference: string): Promise<void> {
  await tx`UPDATE jobs SET reference = ${reference}
    WHERE operation_id = ${operation_id} AND state = 'queued' AND reference IS NULL`;
}

/** Deletes the inputs of those operations that still have one. Returns their ids. */
export async function clearInputs(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const cleared = await tx<{ id: string }[]>`
    UPDATE operations SET input = '{}', input_deleted_at = now()
     WHERE id = ANY (${[...ids]}::uuid[]) AND input_deleted_at IS NULL RETURNING id`;
  return cleared.map(({ id }) => id);
}

/** A job as the client API returns it, with the MRNs of its patients for the audit log. */
export function readJob(db: Database, client_id: string, account_id: string, job_id: number) {
  return db.read<{ body: string; mrns: string[] }>(
    client_id,
    (sql) => sql`
      SELECT (jsonb_build_object('success', true, 'job', shown.doc) || shown.doc)::text AS body,
             -- A patient created by this operation has the operation's id.
             (SELECT array_remove(ARRAY[input ->> 'patient_mrn', input ->> 'mrn',
                       (SELECT mrn FROM patients WHERE patients.id = operations.id)], NULL)
                FROM operations WHERE operations.id = shown.operation_id) AS mrns
        FROM (
        SELECT jsonb_build_object(
          'job_id', job.id, 'type', job.type, 'reference', job.reference, 'status', job.state, 'attempts', job.attempts,
          'created_at', iso(job.created_at), 'started_at', iso(job.started_at), 'finished_at', iso(job.finished_at),
          'edited_from_job_id', operation.edited_from_job_id,
          'edited_copy_job_id', ((${editedCopy(sql, sql`ARRAY[job.id]`)}) ->> 'job_id')::bigint,
          'error', job.error, 'event_id', replace(job.event_id::text, '-', ''),
          'timeline', (SELECT coalesce(jsonb_agg(jsonb_build_object('step', step.name, 'kind', step.kind,
              'attempt', step.attempt, 'at', iso(step.at), 'detail', step.detail) ORDER BY step.n), '[]')
            FROM job_steps AS step WHERE step.job_id = job.id)) AS doc, job.operation_id
        FROM jobs AS job JOIN operations AS operation ON operation.id = job.operation_id
        WHERE job.id = ${job_id} AND job.account_id = ${account_id}) AS shown`,
  );
}

/** Clients know the ids of jobs accepted after the backup. These ids are skipped, so that no other job reuses one. */
const skipped_job_ids = 1_000_000;

/**
 * What is known about an operation that a restored backup contained. Steps up to `last_step` are from before the
 * backup. `reviewed`: since the restore, a person found that it was not saved in the EMR.
 */
export type RestoredOperation = { last_step: number; reviewed: boolean };

/**
 * Records that this database was restored, before the service uses it. From then on the jobs that it contains look up
 * their writes in the EMR. Runs as the owner of the tables.
 */
export async function insertRestore(owner: Sql, backup_at: Date, unfinished_jobs: number): Promise<void> {
  await owner.begin(async (tx) => {
    await tx`
      INSERT INTO restores (backup_at, unfinished_jobs, last_job_id, last_step)
      SELECT ${backup_at}, ${unfinished_jobs}, jobs.last_value, steps.last_value
        FROM jobs_id_seq AS jobs CROSS JOIN job_steps_n_seq AS steps`;
    await tx`SELECT setval('jobs_id_seq', last_value + ${skipped_job_ids}) FROM jobs_id_seq`;
  });
}

/** The jobs of all tenants that have not finished, without syncs. */
export async function countUnfinishedWrites(system: Sql): Promise<number> {
  const [row] = await system<{ n: number }[]>`
    SELECT count(*) AS n FROM jobs WHERE state IN ('queued', 'running') AND type <> 'sync'`;
  return row?.n ?? 0;
}

/** Whether a job is from before the newest restore: it may have been run again since the backup. */
export function isRestored(sql: Query, job_id: Fragment): Fragment {
  return sql`coalesce(${job_id} <= (SELECT last_job_id FROM restores ORDER BY id DESC LIMIT 1), false)`;
}

/** A `RestoredOperation` as JSON. Null if the operation was accepted after the newest restore, or if there was none. */
export function restoredOperation(sql: Query, operation_id: Fragment): Fragment {
  return sql`(
    SELECT json_build_object('last_step', restore.last_step, 'reviewed', operation.reviewed)
      FROM (SELECT last_job_id, last_step, restored_at FROM restores ORDER BY id DESC LIMIT 1) AS restore
        CROSS JOIN LATERAL (
          SELECT min(id) AS first_job_id,
                 bool_or(coalesce(review_outcome = 'not_done' AND reviewed_at > restore.restored_at, false)) AS reviewed
            FROM jobs WHERE jobs.operation_id = ${operation_id}) AS operation
     WHERE operation.first_job_id <= restore.last_job_id)`;
}
