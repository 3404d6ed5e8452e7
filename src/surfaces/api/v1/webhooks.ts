import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { type EndpointRequest, endpoint } from '../../../http/endpoint.ts';
import { immediately, success } from '../../../model/fields.ts';
import { WebhookCreated, WebhookList, WebhookRequest } from '../../../model/webhook.ts';
import { removeEndpoint } from '../../../product/webhooks/disableEndpoint.ts';
import {
  addEndpoint,
  describeChange,
  listEndpoints,
  newestSecretOfOldestEndpoint,
  rotateSecret,
} from '../../../product/webhooks/endpoints.ts';

export const webhookCreate = endpoint({
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

export const webhookList = endpoint({
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

export const webhookDelete = endpoint({
  id: 'webhook.delete',
  surface: 'api',
  group: 'Webhooks',
  method: 'DELETE',
  path: '/v1/webhook/{id}',
  auth: 'client',
  summary: 'Delete a webhook endpoint',
  params: Type.Object({
    id: Type.String({ description: 'ID of the webhook endpoint', examples: ['wh_0f1e2d3c4b5a69788796a5b4'] }),
  }),
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Webhook removed.'] }),
    webhook_id: Type.String(),
  }),
  errors: ['record_not_found'],
  found_in: { id: 'GET /v1/webhook#/webhook_urls/0/id' },
  confirm: 'This deletes a webhook endpoint. It will no longer receive events. Send the request?',
  handle: ({ params, inTransaction, auditSubject }) =>
    inTransaction(async (tx) => {
      const removed = await removeEndpoint(tx, params.id);
      if (!removed) throw apiError('record_not_found', { noun: 'Webhook', id: params.id });
      auditSubject({ detail: describeChange(removed, undefined) });
      return { success: true, message: 'Webhook removed.', webhook_id: params.id };
    }),
});

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

function rotate({ ctx, client, body, inTransaction, auditSubject }: Rotation, id: string | undefined) {
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
