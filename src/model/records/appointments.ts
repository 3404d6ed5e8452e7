import { type Static, Type } from 'typebox';
import { id, known, nullable } from '../fields.ts';
import { dayRange, equals, recordKind } from './recordKind.ts';

const shown = {
  status: Type.String({
    description: 'The EMR’s status code, or `pending` while the appointment is waiting to be written',
    examples: ['CON'],
  }),
  appointment_mode: known.text,
  appointment_type: Type.String(),
  practice_id: known.text,
  reason: nullable(Type.String({ description: 'Reason for the visit' })),
  complaint_type: known.text,
  patient_name: known.text,
  patient_first_name: known.text,
  patient_last_name: known.text,
  patient_mrn: known.text,
  patient_ehr_id: known.text,
  patient_dob: known.date,
  patient_gender: known.text,
  patient_phone: known.text,
  provider_ehr_id: Type.String(),
  secondary_provider_ehr_id: known.text,
  insurances: Type.Array(
    Type.Object(
      {
        name: nullable(Type.String({ description: 'Name of the insurance' })),
        subscriber_number: known.text,
        group_number: known.text,
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
        strength: known.text,
        frequency: known.text,
      },
      { schema_name: 'AppointmentMedication', description: 'A medication of a visit' },
    ),
    { description: 'Medications of the visit' },
  ),
  note: nullable(Type.String({ description: 'Note about the appointment' })),
  progress_note: known.text,
  created_at: nullable(
    Type.String({ format: 'date-time', description: 'When the appointment was created in the EMR' }),
  ),
};

export const AppointmentSource = Type.Object({
  ehr_id: Type.String(),
  starts: Type.String({ description: 'Local time, YYYY-MM-DDTHH:MM:SS, with an offset if the EMR knows it' }),
  minutes: Type.Integer(),
  facility_ehr_id: Type.String(),
  cancelled: Type.Boolean(),
  insurance_subscriber: known.text,
  ...shown,
});
export type AppointmentSource = Static<typeof AppointmentSource>;

export const Appointment = Type.Object(
  {
    id,
    ehr_appointment_id: known.text,
    datetime: Type.String({
      format: 'date-time',
      description: 'Start of the appointment, with the offset of the EMR instance',
    }),
    duration: Type.Integer({ description: 'Length in minutes' }),
    location: Type.String({ description: 'EMR ID of the location' }),
    ...shown,
    provider_name: known.text,
    provider_npi: known.text,
    insurance: known.text,
    insurance_number: known.text,
    insurance_group_number: known.text,
    insurance_subscriber: known.text,
    secondary_insurance: known.text,
    secondary_insurance_number: known.text,
    object_metadata: Type.Object({
      created_at: Type.String({ format: 'date-time', description: 'When Chartwire first saw the appointment' }),
    }),
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
  kept_columns: ['created_at'],
  written_by_us: true,
  filters: {
    ...dayRange('starts_at', 'day', { local: true }),
    patient_mrn: equals('patient_mrn'),
    provider_ehr_id: equals('provider_ehr_id'),
  },
  order: [{ column: 'starts_at', descending: true }],
  mrn_column: 'patient_mrn',
  dashboard_columns: ['datetime', 'duration', 'appointment_type', 'status', 'provider_name', 'patient_name'],
});
