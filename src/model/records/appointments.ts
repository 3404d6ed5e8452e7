import { type Static, Type } from 'typebox';
import { emr_value, id, nullable } from '../fields.ts';
import { dayRange, equals, recordKind } from './recordKind.ts';

const shown = {
  status: Type.String({
    description: 'The EMR’s status code, or `pending` while the appointment is waiting to be written',
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
