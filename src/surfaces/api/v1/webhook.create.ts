import { endpoint } from '../../../http/endpoint.ts';
import { WebhookCreated, WebhookRequest } from '../../../model/webhook.ts';
import { addEndpoint, describeChange } from '../../../product/webhooks/endpoints.ts';

export default endpoint({
  id: 'webhook.create',
  surface: 'api',
  group: 'Webhooks',
  method: 'POST',
  path: '/v1/webhook',
  auth: 'client',
  summary: 'Create a webhook endpoint',
  description:
    'The response contains the signing secret. Without `event_types` the endpoint receives all events; if the URL is already registered, its event types stay as they are. The URL must be public and use https; in sandbox mode, http URLs on this machine are allowed too.',
  body: WebhookRequest,
  response: WebhookCreated,
  errors: ['webhook_url_refused', 'webhook_endpoints_max'],
  handle: ({ ctx, client, body, inTransaction, auditSubject }) =>
    inTransaction(async (tx) => {
      const { id, secret, before, after } = await addEndpoint(ctx, tx, client.id, {
        url: body.webhook_url,
        event_types: body.event_types,
      });
      auditSubject({ subject: id, detail: describeChange(before, after) });
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
