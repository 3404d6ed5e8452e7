import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { endpoint, type EndpointRequest } from '../../../http/endpoint.ts';
import { immediately } from '../../../model/fields.ts';
import { WebhookCreated } from '../../../model/webhook.ts';
import { describeChange, listEndpoints, rotateSecret } from '../../../product/webhooks/endpoints.ts';

const declared = {
  surface: 'api',
  group: 'Webhooks',
  method: 'POST',
  auth: 'client',
  description:
    'For 24 hours, deliveries are signed with the old secret too. With `immediately`, they are signed with the new one only, for example because the old one was leaked.',
  body: Type.Object({ immediately }),
  response: Type.Object({
    ...WebhookCreated.properties,
    message: Type.String({ examples: ['Secret rotated. The old one stays valid for 24 hours.'] }),
  }),
  errors: ['record_not_found'],
  confirm:
    'This replaces the secret of a webhook endpoint. Unless you set immediately, the current one stays valid for 24 hours. Send the request?',
} as const;

export const rotateById = endpoint({
  ...declared,
  id: 'webhook.rotate-secret',
  path: '/v1/webhook/{id}/rotate-secret',
  summary: 'Rotate the secret of a webhook endpoint',
  params: Type.Object({
    id: Type.String({ description: 'ID of the webhook endpoint', examples: ['wh_0f1e2d3c4b5a69788796a5b4'] }),
  }),
  found_in: { id: 'GET /v1/webhook#/webhook_urls/0/id' },
  handle: (request) => rotate(request, request.params.id),
});

export const rotateOldest = endpoint({
  ...declared,
  id: 'webhook.rotate-oldest-secret',
  path: '/v1/webhook/rotate-secret',
  summary: 'Rotate the secret of the oldest enabled webhook endpoint',
  handle: (request) => rotate(request, undefined),
});

type Rotation = Pick<
  EndpointRequest<'client', typeof declared.body, undefined, undefined>,
  'ctx' | 'client' | 'body' | 'inTransaction' | 'auditSubject'
>;

function rotate(
  { ctx, client, body, inTransaction, auditSubject }: Rotation,
  id: string | undefined,
): Promise<unknown> {
  const at_once = body.immediately ?? false;
  return inTransaction(async (tx) => {
    const rotated = await rotateSecret(ctx, tx, client.id, { endpoint_id: id, immediately: at_once });
    const endpoint = rotated && (await listEndpoints(tx)).find((each) => each.id === rotated.id);
    if (!endpoint) throw apiError('record_not_found', { noun: 'Webhook', id: id ?? '' });
    const detail = { ...describeChange(endpoint, endpoint), secret: 'rotated', immediately: at_once };
    auditSubject({ subject: rotated.id, detail });
    return {
      success: true,
      message: `Secret rotated. The old one ${at_once ? 'is no longer valid' : 'stays valid for 24 hours'}.`,
      webhook_id: rotated.id,
      webhook_url: endpoint.url,
      webhook_secret: rotated.secret,
      webhook_secret_key: rotated.secret,
    };
  });
}
