import { Type } from 'typebox';
import { listClients } from '../../clients/clients.ts';
import { endpoint } from '../../http/endpoint.ts';
import { client_row } from '../../model/dashboard/clients.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.clients.list',
  method: 'GET',
  path: '/dashboard/api/clients',
  auth: 'operator',
  audited: false,
  summary: 'The applications that may call',
  response: Type.Object({ success, clients: Type.Array(client_row) }),
  handle: async ({ ctx }) => ({ success: true, clients: await listClients(ctx) }),
});
