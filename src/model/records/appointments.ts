import { type Static, Type } from 'typebox';
import { reasons } from '../events/event.ts';
import { choices, emr_value, id, nullable, text } from '../fields.ts';
import { anyOf, byPhone, containsName, dayRange, equals, recordKind } from './recordKind.ts';

const shown = {
  status: Type.String({
    description:
      'The EMR’s status code; `pending` while the appointment is waiting to be written, `failed` if it was not booked',
    examples: ['CON'],
  }),
  appointment_mode: emr_value.text,
  appointment_type: Type.String(),
  practice_id: emr_value.text,
  reason: nullable(Type.String({ description: 'Reason for the visit' })),
  complaint_type: emr_value.text,
  patient_name: emr_value.text,
  patient_first_name: emr_value.text,
  patient_last_name: emr_value.text,
  patient_mrn: emr_value.text,
  patient_ehr_id: emr_value.text,
  patient_dob: emr_value.date,
  patient_gender: emr_value.text,
  patient_phone: emr_value.text,
  provider_ehr_id: Type.String(),
  secondary_provider_ehr_id: emr_value.text,
  insurances: Type.Array(
    Type.Object(
      {
        name: nullable(Type.String({ description: 'Name of the insurance' })),
        subscriber_number: emr_value.text,
        group_number: emr_value.text,
        priority: nullable(Type.Integer({ description: 'Order in which the insurances are billed, starting at 1' })),
      },
      { schema_name: 'AppointmentInsurance', description: 'An insurance of the patient' },
    ),
    { description: 'Insurances of the patient' },
  ),
  diagnoses: Type.Array(
    Type.Object(
      {
        code: nullable(Type.String({ description: 'Code of the diagnosis (ICD-10)' })),
        description: nullable(Type.String({ description: 'Description of the diagnosis' })),
      },
      { schema_name: 'AppointmentDiagnosis', description: 'A diagnosis of a visit' },
    ),
    { description: 'Diagnoses of the visit' },
  ),
  medications: Type.Array(
    Type.Object(
      {
        name: nullable(Type.String({ description: 'Name of the medication' })),
        strength: emr_value.text,
        frequency: emr_value.text,
      },
      { schema_name: 'AppointmentMedication', description: 'A medication of a visit' },
    ),
    { description: 'Medications of the visit' },
  ),
  note: nullable(Type.String({ description: 'Note about the appointment' })),
  progress_note: emr_value.text,
  created_at: nullable(
    Type.String({ format: 'date-time', description: 'When the appointment was created in the EMR' }),
  ),
};

/** Where an appointment was created. */
export const appointment_sources = { emr: 'In the EMR', api: 'Through this API' } as const;
export type AppointmentOrigin = keyof typeof appointment_sources;

export const appointment_modes = {
  office: 'At the practice',
  telemedicine: 'By video or phone',
} as const;

/** What an EMR's mode of an appointment is called in the filter of the list; null if the EMR gives none. */
export function toMode(mode: string | null): keyof typeof appointment_modes | null {
  if (mode === null) return null;
  return /video|phone|tele|virtual|remote/i.test(mode) ? 'telemedicine' : 'office';
}

export const AppointmentSource = Type.Object({
  ehr_id: Type.String(),
  starts: Type.String({ description: 'Local time, YYYY-MM-DDTHH:MM:SS, with an offset if the EMR knows it' }),
  minutes: Type.Integer(),
  facility_ehr_id: Type.String(),
  cancelled: Type.Boolean(),
  insurance_subscriber: emr_value.text,
  ...shown,
});
export type AppointmentSource = Static<typeof AppointmentSource>;

export const Appointment = Type.Object(
  {
    id,
    ehr_appointment_id: emr_value.text,
    datetime: Type.String({
      format: 'date-time',
      description: 'Start of the appointment, with the offset of the EMR instance',
    }),
    duration: Type.Integer({ description: 'Length in minutes' }),
    location: Type.String({ description: 'EMR ID of the location' }),
    ...shown,
    provider_name: emr_value.text,
    provider_npi: emr_value.text,
    insurance: emr_value.text,
    insurance_number: emr_value.text,
    insurance_group_number: emr_value.text,
    insurance_subscriber: emr_value.text,
    secondary_insurance: emr_value.text,
    secondary_insurance_number: emr_value.text,
    object_metadata: Type.Object({
      created_at: Type.String({ format: 'date-time', description: 'When Chartwire first saw the appointment' }),
      source: choices(appointment_sources, { description: 'Where the appointment was created' }),
    }),
    failure_reason: Type.Optional(Type.String({ description: 'Why the appointment was not booked, if it failed' })),
    reasons: Type.Optional(reasons),
  },
  { schema_name: 'Appointment', description: 'An appointment' },
);
export type Appointment = Static<typeof Appointment>;

/** Rows are created in product/records/schedule.ts: names come from the providers, offsets from the organization's time zone. */
export const appointments = recordKind({
  name: 'appointments',
  operation: 'listAppointments',
  consent: 'appointments',
  source: AppointmentSource,
  wire: Appointment,
  labels: { singular: 'appointment', plural: 'appointments' },
  group: 'Appointments',
  after: ['providers'],
  active_providers_only: true,
  kept_columns: ['created_at', 'source'],
  written_by_us: true,
  filters: {
    ...dayRange('starts_at', 'day', { local: true }),
    patient_mrn: equals('patient_mrn'),
    patient_name: containsName('patient_folded', { examples: ['Testpatient'] }),
    patient_phone: byPhone(['patient_phone'], 'Phone number of the patient, compared by its digits'),
    provider_ids: anyOf('provider_ehr_id', 'Only these providers: EMR IDs, separated by commas', { examples: ['501'] }),
    location_ids: anyOf('facility_ehr_id', 'Only these locations: EMR IDs, separated by commas'),
    status: equals(
      'status',
      text({ minLength: 1, description: 'The EMR’s status code, exact, or `pending` or `failed`', examples: ['CON'] }),
    ),
    appointment_mode: equals('mode', choices(appointment_modes, { description: 'Where the visit takes place' })),
  },
  order: [{ column: 'starts_at', descending: true }],
  in_change_feed: true,
  announced: {
    fields: [
      ...['datetime', 'duration', 'location', 'status', 'appointment_mode', 'appointment_type', 'reason'],
      ...['patient_mrn', 'provider_ehr_id', 'secondary_provider_ehr_id', 'note'],
    ],
    columns: ['cancelled'],
    toEvent: ({ before, after, changed_fields }) => {
      const { id, ehr_appointment_id, patient_mrn, datetime, status, provider_ehr_id } = after.doc as Appointment;
      const data = {
        source: 'emr' as const,
        appointment_id: id,
        ehr_appointment_id: ehr_appointment_id ?? '',
        mrn: patient_mrn,
        date_time: datetime,
        status,
        provider_id: provider_ehr_id,
      };
      if (!before) return { type: 'appointment.created', data };
      if (after.cancelled === true && before.cancelled !== true) {
        return { type: 'appointment.cancelled', data: { ...data, changed_fields } };
      }
      if (changed_fields.includes('status')) {
        return { type: 'appointment.status_updated', data: { ...data, changed_fields } };
      }
      return { type: 'appointment.updated', data: { ...data, changed_fields } };
    },
    isOwn: (type, input, doc) =>
      type === 'appointment.create' &&
      input.mrn === doc.patient_mrn &&
      input.provider === doc.provider_ehr_id &&
      Date.parse(String(input.starts_at)) === Date.parse(String(doc.datetime)),
  },
  mrn_column: 'patient_mrn',
  list: {
    returns: 'pages',
    page_size_max: 500,
    summary: 'List appointments, latest first',
    required: ['start_date', 'end_date'],
    days_max: 92,
    withheld: {
      parameter: 'include_note',
      column: 'doc_without_notes',
      description: 'Whether to return `note` and `progress_note`, which are null otherwise. Default: false',
    },
  },
  dashboard_columns: ['datetime', 'duration', 'appointment_type', 'status', 'provider_name', 'patient_name'],
});
