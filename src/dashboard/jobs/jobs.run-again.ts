import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { rerunJob } from '../../writes/rerunJob.ts';
import { readJobId } from './readJobId.ts';

export default endpoint({
  id: 'dashboard.jobs.run-again',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/jobs/{job_id}/run-again',
  auth: 'operator_in_client',
  summary: 'Queue another run of a job that has ended',
  params: Type.Object({ client_id: Type.String(), job_id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, job_id: Type.Integer() }),
  errors: ['record_not_found', 'job_not_repeatable'],
  handle: async ({ ctx, params, inTransaction, auditPatients }) => {
    const answer = await inTransaction(async (tx) => {
      const { job_id, patient_mrn } = await rerunJob(ctx, tx, readJobId(params.job_id));
      auditPatients([patient_mrn]);
      return { success: true, job_id };
    });
    ctx.notifications.notify('chartwire_jobs');
    return answer;
  },
});
