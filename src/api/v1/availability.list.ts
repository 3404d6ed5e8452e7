import { endpoint } from '../../http/endpoint.ts';
import { AvailabilityAnswer, AvailabilityQuery } from '../../model/availability.ts';
import { readAvailability } from '../../records/readAvailability.ts';

export default endpoint({
  id: 'availability.list',
  method: 'GET',
  path: '/v1/availability',
  auth: 'account',
  summary: 'Say when providers are free, by their hours and the schedule',
  description:
    '`gaps` gives the longest free ranges within shifts, `slots` the places that are left in the shifts’ visit-type rules, `equal_slots` ranges cut into pieces of exactly `max_slot_duration` minutes. Providers that are inactive or hidden are left out.',
  query: AvailabilityQuery,
  response: AvailabilityAnswer,
  errors: ['provider_not_found', 'location_not_found'],
  handle: ({ ctx, account, query }) => readAvailability(ctx.db, account, query),
});
