import { type Static, Type } from 'typebox';
import { choices, day, nullable, success, sync_state, text } from './fields.ts';

const defaultsToFalse = (description: string) => Type.Optional(Type.Boolean({ description, default: false }));

/** Why a time is not free. If several reasons apply to a minute, the first of this list is reported. */
export const availability_reasons = {
  location: 'The shift is at none of the requested locations',
  inactive_location: 'The location takes no appointments',
  daily_limit: 'The day already has as many appointments as the request allows',
  past: 'The time has passed',
  appointment: 'An appointment in the EMR',
  booking: 'A booking that was accepted and is not in the EMR yet',
  block: 'A block in the EMR',
  buffer: 'The requested buffer after an appointment',
  quota_full: '`slots`: the rule has no visit left',
  visit_type: '`slots`: the rule is for another visit type',
  no_rule: '`slots`: no rule covers this part of the shift',
  too_short: '`equal_slots`: a remainder that is shorter than a slot',
  outside_dates: 'Before the start date or after the end date of the shift',
  recurrence: 'The shift does not recur on this day',
  invalid_shift: 'The shift ends before it starts, or cannot be read',
  no_hours: 'The provider has no hours, and default hours were not requested',
  inactive_provider: 'The provider is inactive',
  hidden_provider: 'The provider is hidden from availability',
  first_sync: 'The first sync has not read the schedule yet',
  outside_hours: 'The provider has no shift at this time',
  clock_change: 'Clocks go forward: local clocks skip this time',
} as const;
export type AvailabilityReason = keyof typeof availability_reasons;

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
    Type.Boolean({ description: 'Also return why all other times are not free', default: false, examples: [true] }),
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
        Type.Array(
          Type.Object(
            {
              provider_id: Type.String({ examples: ['501'] }),
              facility_id: nullable(
                Type.String({ description: 'The location of the shift; null outside shifts', examples: ['11'] }),
              ),
              date: day({ description: 'Day of the range', examples: ['2031-03-03'] }),
              range_start: Type.String({
                description: 'Start of the range, with the offset of the EMR instance',
                examples: ['2031-03-03T13:00:00-05:00'],
              }),
              range_end: Type.String({
                description: 'End of the range, with the offset of the EMR instance',
                examples: ['2031-03-03T13:20:00-05:00'],
              }),
              reason: choices(availability_reasons, {
                description: 'Why the time is not free',
                examples: ['appointment'],
              }),
              visit_type: nullable(
                Type.String({
                  description:
                    'Visit type of the rule, if the reason is `quota_full` or `visit_type`; of several rules, the first by code',
                  examples: ['OV'],
                }),
              ),
            },
            { schema_name: 'UnavailableTime', description: 'A time at which a provider is not free, and why' },
          ),
          {
            description:
              'With `explain` only: every time of the requested days that is not free, and why. It contains nothing about patients',
          },
        ),
      ),
    },
    { schema_name: 'Availability', description: 'The free times and, on request, why other times are not free' },
  ),
  timezone: Type.String(),
  sync: sync_state,
});
export type AvailabilityResponse = Static<typeof AvailabilityResponse>;
