import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseJobId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { rerunJob } from '../../../product/writes/rerunJob.ts';

export default endpoint({
  id: 'jobs.run-again',
  surface: 'api',
  group: 'Jobs',
  method: 'POST',
  path: '/v1/jobs/{job_id}/run-again',
  auth: 'client',
  account_optional: true,
  summary: 'Run a job again',
  agent_tool: true,
  description:
    'Queues another run of a job that failed, as a new job with its own event. Nothing is written twice: completed steps are recognized in the EMR.',
  params: Type.Object({ job_id: Type.String() }),
  response: Type.Object({ success, job_id: Type.Integer({ description: 'The new job' }) }),
  errors: ['record_not_found', 'job_not_repeatable'],
  handle: async ({ ctx, client, account, params, inTransaction, auditPatients }) => {
    const job_id = parseJobId(params.job_id);
    if (job_id === undefined) throw apiError('record_not_found', { noun: 'Job', id: params.job_id });
    const response = await inTransaction(async (tx) => {
      const again = await rerunJob(ctx, tx, job_id, { of_account: account?.id });
      auditPatients([again.patient_mrn]);
      return { success: true, job_id: again.job_id };
    });
    ctx.notifications.notify('chartwire_jobs', client.id);
    return response;
  },
});
