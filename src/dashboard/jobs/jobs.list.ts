import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { listJobs } from '../../jobs/listJobs.ts';
import { job_filter_fields, job_row } from '../../model/dashboard/jobs.ts';
import { nullable, success } from '../../model/fields.ts';
import { readJobFilters } from './readJobFilters.ts';

export default endpoint({
  id: 'dashboard.jobs.list',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/jobs',
  auth: 'operator_in_client',
  // Nothing of a patient is in a row.
  audited: false,
  summary: 'Jobs, newest first',
  params: Type.Object({ client_id: Type.String() }),
  query: Type.Object(job_filter_fields),
  response: Type.Object({ success, rows: Type.Array(job_row), next: nullable(Type.String()) }),
  errors: ['invalid_field'],
  handle: async ({ ctx, client, query }) => ({
    success: true,
    ...(await listJobs(ctx.db, client.id, readJobFilters(query))),
  }),
});
