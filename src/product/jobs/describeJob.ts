import type { JobDetails } from '../../model/dashboard/jobs.ts';
import type { Database } from '../../platform/db/database.ts';

type JobDescription = Omit<
  JobDetails,
  'emr' | 'changes' | 'event' | 'event_gone' | 'not_again' | 'related' | 'request_trace_id' | 'attempt_trace_id'
> & {
  connector: string;
  /** The spans of the request and of the last attempt. */
  traceparent: string | null;
  attempt_traceparent: string | null;
  event_id: string | null;
};

/** One job with everything stored about it, for the dashboard. Contains health data. */
export async function describeJob(
  db: Database,
  client_id: string,
  job_id: number,
): Promise<JobDescription | undefined> {
  const [job] = await db.read<JobDescription>(
    client_id,
    (sql) => sql`
      SELECT job.id AS job_id, job.type, CASE WHEN job.parked THEN 'parked' ELSE job.state END AS state,
        json_build_object('id', replace(account.id::text, '-', ''), 'user_id', account.user_id,
          'org_id', organization.org_id) AS account,
        account.status_reason AS account_reason, organization.connector, job.attempts,
        iso(job.created_at) AS created_at, iso(job.started_at) AS started_at, iso(job.finished_at) AS finished_at,
        job.parked_ms, job.error, job.error ->> 'code' AS error_code, job.event_id, job.run_again_of, job.review_outcome,
        CASE WHEN job.review_outcome IS NOT NULL THEN json_build_object('outcome', job.review_outcome,
          'note', job.review_note, 'by', job.reviewed_by, 'at', iso(job.reviewed_at)) END AS review,
        CASE WHEN job.parked THEN iso(job.parked_since) END AS parked_since,
        CASE WHEN head.id = job.id AND job.state = 'queued' THEN iso(lane.ready_at) END AS next_try_at,
        CASE WHEN head.id <> job.id AND job.state = 'queued' AND NOT job.parked THEN head.id END AS waits_for,
        replace(operation.id::text, '-', '') AS operation_id, operation.input,
        coalesce(operation.patient_mrn, (SELECT mrn FROM patients WHERE patients.id = operation.id)) AS patient_mrn,
        patient.ehr_id AS patient_ehr_id, CASE WHEN patient.id IS NOT NULL THEN json_build_object(
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
          'job_id', job.id, 'type', job.type, 'status', job.state, 'attempts', job.attempts,
          'created_at', iso(job.created_at), 'started_at', iso(job.started_at), 'finished_at', iso(job.finished_at),
          'error', job.error, 'event_id', replace(job.event_id::text, '-', ''),
          'timeline', (SELECT coalesce(jsonb_agg(jsonb_build_object('step', step.name, 'kind', step.kind,
              'attempt', step.attempt, 'at', iso(step.at), 'detail', step.detail) ORDER BY step.n), '[]')
            FROM job_steps AS step WHERE step.job_id = job.id)) AS doc, job.operation_id
        FROM jobs AS job WHERE job.id = ${job_id} AND job.account_id = ${account_id}) AS shown`,
  );
}
