import { Type } from 'typebox';
import { listLoginRequired } from '../../accounts/accounts.ts';
import { endpoint } from '../../http/endpoint.ts';
import { listOpenReviews, readClientLoads } from '../../jobs/clientLoads.ts';
import { overview } from '../../model/dashboard/overview.ts';
import { success } from '../../model/fields.ts';
import { listFailing } from '../../webhooks/endpoints.ts';

export default endpoint({
  id: 'dashboard.overview.get',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/overview',
  auth: 'operator_in_client',
  // Numbers, and names of accounts: no health data.
  audited: false,
  summary: 'What waits now, and what needs a person',
  params: Type.Object({ client_id: Type.String() }),
  response: Type.Object({ success, overview }),
  handle: async ({ ctx, client }) => {
    const [clients, accounts, endpoints, reviews] = await Promise.all([
      readClientLoads(ctx),
      listLoginRequired(ctx.db, client.id),
      listFailing(ctx.db, client.id),
      listOpenReviews(ctx.db, client.id),
    ]);
    return { success: true, overview: { clients, attention: { accounts, endpoints, reviews } } };
  },
});
