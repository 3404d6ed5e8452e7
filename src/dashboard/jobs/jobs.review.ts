import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { reviewJob } from '../../jobs/jobs.ts';
import { review_outcomes } from '../../model/dashboard/jobWords.ts';
import { success, text } from '../../model/fields.ts';
import { readJobId } from './readJobId.ts';

export default endpoint({
  id: 'dashboard.jobs.review',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/jobs/{job_id}/review',
  auth: 'operator_in_client',
  summary: 'Say what was found in the EMR about a write whose outcome is unknown',
  params: Type.Object({ client_id: Type.String(), job_id: Type.String() }),
  body: Type.Object({ outcome: Type.Enum([...review_outcomes]), note: text({ minLength: 1 }) }),
  response: Type.Object({ success }),
  errors: ['record_not_found', 'job_not_reviewable'],
  handle: async ({ ctx, params, body, operator, inTransaction, auditPatients }) => {
    const answer = await inTransaction(async (tx) => {
      auditPatients([await reviewJob(tx, readJobId(params.job_id), { ...body, by: operator.email })]);
      return { success: true };
    });
    ctx.notifications.notify('chartwire_live', 'jobs');
    return answer;
  },
});
