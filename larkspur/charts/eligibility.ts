import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { todayAtPractice } from '../practice/practice.ts';
import {
  id,
  idOrNull,
  moneyOrNull,
  text,
  textOrNull,
  timestamp,
  timestampOrNull,
  usDate,
  usDateOrNull,
} from '../records/fields.ts';
import type { RecordChange } from '../records/history.ts';
import { createRecord, getRecord, type Page, type RowOf, recordKind } from '../records/recordKind.ts';
import { guarantors } from './guarantors.ts';
import { listInsurances, type PatientInsurance } from './patientInsurances.ts';
import { patients } from './patients.ts';

/** One line of an insurer's answer: a 271 segment of type EB, with the texts of its codes. */
const benefit = Type.Object({
  lineNumber: Type.Integer({ minimum: 1 }),
  typeCode: text,
  typeName: text,
  levelCode: Type.Union([Type.Enum(['IND', 'FAM']), Type.Null()]),
  serviceTypeCodes: Type.Array(text),
  insuranceType: textOrNull,
  timePeriod: textOrNull,
  amount: moneyOrNull,
  percent: Type.Union([Type.Number({ minimum: 0, maximum: 100 }), Type.Null()]),
  networkCode: Type.Union([Type.Enum(['Y', 'N', 'W', 'U']), Type.Null()]),
  messages: Type.Array(text),
  segment: textOrNull,
});

const row = Type.Object({
  checkId: id,
  patientId: id,
  insuranceId: id,
  companyName: text,
  statusCode: Type.Enum(['REQ', 'ACT', 'INA', 'ERR']),
  statusMessage: textOrNull,
  requestedAt: timestamp,
  requestedBy: text,
  serviceDate: usDate,
  respondedAt: timestampOrNull,
  appointmentId: idOrNull,
  providerId: idOrNull,
  planName: textOrNull,
  subscriberName: textOrNull,
  subscriberNumber: textOrNull,
  relationshipCode: textOrNull,
  planBegins: usDateOrNull,
  planEnds: usDateOrNull,
  benefits: Type.Array(benefit),
});

export const eligibilityChecks = recordKind(
  { table: 'eligibility_checks', record: 'eligibility check', id: 'checkId', created_column: 'requestedAt' },
  row,
  { statusCode: 'REQ', companyName: '', requestedBy: '', serviceDate: '01/01/2020', benefits: [] },
);

export type EligibilityCheck = RowOf<typeof eligibilityChecks>;
/** A check in a list of the patient's checks. */
export type EligibilitySummary = Omit<EligibilityCheck, 'benefits'>;

/** A check as returned by the API, with its patient and the name of the provider. */
export interface ListedCheck extends EligibilityCheck {
  mrn: string;
  patientName: string;
  birthDate: string | null;
  providerName: string | null;
}

export async function listEligibilityChecks(sql: Query, patientId: string): Promise<EligibilitySummary[]> {
  return sql<EligibilitySummary[]>`
    select ${sql(summaryColumns)} from eligibility_checks where patient_id = ${patientId} order by length(check_id), check_id`;
}

const summaryColumns = Object.keys(row.properties).filter((column) => column !== 'benefits');

export async function listAllChecks(sql: Query, mrn: string | undefined, { page, pageSize }: Page) {
  const filter = mrn === undefined ? sql`true` : sql`mrn = ${mrn}`;
  const [counted] = await sql<{ total: number }[]>`
    select count(*)::int as total from eligibility_checks join patients using (patient_id) where ${filter}`;
  const rows = await sql<ListedCheck[]>`
    select eligibility_checks.*, mrn, concat(patients.last_name, ', ', patients.first_name) as patient_name, birth_date,
      display_name as provider_name
    from eligibility_checks join patients using (patient_id) left join providers using (provider_id)
    where ${filter} order by length(check_id), check_id limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

/** Throws NOT_FOUND if the patient has no such check. */
export async function getPatientCheck(sql: Query, patientId: string, checkId: string): Promise<EligibilityCheck> {
  const check = await getRecord(sql, eligibilityChecks, checkId);
  if (check.patientId === patientId) return check;
  throw new EmrError('NOT_FOUND', `No eligibility check with id '${checkId}'.`, { record: 'eligibility check' });
}

/**
 * Records that a check was requested, for the given insurance or the first active one; no insurer is contacted. Returns
 * undefined if there is no such active insurance.
 */
export async function requestEligibilityCheck(
  sql: Query,
  patientId: string,
  { insuranceId, requestedBy, at }: { insuranceId: string | null; requestedBy: string; at: Date },
): Promise<RecordChange | undefined> {
  const active = (await listInsurances(sql, patientId)).filter((insurance) => insurance.inForceFlag === 'Y');
  const insurance = insuranceId === null ? active[0] : active.find((one) => one.insuranceId === insuranceId);
  if (!insurance) return undefined;
  const { companyName, subscriberNumber, relationshipCode } = insurance;
  const check = {
    patientId,
    insuranceId: insurance.insuranceId,
    companyName,
    subscriberName: await subscriberName(sql, insurance),
    subscriberNumber,
    relationshipCode,
    serviceDate: await todayAtPractice(sql, at),
    requestedBy,
  };
  return createRecord(sql, eligibilityChecks, check, at);
}

async function subscriberName(sql: Query, { patientId, guarantorId }: PatientInsurance): Promise<string> {
  const person = guarantorId
    ? await getRecord(sql, guarantors, guarantorId)
    : await getRecord(sql, patients, patientId);
  return `${person.lastName}, ${person.firstName}`;
}
