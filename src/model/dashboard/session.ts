import { type Static, Type } from 'typebox';
import { nullable } from '../fields.ts';
import { operator_roles } from './roles.ts';

/** What an operator must do before anything else. */
export const pending_setups = ['password'] as const;
export type PendingSetup = (typeof pending_setups)[number];

export const session = Type.Object({
  operator: Type.Object({
    id: Type.String(),
    email: Type.String(),
    name: Type.String(),
    role: Type.Enum([...operator_roles]),
    totp: Type.Boolean(),
    password_temporary: Type.Boolean(),
  }),
  pending_setup: nullable(Type.Enum([...pending_setups])),
  /** Must be sent in the header `x-csrf-token` of every request that changes something. */
  csrf_token: Type.String(),
  sandbox: Type.Boolean(),
  version: Type.String(),
});
export type Session = Static<typeof session>;
