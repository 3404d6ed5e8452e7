import { Type } from 'typebox';
import { endpoint } from '../api/endpoint.ts';
import { kind_row } from '../model/dashboard/records.ts';
import { success } from '../model/fields.ts';
import { countRecords } from '../records/countRecords.ts';
import { openOrganisation } from './openOrganisation.ts';
import { organisation_params, organisation_path } from './organisationPath.ts';

export default endpoint({
  id: 'dashboard.records.count',
  method: 'GET',
  path: `${organisation_path}/records`,
  auth: 'operator_in_client',
  audited: false,
  summary: 'How many records of each kind an organisation has, and when each kind last came in',
  params: organisation_params,
  response: Type.Object({ success, kinds: Type.Array(kind_row) }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const scope = await openOrganisation(ctx, client, params);
    return { success: true, kinds: await countRecords(ctx.db, scope) };
  },
});
