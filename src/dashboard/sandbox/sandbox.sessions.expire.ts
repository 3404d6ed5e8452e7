import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { type FindClinic, findClinic } from './findClinic.ts';

export const sandboxSessionsExpire = (find: FindClinic): Endpoint =>
  endpoint({
    id: 'dashboard.sandbox.sessions.expire',
    method: 'POST',
    path: '/dashboard/api/sandbox/sessions/expire',
    auth: 'operator',
    sandbox: true,
    summary: 'End the sessions at the reference EMR, and with `link` what they are renewed by',
    body: Type.Object({ mode: Type.Enum(['session', 'link']) }),
    response: Type.Object({ success }),
    errors: ['emr_unavailable'],
    handle: async ({ body }) => {
      await findClinic(find).expireSessions(body.mode);
      return { success: true };
    },
  });
