import { type Static, Type } from 'typebox';
import { client_roles, operator_roles } from '../../catalog/roles.ts';
import { date_time, id, nullable } from '../fields.ts';

const url = Type.String({ maxLength: 2000 });

/** A secret as it is listed. Of older ones, only the time of creation is known. */
const client_key = Type.Object({
  id,
  last_four: nullable(Type.String()),
  label: nullable(Type.String()),
  created_by: nullable(Type.String()),
  created_at: date_time,
  /** Up to a minute late. */
  last_used_at: nullable(date_time),
});

/** The settings of a client. Secrets are shown only when they are created. */
export const client_settings = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  mode: Type.Enum(['live', 'test']),
  created_at: date_time,
  callback_urls: Type.Array(Type.String()),
  frame_origins: Type.Array(Type.String()),
  logo: nullable(Type.String()),
  colour: nullable(Type.String()),
  keys: Type.Array(client_key),
});
export type ClientSettings = Static<typeof client_settings>;

export const client_changes = Type.Object({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  callback_urls: Type.Optional(Type.Array(url, { maxItems: 50 })),
  frame_origins: Type.Optional(Type.Array(url, { maxItems: 50 })),
  /** A `data:` URL; null removes the logo. */
  logo: Type.Optional(nullable(Type.String({ maxLength: 90_000 }))),
  colour: Type.Optional(nullable(Type.String({ maxLength: 7 }))),
});
export type ClientChanges = Static<typeof client_changes>;

export const new_client = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100 }),
  mode: Type.Enum(['live', 'test']),
});

export const role = Type.Enum([...operator_roles]);

const client_access = { client_id: Type.String({ maxLength: 100 }), role: Type.Enum([...client_roles]) };

/** What an operator may do, and where. */
export const operator_access = {
  /** The role in all clients. Without `all_clients`, the roles in `clients` apply instead. */
  role,
  all_clients: Type.Boolean(),
  clients: Type.Array(Type.Object({ id, ...client_access })),
  /** May reveal patient details that the role hides. */
  may_reveal: Type.Boolean(),
};

/** An operator's access as an owner sets it. `clients`: null for all clients. */
export const access_changes = {
  role: Type.Optional(role),
  clients: Type.Optional(
    nullable(Type.Array(Type.Object(client_access, { additionalProperties: false }), { minItems: 1, maxItems: 500 })),
  ),
  may_reveal: Type.Optional(Type.Boolean()),
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
  created_at: date_time,
  /** The last activity of an open session. */
  seen_at: nullable(date_time),
});
export type OperatorRow = Static<typeof operator_row>;
