import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { failed_count } from '../../model/dashboard/events.ts';
import { date_time, success } from '../../model/fields.ts';
import { countFailed } from '../../webhooks/resendFailed.ts';

export default endpoint({
  id: 'dashboard.failedEvents.count',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/failed-events',
  auth: 'operator_in_client',
  audited: false,
  summary: 'How many events since a moment are failed now',
  params: Type.Object({ client_id: Type.String() }),
  query: Type.Object({ since: date_time }),
  response: Type.Object({ success, ...failed_count.properties }),
  handle: async ({ ctx, client, query }) => ({
    success: true,
    ...(await ctx.db.tenant(client.id, (tx) => countFailed(tx, query.since))),
  }),
});
