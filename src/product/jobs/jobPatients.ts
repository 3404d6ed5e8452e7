import type { JobPatient } from '../../model/dashboard/jobs.ts';
import type { Database } from '../../platform/db/database.ts';

/** The patients and failure reasons of a client's jobs, in the given order. Contains health data. */
export function readJobPatients(db: Database, client_id: string, job_ids: readonly number[]): Promise<JobPatient[]> {
  return db.search<JobPatient>(
    client_id,
    (sql) => sql`
      SELECT job.id AS job_id, job.error ->> 'message' AS message,
             coalesce(operation.patient_mrn, (SELECT mrn FROM patients WHERE patients.id = operation.id)) AS mrn
        FROM unnest(${[...job_ids]}::bigint[]) WITH ORDINALITY AS wanted (id, position)
        JOIN jobs AS job ON job.id = wanted.id
        JOIN operations AS operation ON operation.id = job.operation_id
       WHERE job.client_id = ${client_id} ORDER BY wanted.position`,
  );
}
