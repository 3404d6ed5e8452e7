import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import {
  dashboard_kinds,
  isSearched,
  type KindRow,
  kind_row,
  latest_sync,
} from '../../../model/dashboard/recordKinds.ts';
import { nullable, success } from '../../../model/fields.ts';
import { countRecords, latestSync } from '../../../product/records/countRecords.ts';
import { openOrganization, organization_params, organization_path } from './organization.ts';

export default endpoint({
  id: 'dashboard.records.count',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/records`,
  auth: 'operator_in_client',
  role: 'read_only',
  audited: false,
  summary: 'List record kinds with their number of records and last sync',
  params: organization_params,
  response: Type.Object({ success, kinds: Type.Array(kind_row), sync: nullable(latest_sync) }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const scope = await openOrganization(ctx, client, params);
    const [counts, sync] = await Promise.all([countRecords(ctx.db, scope), latestSync(ctx.db, scope)]);
    const kinds = dashboard_kinds.map((kind): KindRow => {
      const { name, labels, dashboard_columns, filters } = kind;
      const count = counts.find((each) => each.kind === name);
      return {
        kind: name,
        label: labels.plural.replace(/^./, (letter) => letter.toUpperCase()),
        reads: isSearched(kind) ? 'search' : 'all',
        filters: Object.keys(filters),
        columns: [...dashboard_columns],
        total: count?.total ?? 0,
        synced_at: count?.synced_at ?? null,
        first_sync_pending: count?.first_sync_pending ?? true,
        refused_in: count?.refused_in ?? null,
      };
    });
    return { success: true, kinds, sync };
  },
});
