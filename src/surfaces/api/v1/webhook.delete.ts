import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { describeChange } from '../../../product/webhooks/endpoints.ts';
import { removeEndpoint } from '../../../product/webhooks/disableEndpoint.ts';

export default endpoint({
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
