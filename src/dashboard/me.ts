import { Type } from 'typebox';
import { apiError } from '../errors.ts';
import { readSessionCookie } from '../http/authenticateOperator.ts';
import { endpoint } from '../http/endpoint.ts';
import { secret, success } from '../model/fields.ts';
import { changePassword } from '../operators/createOperator.ts';
import { setSecondFactor } from '../operators/operators.ts';
import { enableSecondFactor, newSecondFactor } from '../operators/secondFactor.ts';
import { checkPassword } from '../operators/signInOperator.ts';

export const mePassword = endpoint({
  id: 'dashboard.me.password',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/me/password',
  auth: 'operator',
  role: 'read_only',
  while_pending: ['password'],
  summary: 'Change your password and sign out your other sessions',
  body: Type.Object({
    password: secret({ maxLength: 1000 }),
    new_password: secret({ maxLength: 1000 }),
  }),
  response: Type.Object({ success }),
  errors: ['operator_credentials_wrong', 'operator_locked'],
  handle: async ({ ctx, headers, operator, body, recordInTransaction }) => {
    await checkPassword(ctx, operator.email, body.password);
    await changePassword(ctx, operator, body.new_password, readSessionCookie(ctx, headers), recordInTransaction);
    return { success: true };
  },
});

/** The secret is not stored yet: the page sends it back with a code that proves that an app has it. */
export const secondFactorOffer = endpoint({
  id: 'dashboard.me.second-factor.offer',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/me/second-factor/offer',
  auth: 'operator',
  role: 'read_only',
  summary: 'Generate a secret for an authenticator app',
  body: Type.Object({}),
  response: Type.Object({ success, secret: Type.String(), uri: Type.String() }),
  handle: async ({ operator }) => ({ success: true, ...newSecondFactor(operator.email) }),
});

export const secondFactorOn = endpoint({
  id: 'dashboard.me.second-factor.on',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/me/second-factor',
  auth: 'operator',
  role: 'read_only',
  summary: 'Turn on two-factor authentication',
  body: Type.Object({
    password: secret({ maxLength: 1000 }),
    secret: secret({ maxLength: 64 }),
    code: secret({ maxLength: 20 }),
  }),
  response: Type.Object({ success }),
  errors: ['operator_credentials_wrong', 'operator_locked', 'operator_code_wrong'],
  handle: async ({ ctx, operator, body, recordInTransaction }) => {
    await checkPassword(ctx, operator.email, body.password);
    await ctx.db.system.begin(async (tx) => {
      if (!(await enableSecondFactor(ctx, tx, operator.id, body))) throw apiError('operator_code_wrong');
      await recordInTransaction(tx);
    });
    return { success: true };
  },
});

export const secondFactorOff = endpoint({
  id: 'dashboard.me.second-factor.off',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/me/second-factor/off',
  auth: 'operator',
  role: 'read_only',
  summary: 'Turn off two-factor authentication',
  body: Type.Object({ password: secret({ maxLength: 1000 }) }),
  response: Type.Object({ success }),
  errors: ['operator_credentials_wrong', 'operator_locked'],
  handle: async ({ ctx, operator, body, recordInTransaction }) => {
    await checkPassword(ctx, operator.email, body.password);
    await ctx.db.system.begin(async (tx) => {
      await setSecondFactor(tx, operator.id, null);
      await recordInTransaction(tx);
    });
    return { success: true };
  },
});
