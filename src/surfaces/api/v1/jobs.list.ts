import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import { cursorPaging, JobSummary, next } from '../../../model/activity.ts';
import { success, text } from '../../../model/fields.ts';
import { Job } from '../../../model/job.ts';
import { type ListedJob, listJobs } from '../../../product/jobs/listJobs.ts';

export default endpoint({
  id: 'jobs.list',
  surface: 'api',
  group: 'Jobs',
  method: 'GET',
  path: '/v1/jobs',
  auth: 'client',
  account_optional: true,
  // Rows contain nothing about a patient.
  audited: false,
  summary: 'List your jobs',
  agent_tool: true,
  description:
    'Returns the jobs of all your accounts, newest first. With `access_token` it returns those of one account. Contains no patient data; `GET /v1/jobs/{job_id}` returns the details.',
  query: Type.Object({
    status: Type.Optional(Job.properties.status),
    type: Type.Optional(text({ maxLength: 100, description: 'Only jobs of this type', examples: ['patient.create'] })),
    created_after: Type.Optional(
      Type.String({ format: 'date-time', description: 'Only jobs accepted at or after this time' }),
    ),
    created_before: Type.Optional(
      Type.String({ format: 'date-time', description: 'Only jobs accepted before this time' }),
    ),
    ...cursorPaging(
      text({ pattern: '^\\d{1,15}$', description: 'A `job_id`: returns older jobs', examples: ['1042'] }),
    ),
  }),
  response: Type.Object({ success, jobs: Type.Array(JobSummary, { description: 'The jobs, newest first' }), next }),
  example: { query: { status: 'failed' } },
  handle: async ({ ctx, client, account, query }) => {
    const { status, type, created_after, created_before, before, page_size } = query;
    const { rows, next } = await listJobs(ctx.db, client.id, {
      ...{ state: status, type, from: created_after, to: created_before, before, page_size },
      account_id: account?.id,
    });
    return { success: true, jobs: rows.map(summaryOf), next };
  },
});

function summaryOf({ state, parked, account, ...job }: ListedJob): JobSummary {
  const { reference_id: access_token_reference_id, user_id, org_id } = account;
  const { job_id, type, attempts, created_at, started_at, finished_at, error_code, run_again_of } = job;
  return {
    ...{ job_id, type, attempts, created_at, started_at, finished_at, error_code, run_again_of },
    status: state,
    waiting_for_relink: parked,
    ...{ access_token_reference_id, user_id, org_id },
  };
}
