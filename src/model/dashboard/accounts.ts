import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../fields.ts';

export const account_row = Type.Object({
  id,
  user_id: Type.String(),
  reference_id: Type.String(),
  status: Type.Enum(['active', 'login_required', 'revoked']),
  /** Why it needs a person, in words. */
  reason: nullable(Type.String()),
  emr_user_name: Type.String(),
  linked_at: date_time,
  /** Jobs that wait for the account to be linked again. */
  parked_jobs: Type.Integer(),
});
export type AccountRow = Static<typeof account_row>;

export const organisation_row = Type.Object({
  id,
  org_id: Type.String(),
  emr: Type.String(),
  emr_name: Type.String(),
  emr_address: Type.String(),
  timezone: Type.String(),
  /** What the newest sync has brought so far, kind by kind. */
  sync: nullable(
    Type.Object({
      job_id: Type.Integer(),
      state: Type.String(),
      at: date_time,
      kinds: Type.Array(Type.Object({ kind: Type.String(), records: Type.Integer(), at: date_time })),
    }),
  ),
  accounts: Type.Array(account_row),
});
export type OrganisationRow = Static<typeof organisation_row>;
