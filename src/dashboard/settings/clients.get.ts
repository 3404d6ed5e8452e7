import { Type } from 'typebox';
import { readClientSettings } from '../../clients/clients.ts';
import { endpoint } from '../../http/endpoint.ts';
import { client_settings } from '../../model/dashboard/settings.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.clients.get',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}',
  auth: 'operator_in_client',
  summary: 'The settings of an application',
  params: Type.Object({ client_id: Type.String() }),
  response: Type.Object({ success, client: client_settings }),
  handle: async ({ ctx, client }) => ({
    success: true,
    client: await ctx.db.tenant(client.id, (tx) => readClientSettings(tx, client.id)),
  }),
});
