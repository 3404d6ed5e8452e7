import { endpoint } from '../../../http/endpoint.ts';
import { WebhookList } from '../../../model/webhook.ts';
import { listEndpoints, newestSecretOfOldestEndpoint } from '../../../product/webhooks/endpoints.ts';

export default endpoint({
  id: 'webhook.list',
  surface: 'api',
  group: 'Webhooks',
  method: 'GET',
  path: '/v1/webhook',
  auth: 'client',
  summary: 'List webhook endpoints',
  response: WebhookList,
  handle: ({ ctx, client }) =>
    ctx.db.tenant(client.id, async (tx) => {
      const endpoints = await listEndpoints(tx);
      return {
        success: true,
        webhook_url: endpoints.find((each) => each.status === 'enabled')?.url ?? null,
        webhook_urls: endpoints.map(({ id, url, status, event_types }) => ({ id, url, status, event_types })),
        webhook_secret_key: (await newestSecretOfOldestEndpoint(ctx, tx)) ?? null,
      };
    }),
});
