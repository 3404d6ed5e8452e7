import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseJobId } from '../../../catalog/ids.ts';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { cursorPaging, JobSummary, LoggedRequest, next } from '../../../model/activity.ts';
import { choices, id, success, text } from '../../../model/fields.ts';
import { Job, reference } from '../../../model/job.ts';
import { listRequests } from '../../../product/audit/requests.ts';
import { readJob } from '../../../product/jobs/jobs.ts';
import { type ListedJob, listJobs, readJobPatients } from '../../../product/jobs/listJobs.ts';
import { type CancelledJob, cancelJob } from '../../../product/writes/cancelJob.ts';
import { rerunJob } from '../../../product/writes/rerunJob.ts';
import { for_reads, for_writes } from '../limitedSecrets.ts';

export const jobsList = endpoint({
  id: 'jobs.list',
  surface: 'api',
  group: 'Jobs',
  method: 'GET',
  path: '/v1/jobs',
  auth: 'client',
  limited_secrets: for_reads,
  account_optional: true,
  summary: 'List your jobs',
  agent_tool: true,
  description:
    'Returns the jobs of all your accounts, newest first. With `access_token` it returns those of one account. `GET /v1/jobs/{job_id}` returns the details.',
  query: Type.Object({
    status: Type.Optional(Job.properties.status),
    type: Type.Optional(text({ maxLength: 100, description: 'Only jobs of this type', examples: ['patient.create'] })),
    reference: Type.Optional({ ...reference, description: 'Only jobs whose request had this `reference`' }),
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
  handle: async ({ ctx, client, account, query, auditPatients }) => {
    const { status, type, reference, created_after, created_before, before, page_size } = query;
    const { rows, next } = await listJobs(ctx.db, client.id, {
      ...{ state: status, type, reference, from: created_after, to: created_before, before, page_size },
      account_id: account?.id,
    });
    const patients = await readJobPatients(
      ctx.db,
      client.id,
      rows.map(({ job_id }) => job_id),
    );
    const referenced = new Map(patients.flatMap((each) => (each.reference === null ? [] : [[each.job_id, each]])));
    auditPatients([...referenced.values()].map(({ mrn }) => mrn));
    const jobs = rows.map((row) => toSummary(row, referenced.get(row.job_id)?.reference ?? null));
    return { success: true, jobs, next };
  },
});

function toSummary({ state, parked, account, ...job }: ListedJob, reference: string | null): JobSummary {
  const { reference_id: access_token_reference_id, user_id, org_id } = account;
  const { job_id, type, attempts, created_at, started_at, finished_at, error_code, run_again_of } = job;
  return {
    ...{ job_id, type, attempts, created_at, started_at, finished_at, error_code, run_again_of },
    ...{ reference, status: state },
    waiting_for_relink: parked,
    ...{ access_token_reference_id, user_id, org_id },
  };
}

export const jobsGet = endpoint({
  id: 'jobs.get',
  surface: 'api',
  group: 'Jobs',
  method: 'GET',
  path: '/v1/jobs/{job_id}',
  auth: 'account',
  limited_secrets: for_reads,
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

export const jobsRunAgain = endpoint({
  id: 'jobs.run-again',
  surface: 'api',
  group: 'Jobs',
  method: 'POST',
  path: '/v1/jobs/{job_id}/run-again',
  auth: 'client',
  limited_secrets: for_writes,
  account_optional: true,
  // Not offered to AI agents: the job may be a payment, or another write that is not.
  summary: 'Run a job again',
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

export const jobsCancel = endpoint({
  id: 'jobs.cancel',
  surface: 'api',
  group: 'Jobs',
  method: 'POST',
  path: '/v1/jobs/{job_id}/cancel',
  auth: 'client',
  limited_secrets: for_writes,
  account_optional: true,
  summary: 'Cancel a job',
  description:
    'Ends a job that waits and has sent nothing to the EMR. Its event reports the failure with the code `cancelled`. What is in the EMR is never undone: a job that has started is 409 `job_started`.',
  params: Type.Object({ job_id: Type.String() }),
  response: Type.Object({
    success,
    job_id: Type.Integer(),
    status: Type.Literal('cancelled', { description: 'The state of the job: always `cancelled`' }),
  }),
  errors: ['record_not_found', 'job_started'],
  handle: async ({ ctx, account, params, inTransaction, auditPatients, auditSubject }) => {
    const job_id = parseJobId(params.job_id);
    if (job_id === undefined) throw apiError('record_not_found', { noun: 'Job', id: params.job_id });
    let cancelled: CancelledJob | undefined;
    const response = await inTransaction(async (tx) => {
      cancelled = await cancelJob(ctx, tx, job_id, { of_account: account?.id });
      auditPatients([cancelled.patient_mrn]);
      auditSubject({ subject: cancelled.operation_id, job_id });
      return { success: true, job_id, status: 'cancelled' as const };
    });
    cancelled?.committed();
    return response;
  },
});

export const requestsList = endpoint({
  id: 'requests.list',
  surface: 'api',
  group: 'Jobs',
  method: 'GET',
  path: '/v1/requests',
  auth: 'client',
  limited_secrets: for_reads,
  account_optional: true,
  // Logged requests contain neither bodies nor URLs, so no health data.
  audited: false,
  summary: 'List your requests',
  agent_tool: true,
  description:
    'Returns the requests that you sent, newest first, without bodies and URLs. A request appears within a second of its response.',
  query: Type.Object({
    request_id: Type.Optional(Type.String({ ...id, description: 'Only the request with this ID' })),
    endpoint: Type.Optional(
      text({ maxLength: 100, description: 'Only requests to this operation', examples: ['patients.create'] }),
    ),
    status: Type.Optional(
      choices(
        { '2xx': 'Successful', '4xx': 'Rejected', '5xx': 'Failed in the service', failed: '4xx or 5xx' },
        { description: 'Only requests with this kind of response', examples: ['failed'] },
      ),
    ),
    ...cursorPaging(text({ pattern: '^[0-9a-f]{32}$', description: 'A `request_id`: returns older requests' })),
  }),
  response: Type.Object({
    success,
    requests: Type.Array(LoggedRequest, { description: 'The requests, newest first' }),
    next,
  }),
  handle: async ({ ctx, client, account, query: { request_id, ...search } }) => {
    const page = await listRequests(ctx, {
      ...search,
      id: request_id,
      account_id: account?.id,
      scope: [client.id],
    });
    return {
      success: true,
      requests: page.rows.map(({ id, at, endpoint, method, status, duration_ms, code, account }) => ({
        request_id: id,
        ...{ at, endpoint, method, status, duration_ms },
        error_code: code,
        access_token_reference_id: account,
      })),
      next: page.next,
    };
  },
});
