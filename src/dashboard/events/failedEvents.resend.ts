import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { resent_batch } from '../../model/dashboard/events.ts';
import { date_time, id, success } from '../../model/fields.ts';
import { resendFailed } from '../../webhooks/resendFailed.ts';

/** One batch; the page asks for the next one until there is none, and shows how far it is. */
export default endpoint({
  id: 'dashboard.failedEvents.resend',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/failed-events/resend',
  auth: 'operator_in_client',
  summary: 'Send a batch of the events that are failed again',
  params: Type.Object({ client_id: Type.String() }),
  body: Type.Object({ since: date_time, until: date_time, after: Type.Optional(id) }),
  response: Type.Object({ success, ...resent_batch.properties }),
  handle: async ({ ctx, body: { since, until, after }, auditPatients, auditSubject, inTransaction }) => {
    const answer = await inTransaction(async (tx) => {
      const { mrns, ...batch } = await resendFailed(tx, { since, until, after });
      auditPatients(mrns);
      auditSubject({ detail: { since, resent: batch.resent } });
      return { success: true, ...batch };
    });
    ctx.notifications.notify('chartwire_deliveries');
    return answer;
  },
});
