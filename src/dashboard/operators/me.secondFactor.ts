import { Type } from 'typebox';
import { setSecondFactor } from '../../clients/operators.ts';
import { enableSecondFactor, newSecondFactor } from '../../clients/secondFactor.ts';
import { checkPassword } from '../../clients/signInOperator.ts';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';

const declared = { method: 'POST', auth: 'operator', role: 'read_only' } as const;

/** Nothing is kept of it: the page sends it back with a code that proves that an app has it. */
export const secondFactorOffer = endpoint({
  ...declared,
  id: 'dashboard.me.second-factor.offer',
  path: '/dashboard/api/me/second-factor/offer',
  summary: 'A secret for an authenticator app',
  body: Type.Object({}),
  response: Type.Object({ success, secret: Type.String(), uri: Type.String() }),
  handle: async ({ operator }) => ({ success: true, ...newSecondFactor(operator.email) }),
});

export const secondFactorOn = endpoint({
  ...declared,
  id: 'dashboard.me.second-factor.on',
  path: '/dashboard/api/me/second-factor',
  summary: 'Ask for a one-time code at one’s own sign-ins',
  body: Type.Object({
    password: Type.String({ maxLength: 1000 }),
    secret: Type.String({ maxLength: 64 }),
    code: Type.String({ maxLength: 20 }),
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
  ...declared,
  id: 'dashboard.me.second-factor.off',
  path: '/dashboard/api/me/second-factor/off',
  summary: 'Sign in by password alone again',
  body: Type.Object({ password: Type.String({ maxLength: 1000 }) }),
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
