import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { type EndpointRequest, endpoint, JsonText } from '../../../http/endpoint.ts';
import { immediately, pagination, paging, success } from '../../../model/fields.ts';
import {
  EventType,
  WebhookChanges,
  WebhookCreated,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookList,
  WebhookRequest,
  WebhookTest,
} from '../../../model/webhook.ts';
import { listDeliveries, walkDeliveries } from '../../../product/webhooks/deliveries.ts';
import { removeEndpoint } from '../../../product/webhooks/disableEndpoint.ts';
import { describeChange, type Endpoint, findEndpoint, listEndpoints } from '../../../product/webhooks/endpoints.ts';
import { addEndpoint, changeEndpoint, lockForChange } from '../../../product/webhooks/registration.ts';
import { newestSecretOfOldestEndpoint, rotateSecret } from '../../../product/webhooks/secrets.ts';
import { testEndpoint } from '../../../product/webhooks/sendWebhook.ts';
import { checkPaging } from '../paging.ts';

export const webhookCreate = endpoint({
  id: 'webhook.create',
  surface: 'api',
  group: 'Webhooks',
  method: 'POST',
  path: '/v1/webhook',
  auth: 'client',
  summary: 'Create a webhook endpoint',
  description:
    'The response contains the signing secret. Without `event_types` and `org_ids` the endpoint receives all events, without `sync_events` only those of your requests; if the URL is already registered, fields that are not sent stay as they are. The URL must be public and use https; in sandbox mode, http URLs on this machine are allowed too.',
  body: WebhookRequest,
  response: WebhookCreated,
  errors: ['webhook_url_refused', 'webhook_endpoints_max'],
  handle: ({ ctx, client, body, inTransaction, auditSubject }) =>
    inTransaction(async (tx) => {
      const { webhook_url: url, ...fields } = body;
      const { id, secret, before, after } = await addEndpoint(ctx, tx, client.id, { url, ...fields });
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
  returns_secret: true,
  response: WebhookList,
  handle: ({ ctx, client }) =>
    ctx.db.tenant(client.id, async (tx) => {
      const endpoints = await listEndpoints(tx);
      return {
        success: true,
        webhook_url: endpoints.find((each) => each.status === 'enabled')?.url ?? null,
        webhook_urls: endpoints.map(describeEndpoint),
        webhook_secret_key: (await newestSecretOfOldestEndpoint(ctx, tx)) ?? null,
      };
    }),
});

function describeEndpoint({ id, url, status, paused, event_types, org_ids, sync_events }: Endpoint) {
  return {
    ...{ id, url, status, sync_events, paused },
    event_types: event_types && [...event_types],
    org_ids: org_ids && [...org_ids],
  };
}

const params = Type.Object({
  id: Type.String({ description: 'ID of the webhook endpoint', examples: ['wh_0f1e2d3c4b5a69788796a5b4'] }),
});

export const webhookUpdate = endpoint({
  id: 'webhook.update',
  surface: 'api',
  group: 'Webhooks',
  method: 'PATCH',
  path: '/v1/webhook/{id}',
  auth: 'client',
  summary: 'Update a webhook endpoint',
  description:
    'Changes the fields that are sent; `null` for `event_types` or `org_ids` means all. Pending deliveries go to a new URL. While an endpoint is paused, its deliveries wait; when it is resumed they are sent, except those that were due more than 76 hours ago, which fail and can be resent. A disabled endpoint stays disabled; registering its URL again enables it.',
  body: WebhookChanges,
  params,
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Webhook updated.'] }),
    webhook_id: Type.String(),
    webhook: WebhookEndpoint,
  }),
  errors: ['no_field', 'record_not_found', 'webhook_url_refused'],
  found_in: { id: 'GET /v1/webhook#/webhook_urls/0/id' },
  handle: async ({ ctx, client, params, body, inTransaction, auditSubject }) => {
    if (Object.keys(body).length === 0) throw apiError('no_field');
    const response = await inTransaction(async (tx) => {
      const { webhook_url: url, ...changes } = body;
      const before = await lockForChange(tx, client.id, params.id);
      if (!before) throw apiError('record_not_found', { noun: 'Webhook', id: params.id });
      await changeEndpoint(ctx, tx, before, { url, ...changes });
      const after = (await findEndpoint(tx, params.id)) ?? before;
      auditSubject({ detail: describeChange(before, after) });
      return {
        success: true,
        message: 'Webhook updated.',
        webhook_id: params.id,
        webhook: describeEndpoint(after),
      };
    });
    ctx.notifications.notify('chartwire_deliveries', client.id);
    return response;
  },
});

export const webhookTest = endpoint({
  id: 'webhook.test',
  surface: 'api',
  group: 'Webhooks',
  method: 'POST',
  path: '/v1/webhook/{id}/test',
  auth: 'client',
  reads: true,
  summary: 'Send a test event to a webhook endpoint',
  description:
    'Sends one signed event of type `webhook.test` now and returns what the receiver responded. The event is not stored, and is sent to paused and disabled endpoints too.',
  body: Type.Object({}),
  params,
  response: WebhookTest,
  errors: ['record_not_found'],
  found_in: { id: 'GET /v1/webhook#/webhook_urls/0/id' },
  handle: async ({ ctx, client, params }) => {
    const result = await testEndpoint(ctx, client.id, params.id);
    if (!result) throw apiError('record_not_found', { noun: 'Webhook', id: params.id });
    const { delivered, status_code, duration_ms, problem, snippet: response_start } = result;
    return {
      success: true,
      message: delivered ? 'Test event delivered.' : 'Test event not delivered.',
      webhook_id: params.id,
      ...{ delivered, status_code, duration_ms, problem, response_start },
    };
  },
});

export const webhookDeliveries = endpoint({
  id: 'webhook.deliveries.list',
  surface: 'api',
  group: 'Webhooks',
  method: 'GET',
  path: '/v1/webhook/{id}/deliveries',
  auth: 'client',
  summary: 'List the deliveries to a webhook endpoint',
  description: 'Returns the deliveries of the last 30 days with their attempts, newest first.',
  params,
  query: Type.Object({
    status: Type.Optional(WebhookDelivery.properties.status),
    event_type: Type.Optional(EventType),
    ...paging(50, 100),
  }),
  response: Type.Object({
    success,
    deliveries: Type.Array(WebhookDelivery, { description: 'The deliveries, newest first' }),
    pagination,
  }),
  errors: ['record_not_found'],
  found_in: { id: 'GET /v1/webhook#/webhook_urls/0/id' },
  handle: async ({ ctx, client, params, query: { page, cursor, page_size = 50, ...filters }, auditPatients }) => {
    checkPaging({ page, cursor });
    const endpoint = { client_id: client.id, endpoint_id: params.id };
    const listed =
      cursor === undefined
        ? await listDeliveries(ctx.db, endpoint, { ...filters, page: page ?? 1, page_size })
        : await walkDeliveries(ctx, endpoint, { filters, cursor, page_size });
    if (!listed) throw apiError('record_not_found', { noun: 'Webhook', id: params.id });
    auditPatients(listed.mrns);
    return new JsonText(listed.body);
  },
});

export const webhookDelete = endpoint({
  id: 'webhook.delete',
  surface: 'api',
  group: 'Webhooks',
  method: 'DELETE',
  path: '/v1/webhook/{id}',
  auth: 'client',
  summary: 'Delete a webhook endpoint',
  params,
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
  params,
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
