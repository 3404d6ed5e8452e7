import { Type } from 'typebox';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { csrfTokenOf, readSessionCookie, requireOwnOrigin, sessionCookie } from '../http/authenticateOperator.ts';
import { endpoint, WithHeaders } from '../http/endpoint.ts';
import { type Session, session } from '../model/dashboard/session.ts';
import { nullable, secret, success } from '../model/fields.ts';
import { changePassword } from '../operators/createOperator.ts';
import { endSession, findSession } from '../operators/operatorSessions.ts';
import { type Operator, setSecondFactor } from '../operators/operators.ts';
import { enableSecondFactor, newSecondFactor } from '../operators/secondFactor.ts';
import { checkPassword, signInOperator } from '../operators/signInOperator.ts';
import { providerSignOutUrl } from '../operators/singleSignOn.ts';
import { version } from '../version.ts';

export const sessionCreate = endpoint({
  id: 'dashboard.session.create',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/session',
  auth: 'none',
  // A password check takes 20 ms of a core and 19 MiB.
  address_cost: 25,
  summary: 'Sign in',
  body: Type.Object({
    email: Type.String({ maxLength: 320 }),
    password: secret({ maxLength: 1000 }),
    code: Type.Optional(secret({ maxLength: 20 })),
  }),
  response: Type.Object({ success, session }),
  errors: [
    'operator_credentials_wrong',
    'operator_code_required',
    'operator_code_wrong',
    'operator_locked',
    'operator_password_off',
    'operator_request_foreign',
  ],
  handle: async ({ ctx, headers, address, body }) => {
    requireOwnOrigin(ctx, headers);
    const token = await signInOperator(ctx, { ...body, address });
    return new WithHeaders(
      { success: true, session: await describeStarted(ctx, token) },
      { 'set-cookie': sessionCookie(ctx, token) },
    );
  },
});

/** Returns null instead of an error without a session: the page uses it to find out whether to show the sign-in form. */
export const sessionGet = endpoint({
  id: 'dashboard.session.get',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/session',
  auth: 'none',
  summary: 'Retrieve the current session',
  response: Type.Object({ success, session: nullable(session) }),
  handle: async ({ ctx, headers }) => {
    const token = readSessionCookie(ctx, headers);
    const operator = token === undefined ? undefined : await findSession(ctx, token, { active: false });
    return { success: true, session: token && operator ? describeSession(ctx, token, operator) : null };
  },
});

export const sessionDelete = endpoint({
  id: 'dashboard.session.delete',
  surface: 'dashboard',
  method: 'DELETE',
  path: '/dashboard/api/session',
  auth: 'operator',
  reach: 'own',
  summary: 'Sign out',
  response: Type.Object({
    success,
    /** Where the browser goes to sign out at the identity provider too. */
    sign_out_url: nullable(Type.String()),
  }),
  handle: async ({ ctx, headers, operator }) => {
    await endSession(ctx, readSessionCookie(ctx, headers) ?? '');
    const sign_out_url = operator.single_sign_on ? await providerSignOutUrl(ctx) : null;
    return new WithHeaders({ success: true, sign_out_url }, { 'set-cookie': sessionCookie(ctx, '') });
  },
});

export const mePassword = endpoint({
  id: 'dashboard.me.password',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/me/password',
  auth: 'operator',
  reach: 'own',
  summary: 'Change your password and sign out your other sessions',
  body: Type.Object({
    password: secret({ maxLength: 1000 }),
    new_password: secret({
      minLength: 12,
      maxLength: 1000,
      messages: { minLength: 'The new password must have at least 12 characters' },
    }),
  }),
  response: Type.Object({ success }),
  errors: ['operator_credentials_wrong', 'operator_locked'],
  handle: async ({ ctx, headers, address, operator, body, recordInTransaction }) => {
    await checkPassword(ctx, { email: operator.email, password: body.password, address });
    await changePassword(ctx, operator.id, body.new_password, readSessionCookie(ctx, headers), recordInTransaction);
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
  reach: 'own',
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
  reach: 'own',
  summary: 'Turn on two-factor authentication',
  body: Type.Object({
    password: secret({ maxLength: 1000 }),
    secret: secret({ maxLength: 64 }),
    code: secret({ maxLength: 20 }),
  }),
  response: Type.Object({ success }),
  errors: ['operator_credentials_wrong', 'operator_locked', 'operator_code_wrong'],
  handle: async ({ ctx, address, operator, body, recordInTransaction }) => {
    await checkPassword(ctx, { email: operator.email, password: body.password, address });
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
  reach: 'own',
  summary: 'Turn off two-factor authentication',
  body: Type.Object({ password: secret({ maxLength: 1000 }) }),
  response: Type.Object({ success }),
  errors: ['operator_credentials_wrong', 'operator_locked'],
  handle: async ({ ctx, address, operator, body, recordInTransaction }) => {
    await checkPassword(ctx, { email: operator.email, password: body.password, address });
    await ctx.db.system.begin(async (tx) => {
      await setSecondFactor(tx, operator.id, null);
      await recordInTransaction(tx);
    });
    return { success: true };
  },
});

/** The session that was started just now. */
export async function describeStarted(ctx: Context, token: string): Promise<Session> {
  const operator = await findSession(ctx, token, { active: true });
  if (!operator) throw new Error('The session that was just created is missing.');
  return describeSession(ctx, token, operator);
}

function describeSession(ctx: Context, token: string, operator: Operator): Session {
  return { operator, csrf_token: csrfTokenOf(token), sandbox: ctx.config.sandbox, version };
}
