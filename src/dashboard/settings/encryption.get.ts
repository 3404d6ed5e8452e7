import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { encryption } from '../../model/dashboard/encryption.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.encryption.get',
  method: 'GET',
  path: '/dashboard/api/encryption',
  auth: 'operator',
  audited: false,
  summary: 'The master keys and how much is under each',
  response: Type.Object({ success, encryption }),
  handle: async ({ ctx: { key_ring } }) => ({
    success: true,
    encryption: { source: key_ring.source, ...(await key_ring.describe()) },
  }),
});
