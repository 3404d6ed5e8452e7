import { Type } from 'typebox';
import { findSession } from '../../clients/operatorSessions.ts';
import { readSessionCookie } from '../../http/authenticateOperator.ts';
import { endpoint } from '../../http/endpoint.ts';
import { session } from '../../model/dashboard/session.ts';
import { nullable, success } from '../../model/fields.ts';
import { describeSession } from './describeSession.ts';

/** Not an error for a stranger: it is how the page learns that somebody must sign in. */
export default endpoint({
  id: 'dashboard.session.get',
  method: 'GET',
  path: '/dashboard/api/session',
  auth: 'none',
  summary: 'Who is signed in, if anyone is',
  response: Type.Object({ success, session: nullable(session) }),
  handle: async ({ ctx, headers }) => {
    const token = readSessionCookie(headers);
    const operator = token === undefined ? undefined : await findSession(ctx, token, { active: false });
    return { success: true, session: token && operator ? describeSession(ctx, token, operator) : null };
  },
});
