import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { id, text, timestamp } from '../records/fields.ts';
import type { RecordChange } from '../records/history.ts';
import { createRecord, type RowOf, recordKind } from '../records/recordKind.ts';
import { listInsurances } from './patientInsurances.ts';

const row = Type.Object({
  checkId: id,
  patientId: id,
  insuranceId: id,
  companyName: text,
  statusCode: Type.Enum(['REQ', 'ACT', 'INA']),
  requestedAt: timestamp,
  requestedBy: text,
});

export const eligibilityChecks = recordKind(
  { table: 'eligibility_checks', record: 'eligibility check', id: 'checkId', created_column: 'requestedAt' },
  row,
  { statusCode: 'REQ', companyName: '', requestedBy: '' },
);

export type EligibilityCheck = RowOf<typeof eligibilityChecks>;

export async function listEligibilityChecks(sql: Query, patientId: string): Promise<EligibilityCheck[]> {
  return sql<EligibilityCheck[]>`
    select check_id, patient_id, insurance_id, company_name, status_code, requested_at, requested_by
    from eligibility_checks where patient_id = ${patientId} order by length(check_id), check_id`;
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
  const active = (await listInsurances(sql, patientId)).filter((insurance) => insurance.activeFlag === 'Y');
  const insurance = insuranceId === null ? active[0] : active.find((one) => one.insuranceId === insuranceId);
  if (!insurance) return undefined;
  const { companyName } = insurance;
  const check = { patientId, insuranceId: insurance.insuranceId, companyName, requestedBy };
  return createRecord(sql, eligibilityChecks, check, at);
}
