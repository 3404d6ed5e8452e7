import type { Query } from '../database/open.ts';
import { type CodeList, listCodes } from '../practice/practice.ts';
import type { RecordChange } from '../records/history.ts';
import { getRecord } from '../records/recordKind.ts';
import { type EligibilitySummary, listEligibilityChecks } from './eligibility.ts';
import { type Patient, patients } from './patients.ts';

export interface PatientDetails extends Patient {
  languageName: string | null;
  raceName: string | null;
  ethnicityName: string | null;
  addressHistory: PreviousAddress[];
  eligibilityChecks: EligibilitySummary[];
}

export interface PreviousAddress {
  previousAddressId: string;
  address: Patient['address'];
  replacedAt: Date;
  replacedBy: string;
}

/** The patient's row, plus data that the patient list leaves out. */
export async function getPatientDetails(sql: Query, patientId: string): Promise<PatientDetails> {
  const patient = await getRecord(sql, patients, patientId);
  return {
    ...patient,
    languageName: await codeName(sql, 'language', patient.languageCode),
    raceName: await codeName(sql, 'race', patient.raceCode),
    ethnicityName: await codeName(sql, 'ethnicity', patient.ethnicityCode),
    addressHistory: await listPreviousAddresses(sql, patientId),
    eligibilityChecks: await listEligibilityChecks(sql, patientId),
  };
}

export async function addPreviousAddress(
  sql: Query,
  patientId: string,
  previous: Omit<PreviousAddress, 'previousAddressId'>,
): Promise<RecordChange> {
  const row = { patientId, ...previous, address: sql.json(previous.address) };
  const [added] = await sql<{ previousAddressId: string }[]>`
    insert into previous_addresses ${sql.values(row)} returning previous_address_id`;
  return {
    record: 'previous address',
    record_id: added?.previousAddressId ?? '',
    patient_id: patientId,
    after: { address: previous.address },
  };
}

async function codeName(sql: Query, list: CodeList, code: string | null): Promise<string | null> {
  return (await listCodes(sql, list)).find((entry) => entry.code === code)?.name ?? null;
}

/** Newest first. */
async function listPreviousAddresses(sql: Query, patientId: string): Promise<PreviousAddress[]> {
  return sql<PreviousAddress[]>`
    select previous_address_id, address, replaced_at, replaced_by from previous_addresses
    where patient_id = ${patientId} order by replaced_at desc, length(previous_address_id) desc, previous_address_id desc`;
}
