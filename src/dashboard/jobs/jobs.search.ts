import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { listJobs } from '../../jobs/listJobs.ts';
import { job_filter_fields, job_row } from '../../model/dashboard/jobs.ts';
import { nullable, success } from '../../model/fields.ts';
import { jobsOfPatient } from '../../writes/patients/jobsOfPatient.ts';
import { readJobFilters } from './readJobFilters.ts';

/** By POST although it only reads: an MRN does not stand in an address. */
export default endpoint({
  id: 'dashboard.jobs.search',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/jobs/search',
  auth: 'operator_in_client',
  role: 'read_only',
  summary: 'Jobs that concern a patient, newest first',
  params: Type.Object({ client_id: Type.String() }),
  body: Type.Object({ mrn: Type.String({ minLength: 1, maxLength: 200 }), ...job_filter_fields }),
  response: Type.Object({ success, rows: Type.Array(job_row), next: nullable(Type.String()) }),
  errors: ['invalid_field'],
  handle: async ({ ctx, client, body: { mrn, ...filters }, auditPatients }) => {
    auditPatients([mrn]);
    const found = await listJobs(ctx.db, client.id, readJobFilters(filters), (sql) =>
      jobsOfPatient(sql, client.id, mrn),
    );
    return { success: true, ...found };
  },
});
