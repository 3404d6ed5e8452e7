import type { Query } from '../database/open.ts';
import type { Change } from '../machine/history.ts';
import { createRecord } from '../machine/recordKind.ts';
import { eligibilityChecks } from './eligibilityChecks.ts';
import { listInsurances } from './patientInsurances.ts';

/** Writes down a check of one insurance, or of the first active one; a patient without any has nothing to check. */
export async function checkEligibility(
  sql: Query,
  patientId: string,
  insuranceId: string | null,
  requestedBy: string,
  at: Date,
): Promise<Change | undefined> {
  const active = (await listInsurances(sql, patientId)).filter((one) => one.activeFlag === 'Y');
  const insurance = insuranceId === null ? active[0] : active.find((one) => one.insuranceId === insuranceId);
  if (!insurance) return undefined;
  const { companyName } = insurance;
  const check = { patientId, insuranceId: insurance.insuranceId, companyName, requestedBy };
  return createRecord(sql, eligibilityChecks, check, at);
}
