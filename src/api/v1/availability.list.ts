import { endpoint } from '../../http/endpoint.ts';
import { AvailabilityQuery, AvailabilityResponse } from '../../model/availability.ts';
import { readAvailability } from '../../records/readAvailability.ts';

export default endpoint({
  id: 'availability.list',
  method: 'GET',
  path: '/v1/availability',
  auth: 'account',
  summary: 'Find out when providers are free, according to their hours and schedule',
  description:
    '`gaps` returns the longest free ranges within shifts, `slots` the visits left in the shifts’ visit-type rules, and `equal_slots` pieces of exactly `max_slot_duration` minutes. Inactive and hidden providers are left out.',
  query: AvailabilityQuery,
  response: AvailabilityResponse,
  errors: ['provider_not_found', 'location_not_found'],
  handle: ({ ctx, account, query }) => readAvailability(ctx.db, account, query),
});
