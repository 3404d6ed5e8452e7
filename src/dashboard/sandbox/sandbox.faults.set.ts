import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { type FindClinic, findClinic } from './findClinic.ts';

export const sandboxFaultsSet = (find: FindClinic): Endpoint =>
  endpoint({
    id: 'dashboard.sandbox.faults.set',
    method: 'POST',
    path: '/dashboard/api/sandbox/faults/{switch_id}',
    auth: 'operator',
    sandbox: true,
    summary: 'Switch a fault of the reference EMR on or off',
    params: Type.Object({ switch_id: Type.String() }),
    body: Type.Object({ to: Type.Enum(['on', 'once', 'off']) }),
    response: Type.Object({ success }),
    errors: ['record_not_found', 'emr_unavailable'],
    handle: async ({ params, body }) => {
      const turned = await findClinic(find).turn(params.switch_id, body.to);
      if (!turned) throw apiError('record_not_found', { noun: 'Fault', id: params.switch_id });
      return { success: true };
    },
  });
