import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { type FindClinic, findClinic } from './findClinic.ts';

export const sandboxFaultsClear = (find: FindClinic): Endpoint =>
  endpoint({
    id: 'dashboard.sandbox.faults.clear',
    method: 'DELETE',
    path: '/dashboard/api/sandbox/faults',
    auth: 'operator',
    sandbox: true,
    summary: 'Clear every fault of the reference EMR',
    response: Type.Object({ success }),
    errors: ['emr_unavailable'],
    handle: async () => {
      await findClinic(find).clearFaults();
      return { success: true };
    },
  });
