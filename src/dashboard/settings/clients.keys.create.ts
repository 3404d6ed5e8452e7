import { Type } from 'typebox';
import { addSecret } from '../../clients/clients.ts';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';

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
  handle: async ({ ctx, client, inTransaction }) => {
    const answer = await inTransaction(async (tx) => ({
      success: true,
      client_secret: await addSecret(tx, client.id, client.mode),
    }));
    ctx.lookups.clear();
    return answer;
  },
});
