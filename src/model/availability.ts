import { type Static, Type } from 'typebox';
import { choices, day, nullable, success, sync_state, text } from './fields.ts';

const defaultsToFalse = (description: string) => Type.Optional(Type.Boolean({ description, default: false }));

export const AvailabilityQuery = Type.Object({
  start_date: day({ description: 'First day, in the time zone of the EMR instance' }),
  end_date: day({ description: 'Last day, inclusive; at most 92 days later' }),
  provider_ids: Type.Optional(
    text({ minLength: 1, description: 'Only these providers: EMR IDs, separated by commas', examples: ['501'] }),
  ),
  location_ids: Type.Optional(
    text({ minLength: 1, description: 'Only these locations: EMR IDs, separated by commas' }),
  ),
  provider_type: Type.Optional(
    choices(
      { primary: 'The provider of the visit', secondary: 'The second provider of the visit' },
      { default: 'primary', description: 'The role in which the provider must be free' },
    ),
  ),
  visit_type: Type.Optional(
    text({
      minLength: 1,
      default: 'all',
      description: 'Visit type to book: its code or description, in any case, or `all`',
    }),
  ),
  buffer: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 59, default: 0, description: 'Minutes to keep free after each appointment' }),
  ),
  calculation_method: Type.Optional(
    choices(
      {
        gaps: 'Each uninterrupted free time as one range',
        slots: 'The parts of shifts whose visit-type rules have visits left',
        equal_slots: 'Free time divided into ranges of exactly `max_slot_duration` minutes',
      },
      { default: 'gaps', description: 'How free time is divided into ranges' },
    ),
  ),
  daily_appointment_limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: 'A provider with this many appointments on a day is not offered on it',
    }),
  ),
  daily_limit_type: Type.Optional(
    text({
      minLength: 1,
      description: 'Visit type that the limit counts: its code or description, in any case, or `all`',
    }),
  ),
  fallback_to_default_hours: defaultsToFalse('Use the default hours for providers without hours'),
  max_slot_duration: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1440, description: 'Longest range in minutes; required for `equal_slots`' }),
  ),
  facility_scoped_scheduling: defaultsToFalse('Only count appointments at the shift’s own facility'),
  explain: Type.Optional(
    Type.Boolean({ description: 'Also return why working time is not free', default: false, examples: [true] }),
  ),
});
export type AvailabilityQuery = Static<typeof AvailabilityQuery>;

export const AvailabilityResponse = Type.Object({
  success,
  results: Type.Object(
    {
      availability: Type.Array(
        Type.Object(
          {
            day_of_week: Type.Integer({
              minimum: 1,
              maximum: 7,
              description: 'Day of the week, 1 for Monday to 7 for Sunday',
            }),
            date: day({ description: 'Day of the range', examples: ['2031-03-03'] }),
            duration_string: Type.String({ description: 'Length of the range as text', examples: ['3h'] }),
            range_start: Type.String({
              description: 'Start of the range, with the offset of the EMR instance',
              examples: ['2031-03-03T09:00:00-05:00'],
            }),
            range_end: Type.String({
              description: 'End of the range, with the offset of the EMR instance',
              examples: ['2031-03-03T12:00:00-05:00'],
            }),
            provider_id: Type.String(),
            provider_name: Type.String(),
            facility_id: nullable(Type.String()),
            facility_name: nullable(Type.String()),
            timezone_abbr: Type.String({ description: 'Abbreviation of the time zone on that day', examples: ['EST'] }),
            visit_type: Type.String({
              description: 'Code of the visit type that can be booked, or `all`',
              examples: ['all'],
            }),
            available_appointments: nullable(
              Type.Integer({ description: 'With `slots` only: how many visits are left' }),
            ),
            max_visits: nullable(Type.Integer({ description: 'With `slots` only: how many visits the rule allows' })),
          },
          { schema_name: 'AvailableTime', description: 'A time at which a provider is free' },
        ),
        { description: 'The free times' },
      ),
      explanations: Type.Optional(
        Type.Array(Type.Object({}, { additionalProperties: true }), {
          description: 'With `explain` only: working time that is not free, and why',
          examples: [
            [
              {
                provider_id: '501',
                facility_id: '11',
                date: '2031-03-03',
                range_start: '2031-03-03T13:00:00-05:00',
                range_end: '2031-03-03T13:20:00-05:00',
                reason: 'appointment',
              },
            ],
          ],
        }),
      ),
    },
    { schema_name: 'Availability', description: 'The free times and, on request, why other times are not free' },
  ),
  timezone: Type.String(),
  sync: sync_state,
});
export type AvailabilityResponse = Static<typeof AvailabilityResponse>;
