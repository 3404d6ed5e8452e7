import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { sandbox_state } from '../../model/dashboard/sandbox.ts';
import { success } from '../../model/fields.ts';
import { type FindClinic, findClinic } from './findClinic.ts';

export const sandboxGet = (find: FindClinic): Endpoint =>
  endpoint({
    id: 'dashboard.sandbox.get',
    method: 'GET',
    path: '/dashboard/api/sandbox',
    auth: 'operator',
    sandbox: true,
    // A practice of invented people: its faults and codes are no health data.
    audited: false,
    summary: 'The reference EMR’s faults, staff and one-time codes',
    response: Type.Object({ success, sandbox: sandbox_state }),
    errors: ['emr_unavailable'],
    handle: async () => ({ success: true, sandbox: await findClinic(find).describe() }),
  });
