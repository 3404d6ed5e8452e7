import { endpoint } from '../api/endpoint.ts';
import { AvailabilityAnswer, AvailabilityQuery } from '../model/availability.ts';
import { askAvailability } from '../records/askAvailability.ts';
import { openOrganisation } from './openOrganisation.ts';
import { organisation_params, organisation_path } from './organisationPath.ts';

export default endpoint({
  id: 'dashboard.availability.list',
  method: 'GET',
  path: `${organisation_path}/availability`,
  auth: 'operator_in_client',
  audited: false,
  summary: 'When providers are free, as applications are told',
  params: organisation_params,
  query: AvailabilityQuery,
  response: AvailabilityAnswer,
  errors: ['record_not_found', 'provider_not_found', 'location_not_found'],
  handle: async ({ ctx, client, params, query }) =>
    askAvailability(ctx.db, await openOrganisation(ctx, client, params), query),
});
