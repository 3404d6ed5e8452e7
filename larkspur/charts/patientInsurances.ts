import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { flag, id, idOrNull, moneyOrNull, text, textOrNull, usDateOrNull } from '../records/fields.ts';
import { type RowOf, recordKind } from '../records/recordKind.ts';

export const insurancePriority = Type.Enum([1, 2, 3]);

const row = Type.Object({
  insuranceId: id,
  patientId: id,
  priority: insurancePriority,
  companyId: idOrNull,
  companyName: text,
  payerId: textOrNull,
  subscriberNumber: text,
  groupNumber: textOrNull,
  planBegins: usDateOrNull,
  copayment: moneyOrNull,
  relationshipCode: textOrNull,
  guarantorId: idOrNull,
  guarantorIsPatient: flag,
  activeFlag: flag,
});

export const patientInsurances = recordKind(
  { table: 'patient_insurances', record: 'insurance', id: 'insuranceId' },
  row,
  {
    priority: 1,
    companyName: '',
    subscriberNumber: '',
    planBegins: '01/01/2020',
    guarantorIsPatient: 'Y',
    activeFlag: 'Y',
  },
);

export type PatientInsurance = RowOf<typeof patientInsurances>;

/** The patient's relationship to the subscriber, in the codes that insurers use. */
export const subscriberRelationships = {
  '01': 'Self',
  '02': 'Spouse',
  '17': 'Step parent',
  '19': 'Child',
  '20': 'Employee',
  '25': 'Other',
  '32': 'Mother',
  '33': 'Father',
  '53': 'Life partner',
};
export const SUBSCRIBER_SELF = '01';

export async function listInsurances(sql: Query, patientId: string): Promise<PatientInsurance[]> {
  return sql<PatientInsurance[]>`
    select insurance_id, patient_id, priority, company_id, company_name, payer_id, subscriber_number, group_number,
      plan_begins, copayment, relationship_code, guarantor_id, guarantor_is_patient, active_flag
    from patient_insurances where patient_id = ${patientId}
    order by active_flag desc, priority, length(insurance_id), insurance_id`;
}

/** Copies the first active insurance to the patient's row. Call after every change of the patient's insurances. */
export async function updatePrimaryInsurance(sql: Query, patientId: string, at: Date): Promise<void> {
  const first = (await listInsurances(sql, patientId)).find((insurance) => insurance.activeFlag === 'Y');
  await sql`
    update patients set primary_insurance_name = ${first?.companyName ?? null},
      primary_subscriber_number = ${first?.subscriberNumber ?? null}, last_modified = ${at}
    where patient_id = ${patientId}`;
}
