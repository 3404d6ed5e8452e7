import { Type } from 'typebox';
import type { Context } from '../context.ts';
import { csrfTokenOf, readSessionCookie, requireOwnOrigin, sessionCookie } from '../http/authenticateOperator.ts';
import { endpoint, WithHeaders } from '../http/endpoint.ts';
import { type Session, session } from '../model/dashboard/session.ts';
import { nullable, secret, success } from '../model/fields.ts';
import { endSession, findSession } from '../operators/operatorSessions.ts';
import { type Operator, pendingSetup } from '../operators/operators.ts';
import { signInOperator } from '../operators/signInOperator.ts';
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
    'operator_request_foreign',
  ],
  handle: async ({ ctx, headers, body }) => {
    requireOwnOrigin(ctx, headers);
    const token = await signInOperator(ctx, body);
    const operator = await findSession(ctx, token, { active: true });
    if (!operator) throw new Error('The session that was just created is missing.');
    return new WithHeaders(
      { success: true, session: describeSession(ctx, token, operator) },
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
  role: 'read_only',
  while_pending: ['password'],
  summary: 'Sign out',
  response: Type.Object({ success }),
  handle: async ({ ctx, headers }) => {
    await endSession(ctx, readSessionCookie(ctx, headers) ?? '');
    return new WithHeaders({ success: true }, { 'set-cookie': sessionCookie(ctx, '') });
  },
});

function describeSession(ctx: Context, token: string, operator: Operator): Session {
  return {
    operator,
    pending_setup: pendingSetup(operator) ?? null,
    csrf_token: csrfTokenOf(token),
    sandbox: ctx.config.sandbox,
    version,
  };
}
