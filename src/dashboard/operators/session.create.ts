import { Type } from 'typebox';
import { findSession } from '../../clients/operatorSessions.ts';
import { signInOperator } from '../../clients/signInOperator.ts';
import { refuseForeign, sessionCookie } from '../../http/authenticateOperator.ts';
import { endpoint, WithHeaders } from '../../http/endpoint.ts';
import { session } from '../../model/dashboard/session.ts';
import { success } from '../../model/fields.ts';
import { describeSession } from './describeSession.ts';

export default endpoint({
  id: 'dashboard.session.create',
  method: 'POST',
  path: '/dashboard/api/session',
  auth: 'none',
  summary: 'Sign an operator in',
  body: Type.Object({
    email: Type.String({ maxLength: 320 }),
    password: Type.String({ maxLength: 1000 }),
    code: Type.Optional(Type.String({ maxLength: 20 })),
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
    refuseForeign(ctx, headers);
    const token = await signInOperator(ctx, body);
    const operator = await findSession(ctx, token, { active: true });
    if (!operator) throw new Error('A session that was just begun is not there.');
    return new WithHeaders(
      { success: true, session: describeSession(ctx, token, operator) },
      { 'set-cookie': sessionCookie(ctx, token) },
    );
  },
});
