import { type Static, Type } from 'typebox';
import { operator_access } from './settings.ts';

export const session = Type.Object({
  operator: Type.Object({
    id: Type.String(),
    email: Type.String(),
    name: Type.String(),
    ...operator_access,
    totp: Type.Boolean(),
    password_temporary: Type.Boolean(),
    single_sign_on: Type.Boolean(),
  }),
  /** Must be sent in the header `x-csrf-token` of every request that changes something. */
  csrf_token: Type.String(),
  sandbox: Type.Boolean(),
  version: Type.String(),
});
export type Session = Static<typeof session>;
