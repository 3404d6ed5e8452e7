import { type Static, Type } from 'typebox';
import { four_eyes_names } from '../../../catalog/fourEyes.ts';
import { date_time, id, nullable } from '../../../model/fields.ts';
import { approval_states, cancel_reasons } from '../../../product/operators/approvals.ts';

export const approval_row = Type.Object({
  id,
  action: Type.Enum([...four_eyes_names]),
  /** What the action does. */
  summary: Type.String(),
  client: nullable(Type.Object({ client_id: Type.String(), name: nullable(Type.String()) })),
  /** Whom or what it is about. */
  subject: nullable(Type.String()),
  /** The parameters and fields of the request, as they will run. */
  content: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
  /** Sent with the approval, so that what was seen is approved. */
  content_hash: Type.String(),
  state: Type.Enum([...approval_states]),
  requested_by: Type.String(),
  requested_at: date_time,
  expires_at: date_time,
  decided_by: nullable(Type.String()),
  decided_at: nullable(date_time),
  reason: nullable(Type.Enum([...cancel_reasons])),
  own: Type.Boolean(),
  can_decide: Type.Boolean(),
  can_run: Type.Boolean(),
  /** It returns a secret, so the operator who requested it runs it. */
  returns_secret: Type.Boolean(),
});
export type ApprovalRow = Static<typeof approval_row>;

export const decision = Type.Object({ content_hash: Type.String({ pattern: '^[0-9a-f]{64}$' }) });
