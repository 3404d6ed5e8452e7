import { type Static, Type } from 'typebox';
import { nullable, success, sync_state, text } from './fields.ts';

const defaultsToFalse = (description: string) => Type.Optional(Type.Boolean({ description, default: false }));

export const AvailabilityQuery = Type.Object({
  start_date: Type.String({
    format: 'date',
    description: 'First day, YYYY-MM-DD, in the time zone of the EMR instance',
  }),
  end_date: Type.String({ format: 'date', description: 'Last day, inclusive; at most 92 days later' }),
  provider_ids: Type.Optional(text({ minLength: 1, description: 'EMR IDs, separated by commas', examples: ['501'] })),
  location_ids: Type.Optional(text({ minLength: 1, description: 'EMR IDs, separated by commas' })),
  provider_type: Type.Optional(Type.Enum(['primary', 'secondary'], { default: 'primary' })),
  visit_type: Type.Optional(text({ minLength: 1, default: 'all' })),
  buffer: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 59, default: 0, description: 'Minutes to keep free after each appointment' }),
  ),
  calculation_method: Type.Optional(Type.Enum(['gaps', 'slots', 'equal_slots'], { default: 'gaps' })),
  daily_appointment_limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  daily_limit_type: Type.Optional(text({ minLength: 1, description: 'Visit type that the limit counts, or `all`' })),
  fallback_to_default_hours: defaultsToFalse('Use the default hours for providers without hours'),
  max_slot_duration: Type.Optional(Type.Integer({ minimum: 1, maximum: 1440, description: 'Minutes' })),
  facility_scoped_scheduling: defaultsToFalse('Only count appointments at the shift’s own facility'),
  explain: Type.Optional(
    Type.Boolean({ description: 'Also return why working time is not free', default: false, examples: [true] }),
  ),
});
export type AvailabilityQuery = Static<typeof AvailabilityQuery>;

export const AvailabilityResponse = Type.Object({
  success,
  results: Type.Object({
    availability: Type.Array(
      Type.Object({
        day_of_week: Type.Integer({ minimum: 1, maximum: 7 }),
        date: Type.String({ format: 'date', examples: ['2031-03-03'] }),
        duration_string: Type.String({ examples: ['3h'] }),
        range_start: Type.String({ examples: ['2031-03-03T09:00:00-05:00'] }),
        range_end: Type.String({ examples: ['2031-03-03T12:00:00-05:00'] }),
        provider_id: Type.String(),
        provider_name: Type.String(),
        facility_id: nullable(Type.String()),
        facility_name: nullable(Type.String()),
        timezone_abbr: Type.String({ examples: ['EST'] }),
        visit_type: Type.String({ examples: ['all'] }),
        available_appointments: nullable(Type.Integer()),
        max_visits: nullable(Type.Integer()),
      }),
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
  }),
  timezone: Type.String(),
  sync: sync_state,
});
export type AvailabilityResponse = Static<typeof AvailabilityResponse>;
