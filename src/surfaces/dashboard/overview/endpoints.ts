import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { requireConnector } from '../../../product/accounts/connectAccount.ts';
import type { Context } from '../../../product/context.ts';
import { listOutages } from '../../../product/jobs/outages.ts';
import { listFailedLinks } from '../../../product/link/connectionReports.ts';
import {
  listFailing,
  listFailureGroups,
  listLoginRequired,
  listOpenReviews,
  listOtherAlerts,
  listRepeatable,
  listSyncProblems,
} from './attention.ts';
import { describeFlow } from './flow.ts';
import { countFailedDay, findRecentRestore, readClientLoads, readFirstSteps, readJobHistory } from './queries.ts';
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
      const outages = await listOutages(ctx.db, client.id);
      const [clients, day, attention, flow, first_steps, restore] = await Promise.all([
        readClientLoads(ctx, scope),
        countFailedDay(ctx.db, client.id),
        readAttention(ctx, client.id),
        describeFlow(ctx, client.id, outages),
        readFirstSteps(ctx.db, client.id),
        findRecentRestore(ctx.db.system),
      ]);
      const named = outages.map(({ emr, ...each }) => ({ ...each, emr_name: requireConnector(ctx, emr).display_name }));
      const counts = { failed_day: day.failed, partial_day: day.partial };
      const overview = { clients, ...counts, attention: { outages: named, ...attention }, flow, first_steps, restore };
      return { success: true, overview };
    },
  }),
  endpoint({
    id: 'dashboard.overview.repeatable',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/overview/repeatable',
    auth: 'operator_in_client',
    audited: false,
    summary: 'List the failed jobs of a group that can succeed if they are run again',
    params: Type.Object({ client_id: Type.String() }),
    query: Type.Object({
      code: Type.String({ maxLength: 100 }),
      /** Absent for a code that has one reason. */
      reason: Type.Optional(Type.String({ maxLength: 20 })),
    }),
    response: Type.Object({ success, job_ids: Type.Array(Type.Integer()) }),
    handle: async ({ ctx, client, query: { code, reason = '' } }) => ({
      success: true,
      job_ids: await listRepeatable(ctx.db, client.id, { code, reason }),
    }),
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

async function readAttention({ db }: Pick<Context, 'db'>, client_id: string) {
  const [failures, accounts, endpoints, links, syncs, reviews, alerts] = await Promise.all([
    listFailureGroups(db, client_id),
    listLoginRequired(db, client_id),
    listFailing(db, client_id),
    listFailedLinks(db, client_id),
    listSyncProblems(db, client_id),
    listOpenReviews(db, client_id),
    listOtherAlerts(db, client_id),
  ]);
  return { failures, accounts, endpoints, links, syncs, reviews, alerts };
}
