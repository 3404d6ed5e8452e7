import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { webhook_secret } from '../../model/dashboard/webhooks.ts';
import { success } from '../../model/fields.ts';
import { WebhookRequest } from '../../model/webhook.ts';
import { addEndpoint } from '../../webhooks/addEndpoint.ts';

export default endpoint({
  id: 'dashboard.webhooks.create',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/webhooks',
  auth: 'operator_in_client',
  summary: 'Register a webhook address; its secret is in the answer',
  params: Type.Object({ client_id: Type.String() }),
  body: WebhookRequest,
  response: Type.Object({ success, ...webhook_secret.properties }),
  errors: ['webhook_url_refused'],
  handle: async ({ ctx, client, body, auditSubject, inTransaction }) => {
    const answer = await inTransaction(async (tx) => {
      const wanted = { url: body.webhook_url, event_types: body.event_types };
      const { id, secret } = await addEndpoint(ctx, tx, client.id, wanted);
      auditSubject({ subject: id });
      return { success: true, webhook_id: id, webhook_secret: secret };
    });
    ctx.notifications.notify('chartwire_live', 'events');
    return answer;
  },
});
