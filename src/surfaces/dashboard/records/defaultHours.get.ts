import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import { default_hours } from '../../../model/dashboard/records.ts';
import { success } from '../../../model/fields.ts';
import { readDefaultHours } from '../../../product/records/hours.ts';
import { openOrganization, organization_params, organization_path } from './organization.ts';

export default endpoint({
  id: 'dashboard.default-hours.get',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/default-hours`,
  auth: 'operator_in_client',
  role: 'read_only',
  audited: false,
  summary: 'Retrieve the default hours of an organization',
  params: organization_params,
  response: Type.Object({ success, ...default_hours.properties }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const scope = await openOrganization(ctx, client, params);
    return { success: true, ...(await readDefaultHours(ctx.db, scope)) };
  },
});
