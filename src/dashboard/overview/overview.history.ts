import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { readJobHistory } from '../../jobs/jobHistory.ts';
import { history_bin } from '../../model/dashboard/overview.ts';
import { type Range, ranges } from '../../model/dashboard/ranges.ts';
import { success } from '../../model/fields.ts';

// The keys of a literal are exactly its type's.
const range_names = Object.keys(ranges) as Range[];

export default endpoint({
  id: 'dashboard.overview.history',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/overview/history',
  auth: 'operator_in_client',
  // Numbers alone.
  audited: false,
  summary: 'Jobs by the time they ended, in each state, and how long they took',
  params: Type.Object({ client_id: Type.String() }),
  query: Type.Object({ range: Type.Enum(range_names) }),
  response: Type.Object({ success, bins: Type.Array(history_bin) }),
  handle: async ({ ctx, client, query }) => ({
    success: true,
    bins: await readJobHistory(ctx.db, client.id, query.range),
  }),
});
