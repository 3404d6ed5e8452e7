import { endpoint } from '../../../http/endpoint.ts';
import { AvailabilityQuery, AvailabilityResponse } from '../../../model/availability.ts';
import { readAvailability } from '../../../product/records/readAvailability.ts';

export default endpoint({
  id: 'availability.list',
  surface: 'api',
  group: 'Appointments',
  method: 'GET',
  path: '/v1/availability',
  auth: 'account',
  summary: 'List availability',
  agent_tool: true,
  description:
    'Returns when providers are free, based on their hours and schedule. `gaps` returns the maximal free ranges within shifts, `slots` the visit-type rules that have visits left, and `equal_slots` ranges of exactly `max_slot_duration` minutes. Inactive and hidden providers are excluded.',
  query: AvailabilityQuery,
  response: AvailabilityResponse,
  errors: ['provider_not_found', 'location_not_found', 'first_sync_pending'],
  handle: ({ ctx, account, query }) => readAvailability(ctx.db, account, query),
});
