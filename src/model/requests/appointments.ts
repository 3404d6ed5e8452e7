import { type Static, Type } from 'typebox';
import { day, flag, refersTo, text, toChanges, unclearable } from '../fields.ts';

/** The time is `datetime`, or `date` and `time` in the time zone of the EMR instance. */
export const AppointmentRequest = Type.Object(
  {
    mrn: text({ description: 'Medical Record Number of the patient' }),
    location: text({
      ...refersTo('locations.ehr_id'),
      description: 'The location’s EMR ID, from GET /v1/locations (ehr_id)',
    }),
    provider: text({
      ...refersTo('providers.ehr_id'),
      description: 'The provider’s EMR ID, from GET /v1/providers (ehr_id)',
      examples: ['501'],
    }),
    type: text({ ...refersTo('visit_types.code'), description: 'Visit-type code of the EMR', examples: ['OV'] }),
    datetime: Type.Optional(
      text({
        ...refersTo('availability.range_start'),
        instead_of: ['date', 'time'],
        description: 'Start of the appointment',
        notation: 'ISO 8601 date-time with offset',
        examples: ['2031-03-03T10:00:00-05:00'],
      }),
    ),
    date: Type.Optional(day({ description: 'Day of the appointment, together with time' })),
    time: Type.Optional(
      text({
        pattern: '^(0?[1-9]|1[0-2]):[0-5]\\d ?([aA]|[pP])[mM]$',
        messages: { pattern: '{name} must be a time in the form h:mm am' },
        description: 'Time of the appointment, together with date',
        notation: 'h:mm am',
      }),
    ),
    secondary_provider: Type.Optional(
      text({ ...refersTo('providers.ehr_id'), description: 'EMR ID of a second provider' }),
    ),
    note: Type.Optional(text({ description: 'Note to the practice about the appointment' })),
    reason: Type.Optional(text({ description: 'Reason for the visit', examples: ['Follow-up'] })),
    duration: Type.Optional(
      text({
        pattern: '^([1-9]\\d{0,2}|1[0-3]\\d\\d|14[0-3]\\d|1440)$',
        messages: { pattern: '{name} must be a number of minutes from 1 to 1440, in digits' },
        description:
          'Minutes, in digits, at most 1440 (a day). Default: the length of the visit type, else the practice’s default, else 30',
      }),
    ),
    new_patient: Type.Optional(flag('Whether this is the patient’s first visit')),
    prevent_double_booking: Type.Optional(flag('Whether to fail if the provider is not free at this time')),
  },
  { schema_name: 'AppointmentCreate', description: 'An appointment to book' },
);
export type AppointmentRequest = Static<typeof AppointmentRequest>;

const { note, datetime, date, time, provider, location, type, duration, prevent_double_booking } =
  toChanges(AppointmentRequest);

/** What can be changed once the appointment exists in the EMR. */
export const ScheduledAppointmentChanges = Type.Object({
  status: unclearable(
    text({
      ...refersTo('visit_statuses.code'),
      description: 'A code from GET /v1/visit-statuses, or `cancelled` or `rescheduled`',
      examples: ['cancelled'],
    }),
  ),
  ...{ note, datetime, date, time, provider, location, type, duration, prevent_double_booking },
});

/** Which of the fields can be changed depends on the state of the appointment. */
export const AppointmentChanges = Type.Object(
  { ...toChanges(AppointmentRequest), status: ScheduledAppointmentChanges.properties.status },
  { schema_name: 'AppointmentUpdate', description: 'Changes to an appointment; null clears a field' },
);
export type AppointmentChanges = Static<typeof AppointmentChanges>;
