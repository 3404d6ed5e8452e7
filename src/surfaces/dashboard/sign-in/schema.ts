import { type Static, Type } from 'typebox';
import { operator_roles } from '../../../catalog/roles.ts';
import { nullable, secret } from '../../../model/fields.ts';
import { pending_setups, session_methods } from '../../../product/operators/operators.ts';
import { operator_access } from '../operators/schema.ts';

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
  /** Whether some actions need the approval of a second operator. */
  four_eyes: Type.Boolean(),
  /** Must be sent in the header `x-csrf-token` of every request that changes something. */
  csrf_token: Type.String(),
  sandbox: Type.Boolean(),
  version: Type.String(),
});
export type Session = Static<typeof session>;

/** What somebody who has an invitation's link is told before they accept it. */
export const open_invitation = {
  email: Type.String(),
  inviter_name: Type.String(),
  /** Null if it differs between clients. */
  role: nullable(Type.Enum([...operator_roles])),
  /** Whether a second factor must be set up afterwards. */
  second_factor: Type.Boolean(),
};

export const base64url = (maxLength: number) => secret({ maxLength, pattern: '^[A-Za-z0-9_-]+$' });
/** A credential id has at most 1,023 bytes. */
export const credential_id = base64url(1_364);

/** What a browser has signed with a passkey. */
export const passkey_assertion = Type.Object({
  id: credential_id,
  client_data: base64url(4_000),
  authenticator_data: base64url(2_000),
  signature: base64url(2_000),
  /** The operator's id, as the passkey stores it. */
  user_handle: base64url(100),
});
