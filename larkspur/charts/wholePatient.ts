import type { Query } from '../database/open.ts';
import { getRecord } from '../machine/recordKind.ts';
import { type CodeList, listCodes } from '../practice/codes.ts';
import { type EligibilityCheck, listEligibilityChecks } from './eligibilityChecks.ts';
import { type Patient, patients } from './patients.ts';
import { listPreviousAddresses, type PreviousAddress } from './previousAddresses.ts';

export interface WholePatient extends Patient {
  languageName: string | null;
  raceName: string | null;
  ethnicityName: string | null;
  addressHistory: PreviousAddress[];
  eligibilityChecks: EligibilityCheck[];
}

/** A patient's row with the names behind its codes, and what only one chart at a time needs. */
export async function getWholePatient(sql: Query, patientId: string): Promise<WholePatient> {
  const patient = await getRecord(sql, patients, patientId);
  return {
    ...patient,
    languageName: await nameOf(sql, 'language', patient.languageCode),
    raceName: await nameOf(sql, 'race', patient.raceCode),
    ethnicityName: await nameOf(sql, 'ethnicity', patient.ethnicityCode),
    addressHistory: await listPreviousAddresses(sql, patientId),
    eligibilityChecks: await listEligibilityChecks(sql, patientId),
  };
}

async function nameOf(sql: Query, list: CodeList, code: string | null): Promise<string | null> {
  return (await listCodes(sql, list)).find((one) => one.code === code)?.name ?? null;
}
