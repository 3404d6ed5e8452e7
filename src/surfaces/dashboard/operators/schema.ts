import { type Static, Type } from 'typebox';
import { client_roles, operator_roles } from '../../../catalog/roles.ts';
import { date_time, id, nullable } from '../../../model/fields.ts';

const role = Type.Enum([...operator_roles]);

const client_access = { client_id: Type.String({ maxLength: 100 }), role: Type.Enum([...client_roles]) };

/** What an operator may do, and where. */
export const operator_access = {
  /** The role in all clients. Without `all_clients`, the roles in `clients` apply instead. */
  role,
  all_clients: Type.Boolean(),
  clients: Type.Array(Type.Object({ id, ...client_access })),
  /** May reveal patient details that the role hides. */
  may_reveal: Type.Boolean(),
  /** May see who received data about a patient. */
  may_see_disclosures: Type.Boolean(),
  /** May place and lift legal holds. */
  may_hold: Type.Boolean(),
};

/** An operator's access as an owner sets it. `clients`: null for all clients. */
export const access_changes = {
  role: Type.Optional(role),
  clients: Type.Optional(
    nullable(Type.Array(Type.Object(client_access, { additionalProperties: false }), { minItems: 1, maxItems: 500 })),
  ),
  may_reveal: Type.Optional(Type.Boolean()),
  may_see_disclosures: Type.Optional(Type.Boolean()),
  may_hold: Type.Optional(Type.Boolean()),
};
const changed_access = Type.Object(access_changes);
export type AccessChanges = Static<typeof changed_access>;

export const operator_row = Type.Object({
  id,
  email: Type.String(),
  name: Type.String(),
  ...operator_access,
  /** Whether the operator has an authenticator app or a passkey. */
  second_factor: Type.Boolean(),
  /** Signs in at the identity provider, which also decides the role. */
  single_sign_on: Type.Boolean(),
  /** Until then, single sign-on with this email address takes the operator over. */
  sso_link_until: nullable(date_time),
  disabled: Type.Boolean(),
  /** Disabled because it was not used for OPERATOR_INACTIVE_DAYS. */
  inactive: Type.Boolean(),
  created_at: date_time,
  /** The last action, up to half a minute late. */
  seen_at: nullable(date_time),
});
export type OperatorRow = Static<typeof operator_row>;

/** An invitation that was not used yet. */
export const invitation_row = Type.Object({
  id,
  email: Type.String(),
  ...operator_access,
  invited_by: Type.String(),
  created_at: date_time,
  expires_at: date_time,
  expired: Type.Boolean(),
});

export const new_invitation = Type.Object({
  email: Type.String({ maxLength: 320, pattern: '^[^\\s@]+@[^\\s@]+$' }),
  ...access_changes,
  role,
});

/** The token is in the fragment of the link, which browsers do not send to servers. */
export const created_invitation = Type.Object({ id, link: Type.String(), expires_at: date_time });
