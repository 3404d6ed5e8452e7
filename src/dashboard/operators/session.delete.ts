import { Type } from 'typebox';
import { endSession } from '../../clients/operatorSessions.ts';
import { readSessionCookie, sessionCookie } from '../../http/authenticateOperator.ts';
import { endpoint, WithHeaders } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.session.delete',
  method: 'DELETE',
  path: '/dashboard/api/session',
  auth: 'operator',
  role: 'read_only',
  summary: 'Sign out',
  response: Type.Object({ success }),
  handle: async ({ ctx, headers }) => {
    await endSession(ctx, readSessionCookie(headers) ?? '');
    return new WithHeaders({ success: true }, { 'set-cookie': sessionCookie(ctx, '') });
  },
});
