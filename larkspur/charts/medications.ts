import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';

export interface Medication {
  medicationId: string;
  name: string;
  strength: string;
  frequency: string;
  startDate: string | null;
  refills: string;
  notes: string | null;
  activeFlag: 'Y' | 'N';
}

export async function listMedications(sql: Query, patientId: string): Promise<Medication[]> {
  return sql<Medication[]>`
    select medication_id, name, strength, frequency, start_date, refills, notes, active_flag from medications
    where patient_id = ${patientId} order by length(medication_id), medication_id`;
}

/** Only active medications can be refilled. */
export async function getRefillableMedication(
  sql: Query,
  patientId: string,
  medicationId: string,
): Promise<Medication> {
  const medication = (await listMedications(sql, patientId)).find((entry) => entry.medicationId === medicationId);
  if (!medication)
    throw new EmrError('MEDICATION_NOT_FOUND', `Medication '${medicationId}' is not on the patient's list.`);
  if (medication.activeFlag === 'N')
    throw new EmrError('MEDICATION_NOT_FOUND', `Medication '${medicationId}' is no longer active.`);
  return medication;
}
