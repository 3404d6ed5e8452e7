import { endpoint } from '../../http/endpoint.ts';
import { WebhookCreated, WebhookRequest } from '../../model/webhook.ts';
import { addEndpoint } from '../../webhooks/addEndpoint.ts';

export default endpoint({
  id: 'webhook.create',
  surface: 'api',
  group: 'Webhooks',
  method: 'POST',
  path: '/v1/webhook',
  auth: 'client',
  summary: 'Register an address that is told of events; its secret is in the answer',
  description:
    'Without `event_types` every event is sent to it. Addresses must be public and use https; in the sandbox, http to this machine is allowed too.',
  body: WebhookRequest,
  response: WebhookCreated,
  errors: ['webhook_url_refused'],
  handle: ({ ctx, client, body, inTransaction }) =>
    inTransaction(async (tx) => {
      const { id, secret } = await addEndpoint(ctx, tx, client.id, {
        url: body.webhook_url,
        event_types: body.event_types,
      });
      return {
        success: true,
        message: 'Webhook registered.',
        webhook_id: id,
        webhook_url: body.webhook_url,
        webhook_secret: secret,
        webhook_secret_key: secret,
      };
    }),
});
