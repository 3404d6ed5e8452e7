import { Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { flag, id, idOrNull, moneyOrNull, text, textOrNull, usDateOrNull } from '../records/fields.ts';
import { type Page, type RowOf, recordKind } from '../records/recordKind.ts';

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
  planEnds: usDateOrNull,
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

/** A policy as returned by the API. `inForceFlag`: it is active, and its last day is not over. */
export interface ListedInsurance extends PatientInsurance {
  mrn: string;
  inForceFlag: 'Y' | 'N';
}

/** Those in force come first. */
export async function listInsurances(sql: Query, patientId: string): Promise<ListedInsurance[]> {
  return sql<ListedInsurance[]>`
    select * from (${selectInsurances(sql)}) as policies where patient_id = ${patientId}
    order by in_force_flag desc, active_flag desc, priority, length(insurance_id), insurance_id`;
}

/** A policy that is not billed has no place among the others. */
export async function requireInForce(sql: Query, { patientId, insuranceId }: PatientInsurance): Promise<void> {
  const present = (await listInsurances(sql, patientId)).find((each) => each.insuranceId === insuranceId);
  if (present?.inForceFlag !== 'Y') throw new EmrError('RULE_BROKEN', 'The insurance is not in force.');
}

/** All policies, or those of a patient, in the order of their ids. */
export async function listPolicies(sql: Query, patientId: string | undefined, { page, pageSize }: Page) {
  const filter = patientId === undefined ? sql`true` : sql`patient_id = ${patientId}`;
  const [counted] = await sql<{ total: number }[]>`
    select count(*)::int as total from patient_insurances where ${filter}`;
  const rows = await sql<ListedInsurance[]>`
    select * from (${selectInsurances(sql)}) as policies where ${filter}
    order by length(insurance_id), insurance_id limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

function selectInsurances(sql: Query): Fragment {
  return sql`select patient_insurances.*, mrn, case when patient_insurances.active_flag = 'Y' and coalesce(
      plan_ends >= (now() at time zone (select time_zone from practice))::date, true) then 'Y' else 'N' end as in_force_flag
    from patient_insurances join patients using (patient_id)`;
}

/** Copies the first insurance in force to the patient's row. Call after every change of the patient's insurances. */
export async function updatePrimaryInsurance(sql: Query, patientId: string, at: Date): Promise<void> {
  const first = (await listInsurances(sql, patientId)).find((insurance) => insurance.inForceFlag === 'Y');
  await sql`
    update patients set primary_insurance_name = ${first?.companyName ?? null},
      primary_subscriber_number = ${first?.subscriberNumber ?? null}, last_modified = ${at}
    where patient_id = ${patientId}`;
}
