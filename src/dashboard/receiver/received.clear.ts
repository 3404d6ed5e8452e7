import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { clearRequests } from '../../receiver/receivedRequests.ts';

export default endpoint({
  id: 'dashboard.received.clear',
  method: 'DELETE',
  path: '/dashboard/api/clients/{client_id}/receiver/requests',
  auth: 'operator_in_client',
  summary: 'Forget what the built-in receiver got',
  params: Type.Object({ client_id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, cleared: Type.Integer() }),
  handle: async ({ ctx, inTransaction }) => {
    const answer = await inTransaction(async (tx) => ({ success: true, cleared: await clearRequests(tx) }));
    ctx.notifications.notify('chartwire_live', 'events');
    return answer;
  },
});
