import { Type } from 'typebox';
import { secret_access } from '../../../catalog/secretAccess.ts';
import { date_time, id, nullable, unclearable } from '../../../model/fields.ts';

const url = Type.String({ maxLength: 2000 });

/** A secret as it is listed. */
const client_key = Type.Object({
  id,
  last_four: Type.String(),
  label: nullable(Type.String()),
  created_by: nullable(Type.String()),
  created_at: date_time,
  expires_at: nullable(date_time),
  /** Up to a minute late. */
  last_used_at: nullable(date_time),
  access: Type.Enum([...secret_access]),
  /** The organization it is limited to. */
  org_id: nullable(Type.String()),
});

export const new_secret = Type.Object({
  label: Type.Optional(Type.String({ maxLength: 100 })),
  // A limit that is blank must not become no limit.
  access: unclearable(Type.Enum([...secret_access])),
  /** Need not be linked yet. */
  org_id: unclearable(Type.String({ minLength: 1, maxLength: 200 })),
  expires_at: unclearable(date_time),
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
  /** Where requests with its credentials may come from. Empty: anywhere. */
  allowed_networks: Type.Array(Type.String()),
  /** SHA-256 of the client certificates of which one must be presented. Empty: none. */
  certificate_fingerprints: Type.Array(Type.String()),
  keys: Type.Array(client_key),
});

export const client_changes = Type.Object({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  callback_urls: Type.Optional(Type.Array(url, { maxItems: 50 })),
  frame_origins: Type.Optional(Type.Array(url, { maxItems: 50 })),
  /** A `data:` URL; null removes the logo. */
  logo: Type.Optional(nullable(Type.String({ maxLength: 90_000 }))),
  colour: Type.Optional(nullable(Type.String({ maxLength: 7 }))),
  allowed_networks: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 200 })),
  /** Fingerprints, or certificates in PEM form. */
  certificate_fingerprints: Type.Optional(Type.Array(Type.String({ maxLength: 10_000 }), { maxItems: 20 })),
});

export const new_client = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100 }),
  mode: Type.Enum(['live', 'test']),
});
