import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { receiver } from '../../model/dashboard/receiver.ts';
import { success } from '../../model/fields.ts';
import { openReceiver } from '../../receiver/openReceiver.ts';
import { describeReceiver } from './describeReceiver.ts';

export default endpoint({
  id: 'dashboard.receiver.create',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/receiver',
  auth: 'operator_in_client',
  summary: 'Register the built-in receiver as a webhook address of the client',
  params: Type.Object({ client_id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, receiver }),
  errors: ['webhook_url_refused'],
  handle: async ({ ctx, client, auditSubject, inTransaction }) => {
    const answer = await inTransaction(async (tx) => {
      const opened = await openReceiver(ctx, tx, client.id);
      auditSubject({ subject: opened.endpoint_id });
      return { success: true, receiver: describeReceiver(opened) };
    });
    ctx.notifications.notify('chartwire_live', 'events');
    return answer;
  },
});
