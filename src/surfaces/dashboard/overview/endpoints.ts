import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import {
  countFailedDay,
  findRecentRestore,
  listFailing,
  listFailureGroups,
  listLoginRequired,
  listOpenReviews,
  listOtherAlerts,
  readClientLoads,
  readJobHistory,
} from './queries.ts';
import { history_bin, overview, type Range, ranges } from './schema.ts';

// Object.keys() loses the type of a literal's keys.
const range_names = Object.keys(ranges) as Range[];

export const overview_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.overview.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/overview',
    auth: 'operator_in_client',
    // Counts and account names are not health data.
    audited: false,
    summary: 'Retrieve the current load and what needs attention',
    params: Type.Object({ client_id: Type.String() }),
    response: Type.Object({ success, overview }),
    handle: async ({ ctx, client, scope }) => {
      const [clients, failed_day, failures, accounts, endpoints, reviews, alerts, restore] = await Promise.all([
        readClientLoads(ctx, scope),
        countFailedDay(ctx.db, client.id),
        listFailureGroups(ctx.db, client.id),
        listLoginRequired(ctx.db, client.id),
        listFailing(ctx.db, client.id),
        listOpenReviews(ctx.db, client.id),
        listOtherAlerts(ctx.db, client.id),
        findRecentRestore(ctx.db.system),
      ]);
      const attention = { failures, accounts, endpoints, reviews, alerts };
      return { success: true, overview: { clients, failed_day, attention, restore } };
    },
  }),
  endpoint({
    id: 'dashboard.overview.history',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/overview/history',
    auth: 'operator_in_client',
    audited: false,
    summary: 'Retrieve finished jobs and their duration over time',
    params: Type.Object({ client_id: Type.String() }),
    query: Type.Object({ range: Type.Enum(range_names) }),
    response: Type.Object({ success, bins: Type.Array(history_bin) }),
    handle: async ({ ctx, client, query }) => ({
      success: true,
      bins: await readJobHistory(ctx.db, client.id, query.range),
    }),
  }),
];
