import { endpoint } from '../../../http/endpoint.ts';
import { AvailabilityQuery, AvailabilityResponse } from '../../../model/availability.ts';
import { readAvailability } from '../../../product/records/readAvailability.ts';
import { openOrganization, organization_params, organization_path } from './organization.ts';

export default endpoint({
  id: 'dashboard.availability.list',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/availability`,
  auth: 'operator_in_client',
  role: 'read_only',
  audited: false,
  summary: 'List availability, as the API returns it',
  params: organization_params,
  query: AvailabilityQuery,
  response: AvailabilityResponse,
  errors: ['record_not_found', 'provider_not_found', 'location_not_found', 'first_sync_pending'],
  handle: async ({ ctx, client, params, query }) =>
    readAvailability(ctx.db, await openOrganization(ctx, client, params), query),
});
