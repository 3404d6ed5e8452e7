import { endpoint } from '../../http/endpoint.ts';
import { AvailabilityAnswer, AvailabilityQuery } from '../../model/availability.ts';
import { askAvailability } from '../../records/askAvailability.ts';
import { openOrganization } from './openOrganization.ts';
import { organization_params, organization_path } from './organizationPath.ts';

export default endpoint({
  id: 'dashboard.availability.list',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/availability`,
  auth: 'operator_in_client',
  audited: false,
  summary: 'When providers are free, as applications are told',
  params: organization_params,
  query: AvailabilityQuery,
  response: AvailabilityAnswer,
  errors: ['record_not_found', 'provider_not_found', 'location_not_found'],
  handle: async ({ ctx, client, params, query }) =>
    askAvailability(ctx.db, await openOrganization(ctx, client, params), query),
});
