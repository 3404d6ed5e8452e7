import { type Static, Type } from 'typebox';
import type { Query } from '../database/open.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import { id, moment, text } from '../practice/fields.ts';

const row = Type.Object({
  checkId: id,
  patientId: id,
  insuranceId: id,
  companyName: text,
  statusCode: Type.Enum(['REQ', 'ACT', 'INA']),
  requestedAt: moment,
  requestedBy: text,
});

export type EligibilityCheck = Static<typeof row>;

/** Larkspur writes down that a check was asked for; no insurer is ever called. */
export const eligibilityChecks: RecordKind<typeof row> = {
  table: 'eligibility_checks',
  record: 'eligibility check',
  id: 'checkId',
  row,
  blank: { statusCode: 'REQ', companyName: '', requestedBy: '' },
  made: 'requestedAt',
};

export async function listEligibilityChecks(sql: Query, patientId: string): Promise<EligibilityCheck[]> {
  return sql<EligibilityCheck[]>`
    select check_id, patient_id, insurance_id, company_name, status_code, requested_at, requested_by
    from eligibility_checks where patient_id = ${patientId} order by length(check_id), check_id`;
}
