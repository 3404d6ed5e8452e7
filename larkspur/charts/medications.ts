import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { flag, id, text, textOrNull, usDateOrNull } from '../records/fields.ts';
import { type RowOf, recordKind } from '../records/recordKind.ts';

const row = Type.Object({
  medicationId: id,
  patientId: id,
  name: text,
  strength: text,
  frequency: text,
  startDate: usDateOrNull,
  refills: text,
  notes: textOrNull,
  activeFlag: flag,
});

export const medications = recordKind({ table: 'medications', record: 'medication', id: 'medicationId' }, row, {
  strength: '',
  frequency: '',
  refills: '0',
  activeFlag: 'Y',
});

export type Medication = Omit<RowOf<typeof medications>, 'patientId'>;

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
