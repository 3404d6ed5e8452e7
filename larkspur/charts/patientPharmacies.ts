import type { Query } from '../database/open.ts';
import type { WriteResult } from '../http/operation.ts';
import type { RecordChange } from '../records/history.ts';

export interface PatientPharmacy {
  pharmacyId: string;
  primaryFlag: 'Y' | 'N';
  name: string;
  address: { line1: string; city: string; state: string; zip: string };
  phone: string | null;
}

export async function listPatientPharmacies(sql: Query, patientId: string): Promise<PatientPharmacy[]> {
  return sql<PatientPharmacy[]>`
    select pharmacy_id, primary_flag, name, address, phone from patient_pharmacies join pharmacies using (pharmacy_id)
    where patient_id = ${patientId} order by primary_flag desc, length(pharmacy_id), pharmacy_id`;
}

/**
 * Adds a pharmacy to a patient's list, or returns its existing entry. There is one primary pharmacy: setting a new one
 * clears the flag of the old one.
 */
export async function addPatientPharmacy(
  sql: Query,
  patientId: string,
  pharmacyId: string,
  primary: boolean,
): Promise<WriteResult> {
  // Serializes concurrent calls, so that there is never more than one primary pharmacy.
  await sql`select 1 from patients where patient_id = ${patientId} for update`;
  const before = await listEntries(sql, patientId);
  if (primary) {
    await sql`update patient_pharmacies set primary_flag = 'N' where patient_id = ${patientId} and pharmacy_id <> ${pharmacyId}`;
  }
  await sql`
    insert into patient_pharmacies (patient_id, pharmacy_id, primary_flag)
    values (${patientId}, ${pharmacyId}, ${primary ? 'Y' : 'N'})
    on conflict (patient_id, pharmacy_id) do update set primary_flag = 'Y' where ${primary}`;
  const after = await listEntries(sql, patientId);
  const added = after.find((entry) => entry.pharmacyId === pharmacyId);
  return {
    record_id: added?.patientPharmacyId ?? '',
    changes: after.map((entry) => entryChange(patientId, before, entry)),
  };
}

interface Entry {
  patientPharmacyId: string;
  pharmacyId: string;
  primaryFlag: 'Y' | 'N';
}

async function listEntries(sql: Query, patientId: string): Promise<Entry[]> {
  return sql<Entry[]>`
    select patient_pharmacy_id, pharmacy_id, primary_flag from patient_pharmacies where patient_id = ${patientId}`;
}

function entryChange(patientId: string, before: Entry[], after: Entry): RecordChange {
  const old = before.find((entry) => entry.patientPharmacyId === after.patientPharmacyId);
  return {
    record: 'patient pharmacy',
    record_id: after.patientPharmacyId,
    patient_id: patientId,
    ...(old ? { before: entryFields(old) } : {}),
    after: entryFields(after),
  };
}

function entryFields({ pharmacyId, primaryFlag }: Entry): object {
  return { pharmacyId, primaryFlag };
}
