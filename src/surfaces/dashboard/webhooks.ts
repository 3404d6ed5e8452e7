import { type Static, type TObject, Type } from 'typebox';
import { apiError } from '../../catalog/errors.ts';
import { type Endpoint, type EndpointOptions, endpoint } from '../../http/endpoint.ts';
import {
  webhook_bin,
  webhook_error,
  webhook_row,
  webhook_secret,
  webhook_test_result,
} from '../../model/dashboard/webhooks.ts';
import { changesOf, immediately, nullable, success } from '../../model/fields.ts';
import { WebhookRequest } from '../../model/webhook.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Context } from '../../product/context.ts';
import { addEndpoint } from '../../product/webhooks/addEndpoint.ts';
import { changeUrl } from '../../product/webhooks/changeUrl.ts';
import { hurryDeliveries } from '../../product/webhooks/deliveries.ts';
import { describeChange } from '../../product/webhooks/describeChange.ts';
import { readEndpointHours, readLastError } from '../../product/webhooks/describeEndpoint.ts';
import { describeEndpoints } from '../../product/webhooks/describeEndpoints.ts';
import { disableEndpoint } from '../../product/webhooks/disableEndpoint.ts';
import { enableEndpoint, findEndpoint, lockEndpoint, setEventTypes } from '../../product/webhooks/endpoints.ts';
import { removeEndpoint } from '../../product/webhooks/removeEndpoint.ts';
import { rotateSecret } from '../../product/webhooks/rotateSecret.ts';
import { testEndpoint } from '../../product/webhooks/testEndpoint.ts';

export const webhooksList = endpoint({
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
});

export const webhooksGet = endpoint({
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
});

export const webhooksLastError = endpoint({
  id: 'dashboard.webhooks.last-error',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}/last-error',
  auth: 'operator_in_client',
  summary: 'Retrieve the last failed attempt at a webhook endpoint, with the beginning of the response',
  params: Type.Object({ client_id: Type.String(), id: Type.String() }),
  response: Type.Object({ success, error: nullable(webhook_error) }),
  handle: async ({ ctx, client, params: { id }, auditPatients }) => {
    const found = await readLastError(ctx.db, client.id, id);
    auditPatients(found?.mrns ?? []);
    return { success: true, error: found?.error ?? null };
  },
});

export const webhooksCreate = endpoint({
  id: 'dashboard.webhooks.create',
  fresh_sign_in: true,
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
      const requested = { url: body.webhook_url, event_types: body.event_types };
      const { id, secret, before, after } = await addEndpoint(ctx, tx, client.id, requested);
      auditSubject({ subject: id, detail: describeChange(before, after) });
      return { success: true, webhook_id: id, webhook_secret: secret };
    });
    ctx.notifications.notify('chartwire_live', `events ${client.id}`);
    return response;
  },
});

export const webhooksUpdate = changeWebhook({
  id: 'dashboard.webhooks.update',
  fresh_sign_in: true,
  method: 'PATCH',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}',
  summary: 'Change the URL or the event types of a webhook endpoint',
  body: Type.Object(changesOf(WebhookRequest)),
  response: Type.Object({ success }),
  errors: ['webhook_url_refused'],
  change: async (ctx, tx, { client_id, webhook_id: id, body: { webhook_url: url, event_types } }) => {
    if (url !== undefined && !(await changeUrl(ctx, tx, client_id, { id, url }))) return undefined;
    if (event_types !== undefined && !(await setEventTypes(tx, id, event_types))) return undefined;
    return {};
  },
});

export const webhooksSendWaiting = changeWebhook({
  id: 'dashboard.webhooks.send-waiting',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}/send-waiting',
  summary: 'Send the waiting deliveries of a webhook endpoint now instead of at their next attempt',
  body: Type.Object({}),
  response: Type.Object({ success, deliveries: Type.Integer() }),
  change: async (_ctx, tx, { webhook_id }) => {
    if (!(await lockEndpoint(tx, webhook_id))) return undefined;
    return { deliveries: await hurryDeliveries(tx, webhook_id) };
  },
});

export const webhooksRotate = changeWebhook({
  id: 'dashboard.webhooks.rotate',
  fresh_sign_in: true,
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}/rotate-secret',
  summary: 'Rotate the secret of a webhook endpoint; unless rotated immediately, the old one stays valid for 24 hours',
  body: Type.Object({ immediately }),
  response: Type.Object({ success, ...webhook_secret.properties }),
  describe: ({ immediately = false }) => ({ secret: 'rotated', immediately }),
  change: async (ctx, tx, { client_id, webhook_id: endpoint_id, body: { immediately } }) => {
    const rotated = await rotateSecret(ctx, tx, client_id, { endpoint_id, immediately });
    return rotated && { webhook_id: rotated.id, webhook_secret: rotated.secret };
  },
});

export const webhooksDisable = changeWebhook({
  id: 'dashboard.webhooks.disable',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}/disable',
  summary: 'Disable a webhook endpoint; pending deliveries fail',
  body: Type.Object({}),
  response: Type.Object({ success }),
  change: async (_ctx, tx, { webhook_id }) => {
    if (!(await lockEndpoint(tx, webhook_id))) return undefined;
    await disableEndpoint(tx, webhook_id, 'Disabled by an operator.');
    return {};
  },
});

export const webhooksEnable = changeWebhook({
  id: 'dashboard.webhooks.enable',
  fresh_sign_in: true,
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}/enable',
  summary: 'Enable a webhook endpoint',
  body: Type.Object({}),
  response: Type.Object({ success }),
  change: async (_ctx, tx, { webhook_id }) => ((await enableEndpoint(tx, webhook_id)) ? {} : undefined),
});

export const webhooksDelete = changeWebhook({
  id: 'dashboard.webhooks.delete',
  fresh_sign_in: true,
  method: 'DELETE',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}',
  summary: 'Delete a webhook endpoint with its secrets and deliveries',
  body: Type.Object({}),
  response: Type.Object({ success }),
  change: async (_ctx, tx, { webhook_id }) => ((await removeEndpoint(tx, webhook_id)) ? {} : undefined),
});

export const webhooksTest = endpoint({
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
});

type Change<Body extends TObject> = Pick<
  EndpointOptions<'operator_in_client', Body, undefined, undefined>,
  'id' | 'method' | 'path' | 'summary' | 'response' | 'errors' | 'fresh_sign_in'
> & {
  body: Body;
  /** What the audit record says beyond the endpoint's URL, status and event types. */
  describe?: (body: Static<Body>) => Record<string, unknown>;
  /** Returns the response fields besides `success`, or undefined if there is no such webhook endpoint. */
  change: (
    ctx: Context,
    tx: Tx,
    target: { client_id: string; webhook_id: string; body: Static<Body> },
  ) => Promise<Record<string, unknown> | undefined>;
};

/** An endpoint that changes one webhook endpoint of a client. Workers and open dashboards are notified. */
function changeWebhook<Body extends TObject>({
  change,
  describe = () => ({}),
  errors = [],
  ...declared
}: Change<Body>): Endpoint {
  return endpoint({
    ...declared,
    surface: 'dashboard',
    auth: 'operator_in_client',
    params: Type.Object({ client_id: Type.String(), id: Type.String() }),
    errors: ['record_not_found', ...errors],
    handle: async ({ ctx, client, params: { id: webhook_id }, body, inTransaction, auditSubject }) => {
      const not_found = apiError('record_not_found', { noun: 'Webhook', id: webhook_id });
      const response = await inTransaction(async (tx) => {
        const before = (await lockEndpoint(tx, webhook_id)) ? await findEndpoint(tx, webhook_id) : undefined;
        if (!before) throw not_found;
        // Parsed by this very schema, but its type is lost through the generic parameter.
        const requested = body as Static<Body>;
        const changed = await change(ctx, tx, { client_id: client.id, webhook_id, body: requested });
        if (!changed) throw not_found;
        const after = await findEndpoint(tx, webhook_id);
        auditSubject({ detail: { ...describeChange(before, after), ...describe(requested) } });
        return { success: true, ...changed };
      });
      ctx.notifications.notify('chartwire_deliveries', client.id);
      return response;
    },
  });
}
