import { Type } from 'typebox';
import { success } from '../../model/fields.ts';
import { enableEndpoint } from '../../webhooks/endpoints.ts';
import { changeWebhook } from './changeWebhook.ts';

export default changeWebhook({
  id: 'dashboard.webhooks.enable',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}/enable',
  summary: 'Send to a webhook address again',
  body: Type.Object({}),
  response: Type.Object({ success }),
  change: async (_ctx, tx, { webhook_id }) => ((await enableEndpoint(tx, webhook_id)) ? {} : undefined),
});
