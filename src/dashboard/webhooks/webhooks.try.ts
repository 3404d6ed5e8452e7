import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { webhook_tried } from '../../model/dashboard/webhooks.ts';
import { success } from '../../model/fields.ts';
import { tryEndpoint } from '../../webhooks/tryEndpoint.ts';

export default endpoint({
  id: 'dashboard.webhooks.try',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}/try',
  auth: 'operator_in_client',
  summary: 'Send a webhook address a signed test event now',
  params: Type.Object({ client_id: Type.String(), id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, ...webhook_tried.properties }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params: { id: webhook_id } }) => {
    const tried = await tryEndpoint(ctx, client.id, webhook_id);
    if (!tried) throw apiError('record_not_found', { noun: 'Webhook', id: webhook_id });
    return { success: true, ...tried };
  },
});
