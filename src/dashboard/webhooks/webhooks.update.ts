import { Type } from 'typebox';
import { resettable, success } from '../../model/fields.ts';
import { WebhookRequest } from '../../model/webhook.ts';
import { setEventTypes } from '../../webhooks/endpoints.ts';
import { changeWebhook } from './changeWebhook.ts';

const { event_types } = WebhookRequest.properties;

export default changeWebhook({
  id: 'dashboard.webhooks.update',
  method: 'PATCH',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}',
  summary: 'Choose the types of events that an address is told of',
  body: Type.Object({ event_types: resettable(event_types) }),
  response: Type.Object({ success }),
  change: async (_ctx, tx, { webhook_id, body }) =>
    (await setEventTypes(tx, webhook_id, body.event_types ?? null)) ? {} : undefined,
});
