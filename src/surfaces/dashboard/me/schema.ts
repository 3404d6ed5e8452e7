import { Type } from 'typebox';
import { nullable, text } from '../../../model/fields.ts';
import { session_methods } from '../../../product/operators/operators.ts';
import { base64url, credential_id } from '../sign-in/schema.ts';

/** One of an operator's own sessions. */
export const session_row = Type.Object({
  id: Type.String(),
  address: Type.String(),
  user_agent: Type.String(),
  method: Type.Enum([...session_methods]),
  created_at: Type.String(),
  seen_at: Type.String(),
  current: Type.Boolean(),
});

export const passkey_row = Type.Object({
  id: Type.String(),
  name: Type.String(),
  created_at: Type.String(),
  used_at: nullable(Type.String()),
});

/** A passkey that a browser has created; the binary values are base64url. */
export const passkey_registration = Type.Object({
  id: credential_id,
  client_data: base64url(4_000),
  attestation: base64url(20_000),
  transports: Type.Array(text({ maxLength: 20 }), { maxItems: 10 }),
});
