import { csvLine } from '../../../platform/csv.ts';
import type { Database, Fragment, Query } from '../../../platform/db/database.ts';
import { editedCopy } from '../../../product/jobs/editedCopies.ts';
import {
  countJobs,
  type JobFilters,
  type JobPatient,
  listJobs,
  readJobPatients,
  retrying,
} from '../../../product/jobs/listJobs.ts';
import { jobsOfPatient } from '../../../product/writes/patients/patientLane.ts';
import type { JobDetails, JobRow } from './schema.ts';

/** Selects the ids to which a list is limited. */
type Among = (sql: Query) => Fragment;

/** A page of a client's jobs, newest first. */
export async function listRows(
  db: Database,
  client_id: string,
  filters: JobFilters,
  among?: Among,
): Promise<{ rows: JobRow[]; next: string | null }> {
  const { rows, next } = await listJobs(db, client_id, filters, among);
  const shown = rows.map(({ parked, ...row }): JobRow => {
    const { retrying_since } = row;
    return { ...row, state: parked ? 'parked' : retrying_since === null ? row.state : 'retrying' };
  });
  return { rows: shown, next };
}

/** The same with how many there are; null for further pages, which do not need it again. */
export async function listCounted(db: Database, client_id: string, filters: JobFilters, among?: Among) {
  const count = filters.before === undefined ? await countJobs(db, client_id, filters, among) : null;
  return { ...(await listRows(db, client_id, filters, among)), count };
}

const related_max = 5;

/** The latest jobs of a patient, except the runs of one request, which its page lists separately. */
export async function listRelated(
  db: Database,
  client_id: string,
  mrn: string,
  { runs }: Pick<JobDetails, 'runs'>,
): Promise<JobRow[]> {
  const page_size = related_max + runs.length;
  const { rows } = await listRows(db, client_id, { page_size }, (sql) => jobsOfPatient(sql, client_id, mrn));
  return rows.filter((row) => !runs.some((run) => run.job_id === row.job_id)).slice(0, related_max);
}

/** The file, about a megabyte, is complete before it is sent, because its patients must be in the audit log first. */
const exported_max = 5_000;
const export_page_size = 1_000;

const columns = [
  'job_id',
  'type',
  'state',
  'practice',
  'user',
  'mrn',
  'reference',
  'accepted_at',
  'started_at',
  'finished_at',
  'waited_for_relinking_ms',
  'attempts',
  'failure_code',
  'failure_reason',
] as const;

/** The newest jobs of a search as CSV, with the MRNs in it. */
export async function exportJobs(
  db: Database,
  client_id: string,
  filters: JobFilters,
  among?: Among,
): Promise<{ csv: string; jobs: number; mrns: (string | null)[] }> {
  const lines = [csvLine(columns)];
  const mrns: (string | null)[] = [];
  for (let before: string | null | undefined; before !== null && lines.length <= exported_max; ) {
    const page = await listRows(
      db,
      client_id,
      { ...filters, page_size: export_page_size, ...(before && { before }) },
      among,
    );
    const ids = page.rows.map(({ job_id }) => job_id);
    const patients = new Map((await readJobPatients(db, client_id, ids)).map((each) => [each.job_id, each]));
    for (const row of page.rows) {
      const patient = patients.get(row.job_id);
      mrns.push(patient?.mrn ?? null);
      lines.push(csvLine(toValues(row, patient).map((value) => String(value ?? ''))));
    }
    before = page.next;
  }
  return { csv: lines.join(''), jobs: lines.length - 1, mrns };
}

type JobDescription = Omit<
  JobDetails,
  | 'emr'
  | 'changes'
  | 'event'
  | 'event_gone'
  | 'not_again'
  | 'not_editable'
  | 'request'
  | 'existing_patient'
  | 'related'
  | 'request_trace_id'
  | 'attempt_trace_id'
> & {
  connector: string;
  /** The spans of the request and of the last attempt. */
  traceparent: string | null;
  attempt_traceparent: string | null;
  event_id: string | null;
};

/** One job with everything stored about it. Contains health data. */
export async function describeJob(
  db: Database,
  client_id: string,
  job_id: number,
): Promise<JobDescription | undefined> {
  const [job] = await db.read<JobDescription>(
    client_id,
    (sql) => sql`
      SELECT job.id AS job_id, job.type,
        CASE WHEN job.parked THEN 'parked' WHEN job.state IN ('queued', 'running') AND job.retry_since IS NOT NULL
          THEN 'retrying' ELSE job.state END AS state, ${retrying(sql)},
        operation.edited_from_job_id, (${editedCopy(sql, sql`ARRAY[job.id]`)}) AS edited_copy,
        json_build_object('id', replace(account.id::text, '-', ''), 'reference_id', account.reference_id, 'user_id', account.user_id,
          'org_id', organization.org_id) AS account,
        replace(job.organization_id::text, '-', '') AS organization_id,
        account.status_reason AS account_reason, organization.connector, job.attempts,
        iso(job.created_at) AS created_at, iso(job.started_at) AS started_at, iso(job.finished_at) AS finished_at,
        job.reference, job.emr_requests, job.parked_ms, job.error, job.error ->> 'code' AS error_code, job.event_id, job.run_again_of, job.review_outcome,
        CASE WHEN job.review_outcome IS NOT NULL THEN json_build_object('outcome', job.review_outcome,
          'note', job.review_note, 'by', job.reviewed_by, 'at', iso(job.reviewed_at)) END AS review,
        CASE WHEN job.parked THEN iso(job.parked_since) END AS parked_since,
        CASE WHEN head.id = job.id AND job.state = 'queued' THEN iso(lane.ready_at) END AS next_try_at,
        CASE WHEN head.id <> job.id AND job.state = 'queued' AND NOT job.parked THEN head.id END AS waits_for,
        replace(operation.id::text, '-', '') AS operation_id, operation.input,
        coalesce(operation.patient_mrn, (SELECT mrn FROM patients WHERE patients.id = operation.id)) AS patient_mrn,
        CASE WHEN patient.id IS NOT NULL THEN json_build_object(
          'organization_id', replace(job.organization_id::text, '-', ''),
          'id', replace(patient.id::text, '-', '')) END AS patient,
        (SELECT coalesce(json_agg(json_build_object('name', step.name, 'kind', step.kind, 'attempt', step.attempt,
            'at', iso(step.at), 'detail', step.detail) ORDER BY step.n), '[]')
          FROM job_steps AS step WHERE step.job_id = job.id) AS steps,
        job.traceparent, (SELECT step.data ->> 'traceparent' FROM job_steps AS step
          WHERE step.job_id = job.id AND step.kind = 'note' AND step.name = 'started'
          ORDER BY step.n DESC LIMIT 1) AS attempt_traceparent,
        (SELECT json_agg(json_build_object('job_id', run.id,
            'state', CASE WHEN run.parked THEN 'parked' ELSE run.state END, 'created_at', iso(run.created_at))
            ORDER BY run.id)
          FROM jobs AS run WHERE run.operation_id = job.operation_id) AS runs
        FROM jobs AS job
        JOIN operations AS operation ON operation.id = job.operation_id
        JOIN accounts AS account ON account.id = job.account_id
        JOIN organizations AS organization ON organization.id = job.organization_id
        LEFT JOIN lanes AS lane ON lane.organization_id = job.organization_id AND lane.key = job.lane
        LEFT JOIN LATERAL (SELECT patients.id, ehr_id FROM patients WHERE patients.client_id = job.client_id
            AND patients.organization_id = job.organization_id
            AND (patients.id = operation.id OR patients.mrn = operation.patient_mrn) LIMIT 1) AS patient ON true
        LEFT JOIN LATERAL (SELECT ahead.id FROM jobs AS ahead
          WHERE ahead.organization_id = job.organization_id AND ahead.lane = job.lane
            AND ahead.state IN ('queued', 'running') AND NOT ahead.parked ORDER BY ahead.id LIMIT 1) AS head ON true
       WHERE job.id = ${job_id}`,
  );
  return job;
}

/** The chart that the EMR named as a duplicate of a patient, and its record, if it is in the cache. */
export async function findChart(
  db: Database,
  client_id: string,
  { organization_id, error }: Pick<JobDetails, 'organization_id' | 'error'>,
): Promise<JobDetails['existing_patient']> {
  const mrn = Object(Object(error).details).duplicate_patient_mrn as unknown;
  if (typeof mrn !== 'string') return null;
  const [patient] = await db.read<{ id: string }>(
    client_id,
    (sql) => sql`SELECT replace(id::text, '-', '') AS id FROM patients
      WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND mrn = ${mrn} LIMIT 1`,
  );
  return { mrn, organization_id, id: patient?.id ?? null };
}

function toValues(row: JobRow, patient: JobPatient | undefined): (string | number | null)[] {
  const { mrn = null, reference = null, message = null } = patient ?? {};
  const { job_id, type, state, account, created_at, started_at, finished_at, parked_ms, attempts, error_code } = row;
  const times = [created_at, started_at, finished_at, parked_ms];
  return [
    job_id,
    type,
    state,
    account.org_id,
    account.user_id,
    mrn,
    reference,
    ...times,
    attempts,
    error_code,
    message,
  ];
}
