import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { dashboard_kinds, isSearched, type KindRow, kind_row } from '../../model/dashboard/recordKinds.ts';
import { success } from '../../model/fields.ts';
import { countRecords } from '../../records/countRecords.ts';
import { openOrganization, organization_params, organization_path } from './organization.ts';

export default endpoint({
  id: 'dashboard.records.count',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/records`,
  auth: 'operator_in_client',
  audited: false,
  summary: 'List record kinds with their number of records and last sync',
  params: organization_params,
  response: Type.Object({ success, kinds: Type.Array(kind_row) }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const counts = await countRecords(ctx.db, await openOrganization(ctx, client, params));
    const kinds = dashboard_kinds.map((kind): KindRow => {
      const { name, labels, dashboard_columns, filters } = kind;
      const { total = 0, synced_at = null } = counts.find((count) => count.kind === name) ?? {};
      return {
        kind: name,
        label: labels.plural.replace(/^./, (letter) => letter.toUpperCase()),
        reads: isSearched(kind) ? 'search' : 'all',
        filters: Object.keys(filters),
        columns: [...dashboard_columns],
        total,
        synced_at,
      };
    });
    return { success: true, kinds };
  },
});
