import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import type { Job } from './jobs.ts';
import type { JobState, ReviewOutcome } from './states.ts';

/** A job with everything that decides whether it can be run again. */
export type RerunCandidate = Pick<
  Job,
  'id' | 'client_id' | 'organization_id' | 'account_id' | 'operation_id' | 'type' | 'lane' | 'input'
> & {
  state: JobState;
  review_outcome: ReviewOutcome | null;
  patient_mrn: string | null;
  /** Our id of that patient. */
  patient_id: string | null;
  connector: string;
  account_status: 'active' | 'login_required' | 'revoked';
  /** A later job of the same operation. */
  newer_job_id: number | null;
  uploaded: boolean;
  /** Whether its request was deleted after the retention period. */
  input_deleted: boolean;
  /** Whether a later operation of the same type for the same patient has succeeded or may still succeed. */
  superseded: boolean;
};

/** `lock` keeps others from running the job again until the transaction ends. */
export async function readRerunCandidate(
  tx: Tx,
  job_id: number,
  { lock }: { lock: boolean },
): Promise<RerunCandidate | undefined> {
  if (lock) await tx`SELECT FROM jobs WHERE id = ${job_id} FOR UPDATE`;
  const [job] = await tx<RerunCandidate[]>`
    SELECT job.id, job.client_id, job.organization_id, job.account_id, job.operation_id, job.type, job.lane, job.state,
           job.review_outcome, operation.input, operation.patient_mrn, organization.connector,
           account.status AS account_status,
           (SELECT id FROM patients WHERE client_id = job.client_id AND organization_id = job.organization_id
               AND mrn = operation.patient_mrn ORDER BY id LIMIT 1) AS patient_id,
           (SELECT max(newer.id) FROM jobs AS newer
             WHERE newer.operation_id = job.operation_id AND newer.id > job.id) AS newer_job_id,
           operation.input_deleted_at IS NOT NULL AS input_deleted,
           EXISTS (SELECT FROM uploads WHERE operation_id = job.operation_id) AS uploaded,
           EXISTS (${laterRuns(tx)}) AS superseded
      FROM jobs AS job JOIN operations AS operation ON operation.id = job.operation_id
      JOIN accounts AS account ON account.id = job.account_id
      JOIN organizations AS organization ON organization.id = job.organization_id
     WHERE job.id = ${job_id}`;
  return job;
}

/**
 * Whether a later change to the same patient comes before another run of an earlier one. `superseded` cannot show a
 * change that was being accepted while the run was queued. Asked when the run starts: what comes before it in their lane
 * is committed by then.
 */
export async function isOvertaken(db: Database, { id, client_id }: Pick<Job, 'id' | 'client_id'>): Promise<boolean> {
  const [row] = await db.read<{ overtaken: boolean }>(
    client_id,
    (sql) => sql`SELECT EXISTS (${laterRuns(sql)} AND run.id < job.id) AS overtaken
      FROM jobs AS job JOIN operations AS operation ON operation.id = job.operation_id WHERE job.id = ${id}`,
  );
  return row?.overtaken ?? false;
}

/** The runs of later operations of the same type for the patient of `operation` that have not failed. */
function laterRuns(sql: Query): Fragment {
  return sql`SELECT FROM operations AS later JOIN jobs AS run ON run.operation_id = later.id
     WHERE later.client_id = job.client_id AND later.patient_mrn = operation.patient_mrn
       AND later.organization_id = job.organization_id AND later.type = operation.type
       AND (later.created_at, later.id) > (operation.created_at, operation.id)
       AND run.state <> 'failed'`;
}
