import { Type } from 'typebox';
import { nullable } from '../fields.ts';
import { audit_trail, type EventKinds, refusal } from './event.ts';

export const patient_insurance = Type.Object(
  {
    patient_insurance_id: Type.String(),
    emr_insurance_id: Type.String(),
    patient_mrn: Type.String(),
    member_id: Type.String(),
    group_id: nullable(Type.String()),
    plan_begin_date: nullable(Type.String()),
    copayment: nullable(Type.Number()),
    audit_trail,
  },
  { schema_name: 'PatientInsurance', description: 'An insurance in a patient’s chart' },
);

export const patient_insurance_events = {
  'patient.insurance.added': {
    summary: 'The insurance was added to the patient’s chart.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'insurance' },
    data: patient_insurance,
  },
  'patient.insurance.updated': {
    summary: 'The insurance was updated in the patient’s chart.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'insurance_update' },
    data: patient_insurance,
  },
  'patient.insurance.failed': {
    summary: 'The insurance was not added or updated.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'insurance', fault: refusal('add_patient_insurance') },
    data: Type.Object({
      patient_insurance_id: Type.String(),
      patient_mrn: Type.String(),
      error: Type.String({ description: 'Human-readable reason for the failure' }),
    }),
  },
} as const satisfies EventKinds;
