import { type Static, Type } from 'typebox';
import { date_time, id, nullable, patientDetail, webhook_url } from '../../../model/fields.ts';
import { alert } from '../installation/schema.ts';

/** Jobs that failed for the same reason in the last seven days and were not run again. */
export const failure_group = Type.Object({
  code: Type.String(),
  jobs: Type.Integer(),
  /** The newest of them. */
  example: Type.Object({ job_id: Type.Integer(), type: Type.String(), org_id: Type.String(), finished_at: date_time }),
});

/** What needs an operator's attention. */
export const attention = Type.Object({
  failures: Type.Array(failure_group),
  accounts: Type.Array(
    Type.Object({
      id,
      user_id: Type.String(),
      org_id: Type.String(),
      /** The EMR's words. */
      reason: patientDetail(nullable(Type.String())),
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

/** `clients` includes the selected client. */
export const overview = Type.Object({
  attention,
  /** Jobs accepted in the last 24 hours that failed and were not run again. */
  failed_day: Type.Integer(),
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
