import { type Static, type TSchema, Type } from 'typebox';
import { date_time, id, nullable } from './fields.ts';
import { Job } from './job.ts';

/** What an application sees of its own jobs, accounts and requests, without anything about patients. */

const account_fields = {
  access_token_reference_id: Type.String({
    description: 'Identifies the linked account. It does not change when the access token is rotated.',
    examples: ['at_ref_6f1d2c3b4a5968778695a4b3'],
  }),
  user_id: Type.String({ description: 'Your ID of the user who linked the account.', examples: ['user-1'] }),
  org_id: Type.String({ description: 'Your ID of the organization.', examples: ['sandbox-clinic'] }),
};

export const JobSummary = Type.Object({
  job_id: Job.properties.job_id,
  type: Job.properties.type,
  status: Job.properties.status,
  waiting_for_relink: Type.Boolean({
    description: 'The job is queued and resumes when the account is linked again.',
    examples: [false],
  }),
  ...account_fields,
  attempts: Job.properties.attempts,
  created_at: date_time,
  started_at: nullable(date_time),
  finished_at: nullable(date_time),
  error_code: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the job failed: a failure code. `GET /v1/jobs/{job_id}` also returns the message.',
    examples: [null],
  }),
  run_again_of: nullable(Type.Integer({ description: 'The earlier job that this one runs again.' })),
});
export type JobSummary = Static<typeof JobSummary>;

export const LinkedAccount = Type.Object({
  ...account_fields,
  emr: Type.String({ description: 'The `emr_name` that the account was linked with.' }),
  emr_name: Type.String({ description: 'The name of the EMR.' }),
  status: Type.Enum(['active', 'login_required', 'revoked'], {
    description: '`login_required`: requests are rejected and jobs wait until the account is linked again.',
    examples: ['active'],
  }),
  linked_at: date_time,
  last_sync: nullable(
    Type.Object({
      job_id: Type.Integer(),
      status: Job.properties.status,
      at: date_time,
    }),
  ),
  waiting_jobs: Type.Integer({ description: 'Jobs that resume when the account is linked again.', examples: [0] }),
});
export type LinkedAccount = Static<typeof LinkedAccount>;

export const LoggedRequest = Type.Object({
  request_id: id,
  at: date_time,
  endpoint: Type.String({ description: 'The operation ID of the endpoint.', examples: ['patients.list'] }),
  method: Type.String({ examples: ['GET'] }),
  status: Type.Integer({ description: 'The status code of the response.', examples: [200] }),
  duration_ms: Type.Integer({ examples: [12] }),
  error_code: nullable(Type.String({ description: 'The `code` of the error response.' })),
  access_token_reference_id: nullable(account_fields.access_token_reference_id),
});
export type LoggedRequest = Static<typeof LoggedRequest>;

/** Paging from the newest to the oldest: `before` takes the `next` of the previous page. */
export function cursorPaging<Cursor extends TSchema>(before: Cursor) {
  return {
    before: Type.Optional(before),
    page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
  };
}

export const next = nullable(
  Type.String({ description: 'The value of `before` for the next page. Null on the last page.' }),
);
