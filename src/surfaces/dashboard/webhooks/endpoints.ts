import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint, type StoredRequest } from '../../../http/endpoint.ts';
import { details_hidden } from '../../../http/hidePatients.ts';
import { key_pair } from '../../../model/certificate.ts';
import { clearable, id, immediately, nullable, success } from '../../../model/fields.ts';
import { WebhookChanges, WebhookRequest } from '../../../model/webhook.ts';
import { removeCertificate, saveCertificate } from '../../../product/webhooks/certificates.ts';
import { hurryDeliveries } from '../../../product/webhooks/deliveries.ts';
import { disableEndpoint, removeEndpoint } from '../../../product/webhooks/disableEndpoint.ts';
import { describeChange, enableEndpoint, findEndpoint } from '../../../product/webhooks/endpoints.ts';
import {
  clearRequests,
  createReceiver,
  findReceiver,
  listRequests,
  patientsInBody,
  type Receiver,
  readRequest,
  receiverRefusal,
  setResponse,
} from '../../../product/webhooks/receiver/receivers.ts';
import { addEndpoint, changeEndpoint } from '../../../product/webhooks/registration.ts';
import { rotateSecret } from '../../../product/webhooks/secrets.ts';
import { testEndpoint } from '../../../product/webhooks/sendWebhook.ts';
import { changeWebhook } from './changeWebhook.ts';
import { describeEndpoints, readEndpointHours, readLastError } from './queries.ts';
import {
  type ReceiverState,
  received_request,
  received_row,
  receiver,
  webhook_bin,
  webhook_error,
  webhook_row,
  webhook_secret,
  webhook_test_result,
} from './schema.ts';

export const webhooks_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.webhooks.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/webhooks',
    auth: 'operator_in_client',
    audited: false,
    summary: 'List webhook endpoints with their delivery statistics',
    params: Type.Object({ client_id: Type.String() }),
    response: Type.Object({ success, webhooks: Type.Array(webhook_row) }),
    handle: async ({ ctx, client }) => ({ success: true, webhooks: await describeEndpoints(ctx.db, client.id) }),
  }),
  endpoint({
    id: 'dashboard.webhooks.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}',
    auth: 'operator_in_client',
    audited: false,
    summary: 'Retrieve a webhook endpoint with its attempts by hour',
    params: Type.Object({ client_id: Type.String(), id: Type.String() }),
    response: Type.Object({ success, webhook: webhook_row, hours: Type.Array(webhook_bin) }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params: { id } }) => {
      const webhook = (await describeEndpoints(ctx.db, client.id)).find((each) => each.id === id);
      if (!webhook) throw apiError('record_not_found', { noun: 'Webhook', id });
      return { success: true, webhook, hours: await readEndpointHours(ctx.db, client.id, id) };
    },
  }),
  endpoint({
    id: 'dashboard.webhooks.last-error',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}/last-error',
    auth: 'operator_in_client',
    summary: 'Retrieve the last failed attempt at a webhook endpoint, with the beginning of the response',
    params: Type.Object({ client_id: Type.String(), id: Type.String() }),
    response: Type.Object({ success, error: nullable(webhook_error) }),
    handle: async ({ ctx, client, params: { id }, auditPatients }) => {
      const last = await readLastError(ctx.db, client.id, id);
      auditPatients(last?.mrns ?? []);
      return { success: true, error: last?.error ?? null };
    },
  }),
  endpoint({
    id: 'dashboard.webhooks.create',
    fresh_sign_in: true,
    second_person: { action: 'webhooks', returns_secret: true },
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/webhooks',
    auth: 'operator_in_client',
    summary: 'Create a webhook endpoint; the response contains its secret',
    params: Type.Object({ client_id: Type.String() }),
    body: WebhookRequest,
    response: Type.Object({ success, ...webhook_secret.properties }),
    errors: ['webhook_url_refused', 'webhook_endpoints_max'],
    handle: async ({ ctx, client, body, auditSubject, inTransaction }) => {
      const response = await inTransaction(async (tx) => {
        const { webhook_url: url, ...fields } = body;
        const { id, secret, before, after } = await addEndpoint(ctx, tx, client.id, { url, ...fields });
        auditSubject({ subject: id, detail: describeChange(before, after) });
        return { success: true, webhook_id: id, webhook_secret: secret };
      });
      ctx.notifications.notify('chartwire_live', `events ${client.id}`);
      return response;
    },
  }),
  changeWebhook({
    id: 'dashboard.webhooks.update',
    fresh_sign_in: true,
    second_person: {
      action: 'webhooks',
      when: ({ body }) => body.webhook_url !== undefined,
      describe: describeWebhook,
    },
    method: 'PATCH',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}',
    summary: 'Change the URL of a webhook endpoint, what it receives, or whether it is paused',
    body: WebhookChanges,
    response: Type.Object({ success }),
    errors: ['webhook_url_refused'],
    change: async (ctx, tx, { webhook, body: { webhook_url: url, ...changes } }) => {
      await changeEndpoint(ctx, tx, webhook, { url, ...changes });
      return {};
    },
  }),
  changeWebhook({
    id: 'dashboard.webhooks.send-waiting',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}/send-waiting',
    summary: 'Send the waiting deliveries of a webhook endpoint now instead of at their next attempt',
    body: Type.Object({}),
    response: Type.Object({ success, deliveries: Type.Integer() }),
    change: async (_ctx, tx, { webhook }) => ({ deliveries: await hurryDeliveries(tx, webhook.id) }),
  }),
  changeWebhook({
    id: 'dashboard.webhooks.rotate',
    fresh_sign_in: true,
    second_person: { action: 'webhooks', returns_secret: true, describe: describeWebhook },
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}/rotate-secret',
    summary:
      'Rotate the secret of a webhook endpoint; unless rotated immediately, the old one stays valid for 24 hours',
    body: Type.Object({ immediately }),
    response: Type.Object({ success, ...webhook_secret.properties }),
    describe: ({ immediately = false }) => ({ secret: 'rotated', immediately }),
    change: async (ctx, tx, { client_id, webhook, body: { immediately } }) => {
      const rotated = await rotateSecret(ctx, tx, client_id, { endpoint_id: webhook.id, immediately });
      return rotated && { webhook_id: rotated.id, webhook_secret: rotated.secret };
    },
  }),
  changeWebhook({
    id: 'dashboard.webhooks.set-certificate',
    fresh_sign_in: true,
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}/certificate',
    summary: 'Set the certificate that the service presents to the receiver of a webhook endpoint',
    body: key_pair,
    response: Type.Object({ success }),
    change: async (ctx, tx, { client_id, webhook, body }) => {
      await saveCertificate(ctx, tx, { ...webhook, client_id }, body);
      return {};
    },
  }),
  changeWebhook({
    id: 'dashboard.webhooks.remove-certificate',
    fresh_sign_in: true,
    method: 'DELETE',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}/certificate',
    summary: 'Present no certificate to the receiver of a webhook endpoint',
    body: Type.Object({}),
    response: Type.Object({ success }),
    change: async (_ctx, tx, { webhook }) => {
      await removeCertificate(tx, webhook.id);
      return {};
    },
  }),
  changeWebhook({
    id: 'dashboard.webhooks.disable',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}/disable',
    summary: 'Disable a webhook endpoint; pending deliveries fail',
    body: Type.Object({}),
    response: Type.Object({ success }),
    change: async (_ctx, tx, { webhook }) => {
      await disableEndpoint(tx, webhook.id, 'Disabled by an operator.');
      return {};
    },
  }),
  changeWebhook({
    id: 'dashboard.webhooks.enable',
    fresh_sign_in: true,
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}/enable',
    summary: 'Enable a webhook endpoint',
    body: Type.Object({}),
    response: Type.Object({ success }),
    change: async (_ctx, tx, { webhook }) => ((await enableEndpoint(tx, webhook.id)) ? {} : undefined),
  }),
  changeWebhook({
    id: 'dashboard.webhooks.delete',
    fresh_sign_in: true,
    method: 'DELETE',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}',
    summary: 'Delete a webhook endpoint with its secrets and deliveries',
    body: Type.Object({}),
    response: Type.Object({ success }),
    change: async (_ctx, tx, { webhook }) => ((await removeEndpoint(tx, webhook.id)) ? {} : undefined),
  }),
  endpoint({
    id: 'dashboard.webhooks.try',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/webhooks/{id}/try',
    auth: 'operator_in_client',
    summary: 'Send a signed test event to a webhook endpoint',
    params: Type.Object({ client_id: Type.String(), id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, ...webhook_test_result.properties }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params: { id: webhook_id } }) => {
      const result = await testEndpoint(ctx, client.id, webhook_id);
      if (!result) throw apiError('record_not_found', { noun: 'Webhook', id: webhook_id });
      return { success: true, ...result };
    },
  }),
  endpoint({
    id: 'dashboard.receiver.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/receiver',
    auth: 'operator_in_client',
    audited: false,
    summary: 'Retrieve the built-in receiver of a client',
    params: Type.Object({ client_id: Type.String() }),
    response: Type.Object({ success, receiver: nullable(receiver), refused: nullable(Type.String()) }),
    handle: async ({ ctx, client }) => {
      const receiver = await ctx.db.tenant(client.id, findReceiver);
      return { success: true, receiver: receiver ? describeReceiver(receiver) : null, refused: receiverRefusal(ctx) };
    },
  }),
  endpoint({
    id: 'dashboard.receiver.create',
    second_person: { action: 'webhooks' },
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/receiver',
    auth: 'operator_in_client',
    summary: 'Register the built-in receiver as a webhook endpoint of the client',
    params: Type.Object({ client_id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, receiver }),
    errors: ['webhook_url_refused', 'webhook_endpoints_max'],
    handle: async ({ ctx, client, auditSubject, inTransaction }) => {
      const response = await inTransaction(async (tx) => {
        const created = await createReceiver(ctx, tx, client.id);
        auditSubject({ subject: created.receiver.endpoint_id, detail: created.detail });
        return { success: true, receiver: describeReceiver(created.receiver) };
      });
      ctx.notifications.notify('chartwire_live', `events ${client.id}`);
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.receiver.update',
    surface: 'dashboard',
    method: 'PATCH',
    path: '/dashboard/api/clients/{client_id}/receiver',
    auth: 'operator_in_client',
    summary: 'Set how the built-in receiver responds; without a status it closes the connection',
    params: Type.Object({ client_id: Type.String() }),
    body: Type.Object({
      status: clearable(Type.Integer({ minimum: 200, maximum: 599 })),
      delay_ms: Type.Integer({ minimum: 0, maximum: 20_000 }),
      times: clearable(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    }),
    response: Type.Object({ success }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, body: { status, delay_ms, times }, inTransaction }) => {
      const response = await inTransaction(async (tx) => {
        const updated = await setResponse(tx, { status: status ?? null, delay_ms, times: times ?? null });
        if (!updated) throw apiError('record_not_found', { noun: 'Receiver', id: client.public_id });
        return { success: true };
      });
      ctx.notifications.notify('chartwire_live', `events ${client.id}`);
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.received.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/receiver/requests',
    auth: 'operator_in_client',
    audited: false,
    summary: 'List the requests the built-in receiver got, newest first',
    params: Type.Object({ client_id: Type.String() }),
    query: Type.Object({
      before: Type.Optional(id),
      page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
    }),
    response: Type.Object({ success, rows: Type.Array(received_row), next: nullable(Type.String()) }),
    handle: async ({ ctx, client, query: { before, page_size = 50 } }) => {
      const rows = await listRequests(ctx.db, client.id, { before, page_size });
      return { success: true, rows, next: rows.length < page_size ? null : (rows.at(-1)?.id ?? null) };
    },
  }),
  endpoint({
    id: 'dashboard.received.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/receiver/requests/{id}',
    auth: 'operator_in_client',
    summary: 'Retrieve a request the built-in receiver got, with its headers and body',
    params: Type.Object({ client_id: Type.String(), id: Type.String() }),
    reveals: { kind: 'received_request', param: 'id' },
    response: Type.Object({ success, request: received_request, details_hidden }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, auditPatients }) => {
      const request_id = parseId(params.id);
      const request = request_id && (await readRequest(ctx.db, client.id, request_id));
      if (!request) throw apiError('record_not_found', { noun: 'Request', id: params.id });
      auditPatients(patientsInBody(request.body));
      return { success: true, request };
    },
  }),
  endpoint({
    id: 'dashboard.received.clear',
    surface: 'dashboard',
    method: 'DELETE',
    path: '/dashboard/api/clients/{client_id}/receiver/requests',
    auth: 'operator_in_client',
    summary: 'Delete the requests the built-in receiver got',
    params: Type.Object({ client_id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, cleared: Type.Integer() }),
    handle: async ({ ctx, client, inTransaction }) => {
      const response = await inTransaction(async (tx) => ({ success: true, cleared: await clearRequests(tx) }));
      ctx.notifications.notify('chartwire_live', `events ${client.id}`);
      return response;
    },
  }),
];

/** Without the path, which may contain a secret. */
async function describeWebhook({ ctx, client, params }: StoredRequest<unknown>): Promise<string> {
  const id = String(params.id);
  const webhook = client && (await ctx.db.tenant(client.id, (tx) => findEndpoint(tx, id)));
  if (!webhook) throw apiError('record_not_found', { noun: 'Webhook', id });
  return `webhook endpoint at ${new URL(webhook.url).host}`;
}

function describeReceiver({ endpoint_id, ...state }: Receiver): ReceiverState {
  return { webhook_id: endpoint_id, ...state };
}
