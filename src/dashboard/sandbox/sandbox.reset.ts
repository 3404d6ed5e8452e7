import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { type FindClinic, findClinic } from './findClinic.ts';

export const sandboxReset = (find: FindClinic): Endpoint =>
  endpoint({
    id: 'dashboard.sandbox.reset',
    method: 'POST',
    path: '/dashboard/api/sandbox/reset',
    auth: 'operator',
    sandbox: true,
    summary: 'Lay the reference EMR’s practice anew',
    body: Type.Object({}),
    response: Type.Object({ success }),
    errors: ['emr_unavailable'],
    handle: async () => {
      await findClinic(find).reset();
      return { success: true };
    },
  });
