import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseJobId } from '../../../catalog/ids.ts';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { Job } from '../../../model/job.ts';
import { readJob } from '../../../product/jobs/jobs.ts';

export default endpoint({
  id: 'jobs.get',
  surface: 'api',
  group: 'Jobs',
  method: 'GET',
  path: '/v1/jobs/{job_id}',
  auth: 'account',
  while_expired: true,
  summary: 'Retrieve a job',
  agent_tool: true,
  params: Type.Object({ job_id: Type.String({ description: 'The job_id of the request' }) }),
  response: Type.Object({ success, ...Job.properties, job: Job }),
  errors: ['record_not_found'],
  found_in: { job_id: 'sandbox#/job_id' },
  handle: async ({ ctx, account, params, auditPatients }) => {
    const job_id = parseJobId(params.job_id);
    const [row] = job_id === undefined ? [] : await readJob(ctx.db, account.client_id, account.id, job_id);
    if (!row) throw apiError('record_not_found', { noun: 'Job', id: params.job_id }, { field: 'job_id' });
    auditPatients(row.mrns);
    return new JsonText(row.body);
  },
});
