import { Type } from 'typebox';
import { type EventKinds, reasons } from './event.ts';

const synced = Type.Record(Type.String(), Type.Integer(), {
  description: 'Number of records of each kind',
  examples: [{ locations: 3, providers: 8, patients: 200 }],
});

export const account_events = {
  'sync.completed': {
    summary: 'A sync started with POST /v1/sync finished. The event includes the number of records of each kind.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'sync' },
    data: Type.Object({ org_id: Type.String(), records: synced }),
  },
  'sync.failed': {
    summary: 'A sync started with POST /v1/sync failed.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'sync', unlinks_account: true },
    data: Type.Object({
      org_id: Type.String(),
      failure_reason: Type.String({ examples: ['The EMR could not be reached for an hour.'] }),
      reasons,
    }),
  },
  login_required: {
    summary: 'The link to an EMR account has expired. Run Link in update mode; waiting jobs then resume.',
    has_job_id: false,
    has_account_reference: true,
    trigger: { request: 'read_after_expiry' },
    data: Type.Object({
      access_token_reference_id: Type.String(),
      user_id: Type.String(),
      org_id: Type.String(),
      emr_name: Type.String(),
      reason: Type.String({
        description: 'Why the link has expired',
        examples: ['The EMR requires a new one-time code.'],
      }),
    }),
  },
} as const satisfies EventKinds;
