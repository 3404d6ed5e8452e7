import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { history_bin, overview } from '../../model/dashboard/overview.ts';
import { type Range, ranges } from '../../model/dashboard/ranges.ts';
import { success } from '../../model/fields.ts';
import { listLoginRequired } from '../../product/accounts/accounts.ts';
import { listOpenAlertsOf } from '../../product/alerts/describeAlerts.ts';
import { listOpenReviews, readClientLoads } from '../../product/jobs/clientLoads.ts';
import { countFailedDay, listFailureGroups } from '../../product/jobs/failureGroups.ts';
import { readJobHistory } from '../../product/jobs/jobHistory.ts';
import { findRecentRestore } from '../../product/jobs/restores.ts';
import { listFailing } from '../../product/webhooks/endpoints.ts';

/** Alerts about accounts, endpoints and reviews, which the overview lists with details and actions. */
const shown_with_details = ['account_login_required', 'endpoint_failing', 'jobs_need_review'] as const;

export const overviewGet = endpoint({
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
      listOpenAlertsOf(ctx, client.id, shown_with_details),
      findRecentRestore(ctx.db.system),
    ]);
    const attention = { failures, accounts, endpoints, reviews, alerts };
    return { success: true, overview: { clients, failed_day, attention, restore } };
  },
});

// Object.keys() loses the type of a literal's keys.
const range_names = Object.keys(ranges) as Range[];

export const overviewHistory = endpoint({
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
});
