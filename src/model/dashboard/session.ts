import { type Static, Type } from 'typebox';
import { nullable, secret, text } from '../fields.ts';
import { operator_access } from './settings.ts';

/** What an operator must do before anything else. */
export const pending_setups = ['password', 'second_factor'] as const;
export type PendingSetup = (typeof pending_setups)[number];

/** How an operator signed in. `password_totp` includes recovery codes. */
export const session_methods = ['password', 'password_totp', 'passkey', 'single_sign_on'] as const;
export type SessionMethod = (typeof session_methods)[number];

export const session = Type.Object({
  operator: Type.Object({
    id: Type.String(),
    email: Type.String(),
    name: Type.String(),
    ...operator_access,
    totp: Type.Boolean(),
    /** How many passkeys and unused recovery codes the operator has. */
    passkeys: Type.Integer(),
    recovery_codes: Type.Integer(),
    single_sign_on: Type.Boolean(),
  }),
  method: Type.Enum([...session_methods]),
  pending_setup: nullable(Type.Enum([...pending_setups])),
  /** Whether the installation requires a second factor. */
  second_factor_required: Type.Boolean(),
  /** Must be sent in the header `x-csrf-token` of every request that changes something. */
  csrf_token: Type.String(),
  sandbox: Type.Boolean(),
  version: Type.String(),
});
export type Session = Static<typeof session>;

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
export type SessionRow = Static<typeof session_row>;

export const passkey_row = Type.Object({
  id: Type.String(),
  name: Type.String(),
  created_at: Type.String(),
  used_at: nullable(Type.String()),
});
export type PasskeyRow = Static<typeof passkey_row>;

const base64url = (maxLength: number) => secret({ maxLength, pattern: '^[A-Za-z0-9_-]+$' });
/** A credential id has at most 1,023 bytes. */
const credential_id = base64url(1_364);

/** A passkey that a browser has created; the binary values are base64url. */
export const passkey_registration = Type.Object({
  id: credential_id,
  client_data: base64url(4_000),
  attestation: base64url(20_000),
  transports: Type.Array(text({ maxLength: 20 }), { maxItems: 10 }),
});
export type PasskeyRegistration = Static<typeof passkey_registration>;

/** What a browser has signed with a passkey. */
export const passkey_assertion = Type.Object({
  id: credential_id,
  client_data: base64url(4_000),
  authenticator_data: base64url(2_000),
  signature: base64url(2_000),
  /** The operator's id, as the passkey stores it. */
  user_handle: base64url(100),
});
export type PasskeyAssertion = Static<typeof passkey_assertion>;
