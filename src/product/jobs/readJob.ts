import type { Database } from '../../platform/db/database.ts';

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
