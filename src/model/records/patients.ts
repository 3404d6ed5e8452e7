import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../fields.ts';

/** The states of a patient and every legal move between them; the database refuses any other. */
export const patient_moves = [
  ['pending', 'active'],
  ['pending', 'failed'],
  // Changed by the client, and tried again.
  ['failed', 'pending'],
  ['active', 'pending_update'],
  ['pending_update', 'active'],
] as const;

export type PatientStatus = (typeof patient_moves)[number][number];
export const patient_statuses = [...new Set(patient_moves.flat())];

const demographics = {
  first_name: Type.String(),
  middle_name: nullable(Type.String()),
  last_name: Type.String(),
  dob: nullable(Type.String({ format: 'date' })),
  sex: Type.Enum(['male', 'female', 'unknown']),
  phone: nullable(Type.String()),
  cell_phone: nullable(Type.String()),
  email: nullable(Type.String()),
  address_street: nullable(Type.String()),
  address_line2: nullable(Type.String()),
  address_city: nullable(Type.String()),
  address_state: nullable(Type.String()),
  address_zip: nullable(Type.String()),
  insurance_name: nullable(Type.String()),
  insurance_subscriber_number: nullable(Type.String()),
};

/** A patient as an EMR lists it. */
export const PatientSource = Type.Object({ ehr_id: Type.String(), mrn: Type.String(), ...demographics });
export type PatientSource = Static<typeof PatientSource>;

export const Patient = Type.Object({
  id,
  ehr_id: nullable(Type.String({ examples: ['10001'] })),
  mrn: nullable(Type.String()),
  status: Type.Enum(patient_statuses),
  ...demographics,
  created_at: date_time,
  updated_at: date_time,
});
export type Patient = Static<typeof Patient>;
