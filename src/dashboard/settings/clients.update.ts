import { Type } from 'typebox';
import { checkClient } from '../../clients/checkClient.ts';
import { changeClient, readClientSettings } from '../../clients/clients.ts';
import { endpoint } from '../../http/endpoint.ts';
import { client_changes, client_settings } from '../../model/dashboard/settings.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.clients.update',
  method: 'PATCH',
  path: '/dashboard/api/clients/{client_id}',
  auth: 'operator_in_client',
  role: 'owner',
  summary: 'Change an application’s name, its addresses and how Link looks for it',
  params: Type.Object({ client_id: Type.String() }),
  body: client_changes,
  response: Type.Object({ success, client: client_settings }),
  handle: async ({ ctx, client, body, inTransaction }) => {
    const changes = checkClient(body);
    const answer = await inTransaction(async (tx) => {
      await changeClient(tx, client.id, changes);
      return { success: true, client: await readClientSettings(tx, client.id) };
    });
    ctx.lookups.clear();
    return answer;
  },
});
