import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { kind_row } from '../../model/dashboard/records.ts';
import { success } from '../../model/fields.ts';
import { countRecords } from '../../records/countRecords.ts';
import { openOrganization } from './openOrganization.ts';
import { organization_params, organization_path } from './organizationPath.ts';

export default endpoint({
  id: 'dashboard.records.count',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/records`,
  auth: 'operator_in_client',
  audited: false,
  summary: 'How many records of each kind an organization has, and when each kind last came in',
  params: organization_params,
  response: Type.Object({ success, kinds: Type.Array(kind_row) }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const scope = await openOrganization(ctx, client, params);
    return { success: true, kinds: await countRecords(ctx.db, scope) };
  },
});
