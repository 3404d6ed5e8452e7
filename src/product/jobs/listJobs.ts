import type { FailureCode } from '../../catalog/failures.ts';
import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import { limitTo } from '../../platform/db/fragments.ts';
import { editedCopy } from './editedCopies.ts';
import { type EditedCopy, isRestored, type Job, type JobFailure, type JobState, type ReviewOutcome } from './jobs.ts';

/**
 * State filters. A parked job is a queued job that waits for its account to be re-linked. `retrying` are queued or running
 * jobs whose earlier attempts have failed. `unfixed` are the failed and partial ones that were neither run again nor
 * corrected.
 */
export const job_filters = [
  'queued',
  'running',
  'retrying',
  'parked',
  'succeeded',
  'partial',
  'failed',
  'needs_review',
  'cancelled',
  'unresolved',
  'unfixed',
] as const;
export type JobFilter = (typeof job_filters)[number];

export type JobFilters = {
  type?: string | undefined;
  state?: JobFilter | undefined;
  account_id?: string | undefined;
  organization_id?: string | undefined;
  /** The connector of the practice's EMR. */
  emr?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  code?: string | undefined;
  /** See `reasonKey`. */
  reason?: string | undefined;
  /** The client's own reference. */
  reference?: string | undefined;
  finished_from?: string | undefined;
  finished_to?: string | undefined;
  /** The last job of the previous page. */
  before?: string | undefined;
  page_size?: number | undefined;
};

/** A job in a list, without patient data. */
export type ListedJob = {
  job_id: number;
  type: string;
  state: JobState;
  /** Whether the job waits for its account to be re-linked. */
  parked: boolean;
  account: { id: string; reference_id: string; user_id: string; org_id: string };
  attempts: number;
  /** Of a job that is retried: when its first attempt failed, and which write failed last, if it was one. */
  retrying_since: string | null;
  failing_step: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  /** How long it waited for its account to be re-linked. */
  parked_ms: number;
  error_code: string | null;
  review_outcome: ReviewOutcome | null;
  run_again_of: number | null;
};

/** A page of a client's jobs, newest first. `among` selects the ids to which the list is limited. */
export async function listJobs(
  db: Database,
  client_id: string,
  filters: JobFilters,
  among?: (sql: Query) => Fragment,
): Promise<{ rows: ListedJob[]; next: string | null }> {
  const { page_size = 50 } = filters;
  const rows = await db.search<ListedJob>(
    client_id,
    (sql) => sql`
      SELECT job.id AS job_id, job.type, job.state, job.parked,
             json_build_object('id', replace(account.id::text, '-', ''), 'reference_id', account.reference_id,
               'user_id', account.user_id, 'org_id', organization.org_id) AS account,
             job.attempts, ${retrying(sql)}, iso(job.created_at) AS created_at, iso(job.started_at) AS started_at,
             iso(job.finished_at) AS finished_at, job.parked_ms, job.error ->> 'code' AS error_code, job.review_outcome,
             job.run_again_of
        FROM (SELECT * FROM jobs WHERE ${matching(sql, client_id, filters)}
              ${among ? sql`AND id = ANY (ARRAY(${among(sql)}))` : sql``}
              ORDER BY created_at DESC, id DESC ${limitTo(sql, page_size + 1)}) AS job
        -- One look-up per row: a join read all of a thousand practices. The ids above are an array for the same reason.
        CROSS JOIN LATERAL (SELECT * FROM accounts WHERE accounts.id = job.account_id OFFSET 0) AS account
        CROSS JOIN LATERAL (
          SELECT org_id FROM organizations WHERE organizations.id = job.organization_id OFFSET 0) AS organization
       ORDER BY job.created_at DESC, job.id DESC`,
  );
  const page = rows.slice(0, page_size);
  return { rows: page, next: rows.length > page_size ? String(page.at(-1)?.job_id) : null };
}

/** Counts no further than this: it is counted again with every live update of the list. */
const counted_max = 1_000;

/** How many of a client's jobs match; `more` if there are more than that. */
export async function countJobs(
  db: Database,
  client_id: string,
  filters: JobFilters,
  among?: (sql: Query) => Fragment,
): Promise<{ jobs: number; more: boolean }> {
  const { before: _before, ...all } = filters;
  const [row] = await db.search<{ jobs: number }>(
    client_id,
    (sql) => sql`
      SELECT count(*)::int AS jobs FROM (
        SELECT FROM jobs WHERE ${matching(sql, client_id, all)}
          ${among ? sql`AND id = ANY (ARRAY(${among(sql)}))` : sql``} ${limitTo(sql, counted_max + 1)}) AS matches`,
  );
  const { jobs = 0 } = row ?? {};
  return { jobs: Math.min(jobs, counted_max), more: jobs > counted_max };
}

/** The columns `retrying_since` and `failing_step` of `job`. */
export function retrying(sql: Query): Fragment {
  const retries = sql`job.state IN ('queued', 'running') AND NOT job.parked AND job.retry_since IS NOT NULL`;
  return sql`CASE WHEN ${retries} THEN iso(job.retry_since) END AS retrying_since,
    -- The last write, if its outcome is unknown, or if the last failed attempt ended with it.
    CASE WHEN ${retries} THEN (
      SELECT CASE WHEN step.kind = 'intent' OR (step.detail ->> 'not_applied' IS NOT NULL AND step.attempt = (
               SELECT max(attempt) FROM job_steps AS note
                WHERE note.job_id = job.id AND note.kind = 'note' AND note.name = 'retry')) THEN step.name END
        FROM job_steps AS step WHERE step.job_id = job.id AND step.kind <> 'note' ORDER BY step.n DESC LIMIT 1)
    END AS failing_step`;
}

/** Contains only the filters in use, so that each combination is planned with its own index. */
function matching(sql: Query, client_id: string, filters: JobFilters): Fragment {
  const { type, state, account_id, organization_id, emr, code, reason, reference } = filters;
  const { from, to, finished_from, finished_to, before } = filters;
  return sql`client_id = ${client_id}
    ${type === undefined ? sql`` : sql`AND type = ${type}`}
    ${state === undefined ? sql`` : sql`AND ${inState(sql, state)}`}
    ${account_id === undefined ? sql`` : sql`AND account_id = ${account_id}`}
    ${organization_id === undefined ? sql`` : sql`AND ${ofAccounts(sql, sql`organization_id = ${organization_id}`)}`}
    ${emr === undefined ? sql`` : sql`AND ${ofAccounts(sql, sql`organization_id IN (SELECT id FROM organizations WHERE connector = ${emr})`)}`}
    ${from === undefined ? sql`` : sql`AND created_at >= ${from}::text::timestamptz`}
    ${to === undefined ? sql`` : sql`AND created_at < ${to}::text::timestamptz`}
    ${code === undefined ? sql`` : sql`AND ${failedWith(sql, code)}`}
    ${reason === undefined ? sql`` : sql`AND ${reasonKey(sql)} = ${reason}`}
    ${reference === undefined ? sql`` : sql`AND reference = ${reference}`}
    ${finished_from === undefined ? sql`` : sql`AND finished_at >= ${finished_from}::text::timestamptz`}
    ${finished_to === undefined ? sql`` : sql`AND finished_at < ${finished_to}::text::timestamptz`}
    ${
      before === undefined
        ? sql``
        : // The job itself may have been deleted: the list then continues after the one before it.
          sql`AND (created_at, id) < (coalesce((SELECT created_at FROM jobs WHERE id = ${before}::bigint),
            (SELECT created_at FROM jobs WHERE id < ${before}::bigint ORDER BY id DESC LIMIT 1)), ${before}::bigint)`
    }`;
}

/** There is no index of all jobs of an organization, but one of each of its accounts. */
function ofAccounts(sql: Query, condition: Fragment): Fragment {
  return sql`account_id = ANY (ARRAY(SELECT id FROM accounts WHERE ${condition}))`;
}

/** The state lists repeat the predicates of the partial indexes literally, or the planner would not use the indexes. */
function inState(sql: Query, state: JobFilter): Fragment {
  if (state === 'succeeded') return sql`state = 'succeeded'`;
  if (state === 'cancelled') return sql`state = 'cancelled'`;
  if (state === 'parked') return sql`parked`;
  if (state === 'queued' || state === 'running') {
    return sql`state IN ('queued', 'running') AND ${isState(sql)[state]} AND NOT parked`;
  }
  if (state === 'retrying') return isRetrying(sql);
  if (state === 'unfixed') return unfixed(sql);
  if (state === 'unresolved') return sql`${unsuccessful(sql)} AND state = 'needs_review' AND review_outcome IS NULL`;
  return sql`${unsuccessful(sql)} AND ${isState(sql)[state]}`;
}

/** In the text, not a parameter: with the value, which the planner counts twice, its plan looks cheaper than without. */
function isState(sql: Query) {
  return {
    queued: sql`state = 'queued'`,
    running: sql`state = 'running'`,
    partial: sql`state = 'partial'`,
    failed: sql`state = 'failed'`,
    needs_review: sql`state = 'needs_review'`,
  };
}

/**
 * Jobs that failed, at least in part, and were neither run again nor edited and sent again. If the edited copy fails, it
 * is listed in place of the job. A later sync of the organization replaces a failed one.
 */
export function unfixed(sql: Query): Fragment {
  return sql`${unsuccessful(sql)} AND state IN ('partial', 'failed')
    AND NOT EXISTS (SELECT FROM jobs AS newer WHERE newer.operation_id = jobs.operation_id AND newer.id > jobs.id)
    AND NOT EXISTS (SELECT FROM operations AS copy JOIN jobs AS run ON run.operation_id = copy.id
                     WHERE copy.edited_from_job_id = jobs.id AND run.state <> 'cancelled')
    AND (type <> 'sync' OR NOT EXISTS (SELECT FROM jobs AS newer
          WHERE newer.organization_id = jobs.organization_id AND newer.type = 'sync' AND newer.id > jobs.id
            AND newer.state = 'succeeded'))`;
}

/** Unfinished jobs that have failed at least once since they were accepted or their account was re-linked. */
export function isRetrying(sql: Query): Fragment {
  return sql`state IN ('queued', 'running') AND NOT parked AND retry_since IS NOT NULL`;
}

/** Each has one cause. Their reasons list what is in a patient's chart or schedule, which differs from job to job. */
const codes_of_one_cause: readonly FailureCode[] = [
  'patient_not_found',
  'patient_ambiguous',
  'duplicate_patient',
  'medication_not_found',
  'medication_ambiguous',
  'slot_taken',
  'document_infected',
  'scanner_unavailable',
  'login_required',
  'account_unlinked',
  'outcome_unknown',
  'internal',
];

/** Quoted values, words with digits, and names: words with a capital letter that do not start a lower-case sentence. */
const varying_words = `(?:^|[\\s(:])'[^']*'|"[^"]*"|“[^”]*”|\\S*\\d\\S*|\\s[A-Z]\\S*|^[A-Z]\\S*(?=\\s+[A-Z])`;

/**
 * Failed jobs with the same code and key have the same reason, apart from the values that the EMR repeats in it. Only
 * compared, never shown: the words that remain can still be about a patient.
 */
export function reasonKey(sql: Query): Fragment {
  return sql`CASE WHEN coalesce(error ->> 'code', 'internal') = ANY (${[...codes_of_one_cause]}::text[]) THEN ''
    ELSE to_hex(hashtextextended(regexp_replace(coalesce(error ->> 'message', ''), ${varying_words}, '', 'g'), 0)) END`;
}

/** A canceled job has this code and no other. */
function failedWith(sql: Query, code: string): Fragment {
  if (code === 'cancelled') return sql`state = 'cancelled'`;
  return sql`${unsuccessful(sql)} AND error ->> 'code' = ${code}`;
}

function unsuccessful(sql: Query): Fragment {
  return sql`state IN ('partial', 'failed', 'needs_review')`;
}

/** What a list leaves out: the patient, the failure reason, and the client's own reference, which may name the patient. */
export type JobPatient = { job_id: number; mrn: string | null; message: string | null; reference: string | null };

/** The patients, failure reasons and references of a client's jobs, in the given order. Contains health data. */
export function readJobPatients(db: Database, client_id: string, job_ids: readonly number[]): Promise<JobPatient[]> {
  return db.search<JobPatient>(
    client_id,
    (sql) => sql`
      SELECT job.id AS job_id, job.error ->> 'message' AS message, job.reference,
             coalesce(operation.patient_mrn, (SELECT mrn FROM patients WHERE patients.id = operation.id)) AS mrn
        FROM unnest(${[...job_ids]}::bigint[]) WITH ORDINALITY AS wanted (id, position)
        JOIN jobs AS job ON job.id = wanted.id
        JOIN operations AS operation ON operation.id = job.operation_id
       WHERE job.client_id = ${client_id} ORDER BY wanted.position`,
  );
}

/** A job with everything that decides whether it can be run again. */
export type RerunCandidate = Pick<
  Job,
  'id' | 'client_id' | 'organization_id' | 'account_id' | 'operation_id' | 'type' | 'lane' | 'input' | 'reference'
> & {
  state: JobState;
  error: JobFailure | null;
  review_outcome: ReviewOutcome | null;
  patient_mrn: string | null;
  /** Our id of that patient. */
  patient_id: string | null;
  connector: string;
  account_status: 'active' | 'login_required' | 'revoked';
  /** A later job of the same operation. */
  newer_job_id: number | null;
  /** The latest job of its edited copy. */
  edited_copy: EditedCopy | null;
  /** The steps of the operation that are saved in the EMR. */
  saved_steps: string[];
  uploaded: boolean;
  /** Whether its request was deleted after the retention period. */
  input_deleted: boolean;
  /** Whether a later operation of the same type for the same patient has succeeded or may still succeed. */
  superseded: boolean;
  /** Whether it was contained in the newest backup that was restored. */
  restored: boolean;
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
           job.reference, job.error, job.review_outcome, operation.input, operation.patient_mrn, organization.connector,
           account.status AS account_status,
           (SELECT id FROM patients WHERE client_id = job.client_id AND organization_id = job.organization_id
               AND mrn = operation.patient_mrn ORDER BY id LIMIT 1) AS patient_id,
           (SELECT max(newer.id) FROM jobs AS newer
             WHERE newer.operation_id = job.operation_id AND newer.id > job.id) AS newer_job_id,
           (${editedCopy(tx, tx`ARRAY[job.id]`)}) AS edited_copy,
           (SELECT coalesce(json_agg(DISTINCT step.name), '[]') FROM jobs AS run JOIN job_steps AS step ON step.job_id = run.id
             WHERE run.operation_id = job.operation_id AND step.kind = 'outcome'
               AND step.detail ->> 'not_applied' IS NULL) AS saved_steps,
           operation.input_deleted_at IS NOT NULL AS input_deleted,
           EXISTS (SELECT FROM uploads WHERE operation_id = job.operation_id) AS uploaded,
           EXISTS (${laterRuns(tx)}) AS superseded, ${isRestored(tx, tx`job.id`)} AS restored
      FROM jobs AS job JOIN operations AS operation ON operation.id = job.operation_id
      JOIN accounts AS account ON account.id = job.account_id
      JOIN organizations AS organization ON organization.id = job.organization_id
     WHERE job.id = ${job_id}`;
  return job;
}

/**
 * Whether a later change to the same patient comes before another run or an edited copy of an earlier one. `superseded`
 * cannot show a change that was being accepted while the run was queued. Asked when the run starts: what comes before it
 * in their lane is committed by then. While the run was parked, changes through other accounts may have overtaken it.
 */
export async function isOvertaken(db: Database, { id, client_id }: Pick<Job, 'id' | 'client_id'>): Promise<boolean> {
  const [row] = await db.read<{ overtaken: boolean }>(
    client_id,
    (sql) => sql`SELECT EXISTS (${laterRuns(sql)} AND (run.id < job.id OR run.finished_at IS NOT NULL)) AS overtaken
      FROM jobs AS job JOIN operations AS operation ON operation.id = job.operation_id WHERE job.id = ${id}`,
  );
  return row?.overtaken ?? false;
}

/**
 * The runs of later operations of the same type for the patient of `operation`, or if it names none, for its record, that
 * have neither failed nor been canceled. `job` is a run of `operation`. An edited copy has the values of the edited
 * request, so whatever is later than that request counts as later.
 */
export function laterRuns(sql: Query): Fragment {
  return sql`WITH RECURSIVE edited AS (
      SELECT operation.id, operation.created_at, operation.edited_from_job_id
      UNION ALL
      SELECT earlier.id, earlier.created_at, earlier.edited_from_job_id
        FROM edited JOIN jobs AS source ON source.id = edited.edited_from_job_id
        JOIN operations AS earlier ON earlier.id = source.operation_id AND earlier.patient_mrn = operation.patient_mrn
    ), same AS (
      SELECT id FROM operations WHERE client_id = job.client_id AND patient_mrn = operation.patient_mrn
      UNION ALL
      -- By the lane, where there is no MRN: of a visit that has none, or of a request that was deleted.
      SELECT operation_id FROM jobs AS other
       WHERE (operation.patient_mrn IS NULL OR operation.created_at < (
           SELECT inputs_deleted_through FROM clients WHERE clients.id = job.client_id))
         AND other.client_id = job.client_id AND other.type = operation.type
         AND other.created_at >= (SELECT min(created_at) FROM edited) AND other.organization_id = job.organization_id
         AND other.lane = job.lane
    )
    SELECT FROM operations AS later JOIN jobs AS run ON run.operation_id = later.id
     WHERE later.id IN (SELECT id FROM same) AND later.organization_id = job.organization_id
       AND later.type = operation.type
       AND (later.created_at, later.id) > (SELECT created_at, id FROM edited ORDER BY created_at, id LIMIT 1)
       AND later.id NOT IN (SELECT id FROM edited)
       AND run.state NOT IN ('failed', 'cancelled')`;
}
