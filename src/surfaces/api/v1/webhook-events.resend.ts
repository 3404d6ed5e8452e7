import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { resendEvent } from '../../../product/webhooks/resend.ts';

export default endpoint({
  id: 'webhook-events.resend',
  surface: 'api',
  group: 'Events',
  method: 'POST',
  path: '/v1/webhook-events/{id}/resend',
  auth: 'account',
  while_expired: true,
  summary: 'Resend an event',
  agent_tool: true,
  body: Type.Object({}),
  params: Type.Object({ id: Type.String({ description: 'ID of the event' }) }),
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Event queued for delivery.'] }),
    event_id: Type.String(),
    deliveries: Type.Integer({ description: 'Number of endpoints to which the event is sent again' }),
  }),
  errors: ['record_not_found'],
  found_in: { id: 'GET /v1/webhook-events#/webhook_events/0/id' },
  handle: async ({ ctx, account, params, auditPatients, inTransaction }) => {
    const response = await inTransaction(async (tx) => {
      const resent = await resendEvent(tx, account.client_id, account.id, params.id);
      if (!resent) throw apiError('record_not_found', { noun: 'Event', id: params.id });
      const { deliveries, mrns } = resent;
      auditPatients(mrns);
      return { success: true, message: 'Event queued for delivery.', event_id: params.id, deliveries };
    });
    ctx.notifications.notify('chartwire_deliveries', account.client_id);
    return response;
  },
});
