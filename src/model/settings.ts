import { type Static, Type } from 'typebox';
import { choices, clearable, nullable, text, unclearable } from './fields.ts';
import { VisitCode } from './records/visitTypes.ts';

/** Weekdays as the API names them, in the order of ISO 8601. */
export const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

/** The weekdays as an enum's values with their explanations. */
export const weekday_descriptions = {
  Monday: 'Every Monday',
  Tuesday: 'Every Tuesday',
  Wednesday: 'Every Wednesday',
  Thursday: 'Every Thursday',
  Friday: 'Every Friday',
  Saturday: 'Every Saturday',
  Sunday: 'Every Sunday',
} as const satisfies Record<(typeof weekdays)[number], string>;

const strict = { additionalProperties: false } as const;
const clock = '([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d';
const time = text({
  pattern: `^T${clock}$`,
  messages: { pattern: '{name} must be a time in the form THH:MM:SS' },
  notation: 'THH:MM:SS',
});
const end_time = text({
  pattern: `^T(${clock}|24:00:00)$`,
  messages: { pattern: '{name} must be a time in the form THH:MM:SS' },
  notation: 'THH:MM:SS',
  description: 'End; `T24:00:00` and `T23:59:59` are the end of the day. Send a shift over midnight as two shifts',
});
const rule_time = text({
  pattern: `^${clock}$`,
  messages: { pattern: '{name} must be a time in the form HH:MM:SS' },
  notation: 'HH:MM:SS',
});
const rule_end_time = text({
  pattern: `^(${clock}|24:00:00)$`,
  messages: { pattern: '{name} must be a time in the form HH:MM:SS' },
  notation: 'HH:MM:SS',
  description: 'End; `24:00:00` and `23:59:59` are the end of the day',
});
const date_rule = '{name} must be a date in ISO 8601, such as 2026-01-31 or 2026-01-31T00:00:00';
const date = text({
  pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?(Z|[+-]\\d{2}:?\\d{2})?)?$',
  notation: 'ISO 8601',
  messages: { pattern: date_rule },
});

/** A limit in time: null or "" is the same as leaving it out. */
function limit(description: string) {
  return Type.Optional(Type.Union([date, Type.Null()], { description, messages: { anyOf: date_rule } }));
}

const Recurrence = Type.Object(
  {
    rec_start_date: date,
    rec_end_date: limit('Last day; null: no end'),
    recur_interval_type: Type.Optional(
      text({
        description:
          'Unit of the interval: `days`, `weeks`, `months` or `years`. Default: the unit in the description, else `weeks`',
      }),
    ),
    recur_interval_amount: Type.Integer({ minimum: 1, maximum: 1000 }),
    recur_interval_description: Type.Optional(
      text({ description: 'Names the unit, such as `months` or `Every 2 months`, if no type is sent' }),
    ),
  },
  { ...strict, schema_name: 'RecurrenceUpdate', description: 'How often a shift repeats' },
);

/** Units of a recurrence, as they are stored. */
export const recurrence_units = ['days', 'weeks', 'months', 'years'] as const;
export type RecurrenceUnit = (typeof recurrence_units)[number];

const VisitTypeRule = Type.Object(
  {
    start_time: rule_time,
    end_time: rule_end_time,
    total_visits: Type.Integer({ minimum: 0, maximum: 10_000 }),
    visit_type_id: text({ description: 'Code or description of a visit type, in any case' }),
    visit_type_desc: Type.Optional(text()),
  },
  {
    ...strict,
    schema_name: 'VisitTypeRuleUpdate',
    description: 'How many visits of a type fit into a part of a shift',
  },
);

const ShiftRequest = Type.Object(
  {
    start: time,
    end: end_time,
    facility_id: Type.Optional(text({ description: 'EMR ID of one of the organization’s locations' })),
    facility_name: Type.Optional(text({ description: 'Ignored: filled in by the service' })),
    set_start_date: limit('First day on which the shift is worked; null: no start'),
    set_end_date: limit('Last day on which the shift is worked; null: no end'),
    set_description: Type.Optional(text()),
    recurrence: Type.Optional(Recurrence),
    set_recur: Type.Optional(Recurrence),
    visit_type_rules: Type.Optional(Type.Array(VisitTypeRule, { maxItems: 200 })),
  },
  { ...strict, schema_name: 'ShiftUpdate', description: 'A working time' },
);
export type ShiftRequest = Static<typeof ShiftRequest>;

const DayRequest = Type.Object(
  { day: choices(weekday_descriptions), shifts: Type.Array(ShiftRequest, { maxItems: 100 }) },
  { ...strict, schema_name: 'ProviderDayUpdate', description: 'The working times on a day of the week' },
);

export const HoursRequest = Type.Array(DayRequest, {
  maxItems: 7,
  description: 'The working hours of a week, day by day; null restores those of the EMR',
});
export type HoursRequest = Static<typeof HoursRequest>;

/** `hours` replaces the whole week; null restores the EMR's hours. */
export const ProviderSettingsRequest = Type.Object(
  {
    status: unclearable(
      text({ description: 'Whether the provider is `active` or `inactive`, case-insensitive', examples: ['active'] }),
    ),
    hide_in_availability: unclearable(
      Type.Union([Type.Enum(['true', 'false']), Type.Boolean()], {
        description: 'Whether GET /v1/availability omits the provider',
        messages: { anyOf: 'hide_in_availability must be one of: true, false' },
        examples: ['false'],
      }),
    ),
    hours: clearable(HoursRequest),
  },
  { schema_name: 'ProviderUpdate', description: 'Changes to a provider’s settings' },
);
export type ProviderSettingsRequest = Static<typeof ProviderSettingsRequest>;

const Code = Type.Object(
  {
    code: Type.String({ description: 'The EMR’s code', examples: ['ENG'] }),
    name: Type.String({ description: 'The name', examples: ['English'] }),
  },
  { schema_name: 'Code', description: 'A code of the EMR and its name' },
);

const payment_methods = Type.Array(Code, {
  description: 'Payment methods of the practice; POST /v1/payments takes their names',
  examples: [[{ code: 'CHK', name: 'Check' }]],
});

const phone_call_types = Type.Array(
  Type.Object(
    {
      id: Type.String({ description: 'The EMR’s ID of the type', examples: ['2'] }),
      name: Type.String({ description: 'The name', examples: ['Billing question'] }),
    },
    { schema_name: 'PhoneCallType', description: 'A kind of phone call that the practice distinguishes' },
  ),
  { description: 'Types of phone calls' },
);

/**
 * Codes that an EMR instance accepts, and the patient fields that it requires in addition to ours. null: the EMR has no
 * such list.
 */
export const CodeLists = Type.Object({
  languages: Type.Array(Code, { description: 'Languages of patients' }),
  races: Type.Array(Code, {
    description: 'Races of patients',
    examples: [[{ code: 'D', name: 'Declined to specify' }]],
  }),
  ethnicities: Type.Array(Code, {
    description: 'Ethnicities of patients',
    examples: [[{ code: 'D', name: 'Declined to specify' }]],
  }),
  payment_methods: nullable(payment_methods),
  phone_call_types: nullable(phone_call_types),
  required_patient_fields: Type.Array(Type.String(), {
    description: 'Fields that the EMR requires for a new patient, in addition to ours',
    examples: [['phone']],
  }),
});
export type CodeLists = Static<typeof CodeLists>;

/** The length of an appointment if neither the visit type nor the practice gives one. */
export const standard_minutes = 30;

export const Settings = Type.Object(
  {
    access_token_reference_id: Type.String(),
    emr_name: Type.String(),
    timezone: Type.String(),
    default_appointment_minutes: Type.Integer({
      description: 'Appointment length if neither the request nor the visit type specifies one',
      examples: [30],
    }),
    capabilities: Type.Array(Type.String(), {
      description:
        'Operations that the EMR supports for this account, named as in `GET /link/emrs`, and fields that not every server of the EMR supports (`uploadDocument.is_high_priority`)',
      examples: [['listPatients', 'createPatient']],
    }),
    visit_types: Type.Array(VisitCode, { description: 'Types of visits' }),
    visit_statuses: Type.Array(VisitCode, { description: 'Statuses of visits' }),
    ...CodeLists.properties,
    payment_methods,
    phone_call_types,
    required_patient_fields: Type.Array(Type.String(), {
      description: 'Fields that POST /v1/patients requires for this EMR',
      examples: [['first_name', 'last_name', 'dob', 'sex', 'phone']],
    }),
  },
  { schema_name: 'Settings', description: 'The settings of the EMR instance' },
);
