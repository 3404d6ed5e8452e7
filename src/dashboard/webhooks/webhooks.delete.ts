import { Type } from 'typebox';
import { success } from '../../model/fields.ts';
import { removeEndpoint } from '../../webhooks/removeEndpoint.ts';
import { changeWebhook } from './changeWebhook.ts';

export default changeWebhook({
  id: 'dashboard.webhooks.delete',
  method: 'DELETE',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}',
  summary: 'Remove a webhook address with its secrets and deliveries',
  body: Type.Object({}),
  response: Type.Object({ success }),
  change: async (_ctx, tx, { webhook_id }) => ((await removeEndpoint(tx, webhook_id)) ? {} : undefined),
});
