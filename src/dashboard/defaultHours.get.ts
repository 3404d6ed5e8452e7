import { Type } from 'typebox';
import { endpoint } from '../api/endpoint.ts';
import { default_hours } from '../model/dashboard/records.ts';
import { success } from '../model/fields.ts';
import { readDefaultHours } from '../records/defaultHours.ts';
import { openOrganisation } from './openOrganisation.ts';
import { organisation_params, organisation_path } from './organisationPath.ts';

export default endpoint({
  id: 'dashboard.default-hours.get',
  method: 'GET',
  path: `${organisation_path}/default-hours`,
  auth: 'operator_in_client',
  audited: false,
  summary: 'What an organisation’s providers without hours work by',
  params: organisation_params,
  response: Type.Object({ success, ...default_hours.properties }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const scope = await openOrganisation(ctx, client, params);
    return { success: true, ...(await readDefaultHours(ctx.db, scope)) };
  },
});
