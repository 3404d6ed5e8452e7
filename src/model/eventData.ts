import { Type } from 'typebox';
import { failure_code } from '../catalog/failures.ts';
import { nullable } from './fields.ts';

export const encounter = {
  telephone_encounter_id: Type.String(),
  emr_encounter_id: Type.String(),
  patient_mrn: Type.String(),
  provider_id: Type.String(),
  location_id: Type.String(),
  assigned_to_id: Type.String(),
  reason: nullable(Type.String({ description: 'Reason for the call' })),
};

export const action = {
  action_id: Type.String(),
  emr_appointment_id: Type.String({ description: 'The EMR’s ID of the telephone encounter', examples: ['30001'] }),
  text: Type.String({ description: 'What was done', examples: ['Called back, left a message.'] }),
};

export const document = { document_id: Type.String(), patient_mrn: Type.String(), folder_name: Type.String() };

/** Why something failed: `code` for programs, `description` for people. */
export const reasons = Type.Array(
  Type.Object(
    { code: failure_code, description: Type.String({ description: 'Human-readable reason' }) },
    { schema_name: 'FailureReason', description: 'A reason for a failure' },
  ),
);

/** What a write changed in the EMR, field by field. `note` is present only if the EMR saved a different value. */
export const audit_trail = Type.Array(
  Type.Object(
    {
      field_label: Type.String({ description: 'The field as the EMR labels it' }),
      before: nullable(Type.String({ description: 'The value before the write; null if there was none' })),
      after: nullable(Type.String({ description: 'The value after the write; null if there is none' })),
      property: Type.String({ description: 'The field’s name in the request' }),
      note: Type.Optional(Type.String({ description: 'Present only if the EMR saved a different value' })),
    },
    { schema_name: 'FieldChange', description: 'A field that a write changed in the EMR' },
  ),
);

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
