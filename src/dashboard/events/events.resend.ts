import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { success } from '../../model/fields.ts';
import { describeEvent } from '../../webhooks/describeEvent.ts';
import { resendEvent } from '../../webhooks/resend.ts';

export default endpoint({
  id: 'dashboard.events.resend',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/events/{id}/resend',
  auth: 'operator_in_client',
  summary: 'Send an event again to every endpoint that wants it',
  params: Type.Object({ client_id: Type.String(), id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, deliveries: Type.Integer() }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, auditPatients, inTransaction }) => {
    const id = parseId(params.id);
    const event = id && (await describeEvent(ctx.db, client.id, id));
    const answer = await inTransaction(async (tx) => {
      const resent = event && (await resendEvent(tx, client.id, event.account.id, event.id));
      if (!resent) throw apiError('record_not_found', { noun: 'Event', id: params.id });
      auditPatients(resent.mrns);
      return { success: true, deliveries: resent.deliveries };
    });
    ctx.notifications.notify('chartwire_deliveries');
    return answer;
  },
});
