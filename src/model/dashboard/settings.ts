import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../fields.ts';
import { operator_roles } from './roles.ts';

const url = Type.String({ maxLength: 2000 });

/** The settings of a client. Secrets are shown only when they are created; later only their creation time is. */
export const client_settings = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  mode: Type.Enum(['live', 'test']),
  created_at: date_time,
  callback_urls: Type.Array(Type.String()),
  frame_origins: Type.Array(Type.String()),
  logo: nullable(Type.String()),
  colour: nullable(Type.String()),
  keys: Type.Array(Type.Object({ id, created_at: date_time })),
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

export const operator_row = Type.Object({
  id,
  email: Type.String(),
  name: Type.String(),
  role,
  /** Whether the operator has an authenticator app or a passkey. */
  second_factor: Type.Boolean(),
  disabled: Type.Boolean(),
  created_at: date_time,
  /** The last activity of an open session. */
  seen_at: nullable(date_time),
});
export type OperatorRow = Static<typeof operator_row>;
