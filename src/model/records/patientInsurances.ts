import { type Static, Type } from 'typebox';
import { choices, day, emr_value, id, nullable } from '../fields.ts';
import { recordKind } from './recordKind.ts';

/** As in a live fetch, and when the coverage ends. */
const fields = {
  priority: Type.Integer({ description: 'Order in which the insurances are billed, starting at 1' }),
  insurance_ehr_id: nullable(Type.String({ description: 'The EMR’s ID of the insurance company' })),
  insurance_name: Type.String({ description: 'Name of the insurance company' }),
  insurance_subscriber_number: nullable(Type.String({ description: 'Member or policy ID' })),
  group_id: emr_value.text,
  plan_begin_date: emr_value.date,
  plan_end_date: nullable(day({ description: 'Last day of the coverage' })),
  copayment: nullable(Type.String({ description: 'Copayment in dollars', examples: ['25.00'] })),
  relationship_to_subscriber: nullable(
    Type.String({
      description: 'The patient’s relationship to the subscriber, as an insurers’ code',
      examples: ['01'],
    }),
  ),
  guarantor_id: nullable(Type.String({ description: 'The EMR’s ID of the subscriber, unless it is the patient' })),
  is_guarantor_patient: Type.Boolean({ description: 'Whether the patient is the subscriber' }),
};

/** `active`: the EMR has not deactivated it, whatever its dates say. */
export const PatientInsuranceSource = Type.Object({
  ehr_id: Type.String(),
  patient_ehr_id: Type.String(),
  patient_mrn: emr_value.text,
  ...fields,
  active: Type.Boolean(),
});
export type PatientInsuranceSource = Static<typeof PatientInsuranceSource>;

export const PatientInsuranceRecord = Type.Object(
  {
    id,
    emr_insurance_id: Type.String(),
    ...fields,
    status: choices(
      { active: 'In force', inactive: 'Ended, or deactivated in the EMR' },
      { description: 'Whether the insurance can be billed today' },
    ),
  },
  { schema_name: 'PatientInsuranceRecord', description: 'An insurance of a patient as of the last sync' },
);
export type PatientInsuranceRecord = Static<typeof PatientInsuranceRecord>;

/** `status` is that of an insurance without an end: whether it has ended is decided when it is read. */
export const patientInsurances = recordKind({
  name: 'patient_insurances',
  operation: 'listPolicies',
  consent: 'insurance',
  source: PatientInsuranceSource,
  wire: PatientInsuranceRecord,
  labels: { singular: 'patient insurance', plural: 'patient insurances' },
  group: 'Patient insurance',
  written_by_us: true,
  row: ({ ehr_id, patient_ehr_id, patient_mrn, active, ...source }, id) => {
    const status = active ? 'active' : 'inactive';
    const doc: PatientInsuranceRecord = { id, emr_insurance_id: ehr_id, ...source, status };
    return { doc, patient_ehr_id, patient_mrn };
  },
  mrn_column: 'patient_mrn',
});
