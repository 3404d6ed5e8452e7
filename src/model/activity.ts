import { type Static, type TSchema, Type } from 'typebox';
import { choices, id, nullable } from './fields.ts';
import { Job } from './job.ts';

/** What an application sees of its own jobs, accounts and requests. Only its own references can name a patient. */

const moment = (description: string) => Type.String({ format: 'date-time', description });

const account_fields = {
  access_token_reference_id: Type.String({
    description: 'Identifies the linked account; it does not change when the access token is rotated',
    examples: ['at_ref_6f1d2c3b4a5968778695a4b3'],
  }),
  user_id: Type.String({ description: 'Your ID for the user who linked the account', examples: ['user-1'] }),
  org_id: Type.String({ description: 'Your ID for the user’s organization', examples: ['practice-1'] }),
};

export const JobSummary = Type.Object(
  {
    job_id: Job.properties.job_id,
    type: Job.properties.type,
    reference: Job.properties.reference,
    status: Job.properties.status,
    waiting_for_relink: Type.Boolean({
      description: 'Whether the job is queued until the account is re-linked',
      examples: [false],
    }),
    ...account_fields,
    attempts: Job.properties.attempts,
    created_at: Job.properties.created_at,
    started_at: Job.properties.started_at,
    finished_at: Job.properties.finished_at,
    error_code: Type.Union([Type.String(), Type.Null()], {
      description: 'Failure code, null if the job did not fail; `GET /v1/jobs/{job_id}` also returns the message',
      examples: [null],
    }),
    run_again_of: nullable(Type.Integer({ description: 'ID of the earlier job that this one runs again' })),
  },
  { schema_name: 'JobSummary', description: 'A job in a list' },
);
export type JobSummary = Static<typeof JobSummary>;

export const LinkedAccount = Type.Object(
  {
    ...account_fields,
    emr: Type.String({ description: 'The `emr_name` that the account was linked with' }),
    emr_name: Type.String({ description: 'Name of the EMR product' }),
    status: choices(
      {
        active: 'Requests and jobs work',
        login_required: 'Requests are rejected and jobs wait until the account is re-linked',
        revoked: 'The account was unlinked',
      },
      { description: 'State of the link', examples: ['active'] },
    ),
    linked_at: moment('When the account was linked, or re-linked'),
    last_sync: Type.Union(
      [
        Type.Object(
          {
            job_id: Type.Integer({ description: 'ID of the sync’s job' }),
            status: Job.properties.status,
            at: moment('When the sync finished, or started if it is still running'),
            emr_requests: Type.Integer({
              description: 'Requests that the sync has sent to the EMR so far',
              examples: [48],
            }),
          },
          { schema_name: 'LastSync', description: 'The newest sync of the organization' },
        ),
        Type.Null(),
      ],
      { description: 'The newest sync of the organization; null before the first one' },
    ),
    waiting_jobs: Type.Integer({ description: 'Jobs that resume when the account is re-linked', examples: [0] }),
    practice_page_url: Type.String({
      description:
        'Page on which the person who linked the account sees how it is used, after signing in at the EMR, and can disconnect it',
      examples: ['https://chartwire.example.org/practice#account=01a1c5f0a4e87b21b3d94c6f7a8e9012'],
    }),
  },
  { schema_name: 'LinkedAccount', description: 'A linked EMR account, without its access token' },
);
export type LinkedAccount = Static<typeof LinkedAccount>;

export const LoggedRequest = Type.Object(
  {
    request_id: Type.String({ ...id, description: 'ID of the request, as in the header `x-request-id`' }),
    at: moment('When the request arrived'),
    endpoint: Type.String({ description: 'Operation ID of the endpoint', examples: ['patients.list'] }),
    method: Type.String({ description: 'HTTP method', examples: ['GET'] }),
    status: Type.Integer({ description: 'Status code of the response', examples: [200] }),
    duration_ms: Type.Integer({ description: 'How long the request took, in milliseconds', examples: [12] }),
    error_code: nullable(Type.String({ description: '`code` of the error response' })),
    access_token_reference_id: nullable(account_fields.access_token_reference_id),
  },
  { schema_name: 'LoggedRequest', description: 'A request in the request log, without its body and URL' },
);
export type LoggedRequest = Static<typeof LoggedRequest>;

/** Paging from the newest to the oldest: `before` takes the `next` of the previous page. */
export function cursorPaging<Cursor extends TSchema>(before: Cursor) {
  return {
    before: Type.Optional(before),
    page_size: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'Number of records per page' }),
    ),
  };
}

export const next = nullable(
  Type.String({ description: 'The value of `before` for the next page; null on the last page' }),
);
