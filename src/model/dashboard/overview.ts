import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../fields.ts';

/** What a person has to see to. */
export const attention = Type.Object({
  accounts: Type.Array(
    Type.Object({ id, user_id: Type.String(), org_id: Type.String(), reason: nullable(Type.String()) }),
  ),
  endpoints: Type.Array(
    Type.Object({
      id: Type.String(),
      url: Type.String(),
      status: Type.Enum(['enabled', 'disabled']),
      since: nullable(date_time),
      reason: Type.String(),
    }),
  ),
  reviews: Type.Array(Type.Object({ job_id: Type.Integer(), type: Type.String(), finished_at: date_time })),
});
export type Attention = Static<typeof attention>;

/** How much waits for a client now, and since when. */
export const client_load = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  queued: Type.Integer(),
  running: Type.Integer(),
  /** Waits for an account to be linked again. */
  parked: Type.Integer(),
  needs_review: Type.Integer(),
  oldest_queued_at: nullable(date_time),
  /** Accounts that need a person. */
  relink: Type.Integer(),
});
export type ClientLoad = Static<typeof client_load>;

/** The client that is looked at is among all of them. */
export const overview = Type.Object({ attention, clients: Type.Array(client_load) });
export type Overview = Static<typeof overview>;

/** The jobs that ended within one stretch of time, and how long after they were accepted. */
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
