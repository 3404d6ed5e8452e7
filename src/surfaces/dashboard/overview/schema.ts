import { type Static, Type } from 'typebox';
import { date_time, id, nullable, patientDetail, webhook_url } from '../../../model/fields.ts';
import { alert } from '../installation/schema.ts';

const words = patientDetail(nullable(Type.String()));

/** Jobs that failed for the same reason in the last seven days and were not run again. */
export const failure_group = Type.Object({
  code: Type.String(),
  /** Tells groups with the same code apart; a filter of the jobs page. */
  reason: Type.String(),
  jobs: Type.Integer(),
  /** How many of them can succeed if they are run again. */
  can_run: Type.Integer(),
  /** How many others can once their account is re-linked. */
  after_relink: Type.Integer(),
  types: Type.Array(Type.String()),
  org_ids: Type.Array(Type.String()),
  accounts: Type.Integer(),
  /** How many patients they are about; null if some are about none. */
  patients: nullable(Type.Integer()),
  /** The provider whom all of them name. */
  provider: nullable(Type.String()),
  first_at: date_time,
  last_at: date_time,
  /** The newest of them. */
  example: Type.Object({
    job_id: Type.Integer(),
    type: Type.String(),
    state: Type.Enum(['failed', 'partial']),
    org_id: Type.String(),
    finished_at: date_time,
  }),
});

/** The EMR of a practice that fails now. */
export const outage = Type.Object({
  organization_id: id,
  org_id: Type.String(),
  emr_name: Type.String(),
  emr_address: Type.String(),
  /** False: it responds, but fails for the jobs that are retried. */
  silent: Type.Boolean(),
  since: date_time,
  /** Jobs with a failed attempt, and all unfinished jobs. */
  retrying: Type.Integer(),
  waiting: Type.Integer(),
  /** Why the latest attempt failed, and which job shows more. */
  reason: words,
  job_id: nullable(Type.Integer()),
});

/** What needs an operator's attention. */
export const attention = Type.Object({
  outages: Type.Array(outage),
  failures: Type.Array(failure_group),
  accounts: Type.Array(
    Type.Object({
      id,
      user_id: Type.String(),
      org_id: Type.String(),
      /** The EMR's words. */
      reason: words,
      /** Jobs that wait for it. */
      parked: Type.Integer(),
    }),
  ),
  endpoints: Type.Array(
    Type.Object({
      id: Type.String(),
      url: webhook_url,
      status: Type.Enum(['enabled', 'disabled']),
      since: nullable(date_time),
      /** Why it was disabled, or the problem of its last attempt. */
      reason: patientDetail(Type.String()),
      /** Events that wait for it. */
      pending: Type.Integer(),
    }),
  ),
  /** Attempts to link that failed, by address and cause. The newest of each. */
  links: Type.Array(
    Type.Object({
      report_id: id,
      links: Type.Integer(),
      org_id: Type.String(),
      user_id: Type.String(),
      address: Type.String(),
      at: date_time,
      code: nullable(Type.String()),
      error_message: words,
      /** What the last request found. */
      note: words,
    }),
  ),
  /** Practices whose last sync failed, or whose running one makes no progress. */
  syncs: Type.Array(
    Type.Object({
      org_id: Type.String(),
      job_id: Type.Integer(),
      failed: Type.Boolean(),
      /** The record kind that it reads or could not read. */
      kind: nullable(Type.String()),
      code: nullable(Type.String()),
      reason: words,
      since: nullable(date_time),
      synced_at: nullable(date_time),
    }),
  ),
  reviews: Type.Array(Type.Object({ job_id: Type.Integer(), type: Type.String(), finished_at: date_time })),
  /** Other open alerts, of the client and of the installation. */
  alerts: Type.Array(alert),
});
export type Attention = Static<typeof attention>;

/** The current load of a client. */
export const client_load = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  queued: Type.Integer(),
  running: Type.Integer(),
  /** Jobs that wait for an account to be re-linked. */
  parked: Type.Integer(),
  needs_review: Type.Integer(),
  oldest_queued_at: nullable(date_time),
  /** Accounts that need to be re-linked. */
  relink: Type.Integer(),
});
export type ClientLoad = Static<typeof client_load>;

/** A recent restore from a backup, of the whole installation. `unfinished_jobs`: how many are looked up in the EMR. */
export const restore = Type.Object({ restored_at: date_time, backup_at: date_time, unfinished_jobs: Type.Integer() });
export type Restore = Static<typeof restore>;

/** How far a new client has got. */
export const first_steps = Type.Object({
  /** Its first write, and the event of that. */
  started_at: nullable(date_time),
  write: nullable(Type.Object({ job_id: Type.Integer(), state: Type.String(), finished_at: nullable(date_time) })),
  event: nullable(Type.Object({ id, type: Type.String(), delivered_at: nullable(date_time) })),
  has_secret: Type.Boolean(),
  has_account: Type.Boolean(),
  has_endpoint: Type.Boolean(),
});
export type FirstSteps = Static<typeof first_steps>;

const hidden = Type.Object({ count: Type.Integer(), troubled: Type.Integer() });

/** What passes through the service, now and in the last hour. `more`: the number is the highest that is counted. */
export const flow = Type.Object({
  requests: Type.Object({ total: Type.Integer(), failed: Type.Integer(), more: Type.Boolean() }),
  writes: Type.Object({ total: Type.Integer(), more: Type.Boolean() }),
  /** Those in trouble first. */
  practices: Type.Array(
    Type.Object({
      id,
      org_id: Type.String(),
      emr_name: Type.String(),
      /** Unfinished jobs, without those that wait for re-linking. */
      waiting: Type.Integer(),
      running: Type.Integer(),
      retrying: Type.Integer(),
      parked: Type.Integer(),
      oldest_at: nullable(date_time),
      /** Finished in the last hour. */
      succeeded: Type.Integer(),
      failed: Type.Integer(),
      relink: Type.Integer(),
      failing: nullable(Type.Object({ since: date_time, silent: Type.Boolean() })),
    }),
  ),
  practices_hidden: hidden,
  endpoints: Type.Array(
    Type.Object({
      id: Type.String(),
      url: webhook_url,
      status: Type.Enum(['enabled', 'disabled']),
      paused: Type.Boolean(),
      /** Since when it fails. */
      since: nullable(date_time),
      pending: Type.Integer(),
      /** In the last hour. */
      delivered: Type.Integer(),
    }),
  ),
  endpoints_hidden: hidden,
});
export type Flow = Static<typeof flow>;

/** `clients` includes the selected client. */
export const overview = Type.Object({
  attention,
  /** Jobs accepted in the last 24 hours that failed, or failed in part, and were not run again. */
  failed_day: Type.Integer(),
  partial_day: Type.Integer(),
  flow,
  /** Null once the client has written for a day. */
  first_steps: nullable(first_steps),
  clients: Type.Array(client_load),
  restore: nullable(restore),
});

/** The jobs that finished in one interval, and their duration since acceptance without waits for re-linking. */
export const history_bin = Type.Object({
  at: date_time,
  succeeded: Type.Integer(),
  partial: Type.Integer(),
  failed: Type.Integer(),
  needs_review: Type.Integer(),
  p50_s: nullable(Type.Number()),
  p95_s: nullable(Type.Number()),
});
export type HistoryBin = Static<typeof history_bin>;

/** The time ranges of the charts, with their number of bars. */
export const ranges = {
  '1h': { bins: 60, bin_s: 60, label: '1 hour' },
  '24h': { bins: 48, bin_s: 1800, label: '24 hours' },
  '7d': { bins: 56, bin_s: 10_800, label: '7 days' },
} as const;
export type Range = keyof typeof ranges;
