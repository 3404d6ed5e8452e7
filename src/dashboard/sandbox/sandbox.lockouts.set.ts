import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { type FindClinic, findClinic } from './findClinic.ts';

export const sandboxLockoutsSet = (find: FindClinic): Endpoint =>
  endpoint({
    id: 'dashboard.sandbox.lockouts.set',
    method: 'POST',
    path: '/dashboard/api/sandbox/lockouts',
    auth: 'operator',
    sandbox: true,
    summary: 'Lock a member of the reference EMR’s staff out, or let one in again',
    body: Type.Object({ user_name: Type.String({ minLength: 1, maxLength: 100 }), locked: Type.Boolean() }),
    response: Type.Object({ success }),
    errors: ['emr_unavailable'],
    handle: async ({ body }) => {
      await findClinic(find).lock(body.user_name, body.locked);
      return { success: true };
    },
  });
