import { Type } from 'typebox';
import { endpoint } from '../api/endpoint.ts';
import { addSecret } from '../clients/clients.ts';
import { success } from '../model/fields.ts';

export default endpoint({
  id: 'dashboard.clients.keys.create',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/keys',
  auth: 'operator_in_client',
  role: 'owner',
  summary: 'Make another secret of an application, shown once; of three the oldest ends',
  params: Type.Object({ client_id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, client_secret: Type.String() }),
  handle: async ({ ctx, client, once }) => {
    const answer = await once(async (tx) => ({
      success: true,
      client_secret: await addSecret(tx, client.id, client.mode),
    }));
    ctx.lookups.clear();
    return answer;
  },
});
