import { Type } from 'typebox';
import { success } from '../../model/fields.ts';
import { disableEndpoint } from '../../webhooks/disableEndpoint.ts';
import { lockEndpoint } from '../../webhooks/endpoints.ts';
import { changeWebhook } from './changeWebhook.ts';

export default changeWebhook({
  id: 'dashboard.webhooks.disable',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}/disable',
  summary: 'Send no more to a webhook address; what waits for it ends as failed',
  body: Type.Object({}),
  response: Type.Object({ success }),
  change: async (_ctx, tx, { webhook_id }) => {
    if (!(await lockEndpoint(tx, webhook_id))) return undefined;
    await disableEndpoint(tx, webhook_id, 'An operator disabled it.');
    return {};
  },
});
