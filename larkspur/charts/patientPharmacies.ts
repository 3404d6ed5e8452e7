import type { Query } from '../database/open.ts';
import type { Change } from '../machine/history.ts';
import type { Written } from '../machine/operation.ts';

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
 * Puts a pharmacy on a patient's list. One that is there already keeps its entry; there is one primary pharmacy, so a new
 * primary one takes the flag from the old.
 */
export async function addPatientPharmacy(
  sql: Query,
  patientId: string,
  pharmacyId: string,
  primary: boolean,
): Promise<Written> {
  await sql`select 1 from patients where patient_id = ${patientId} for update`; // one at a time: two must not both be primary
  const before = await entries(sql, patientId);
  if (primary) {
    await sql`update patient_pharmacies set primary_flag = 'N' where patient_id = ${patientId} and pharmacy_id <> ${pharmacyId}`;
  }
  await sql`
    insert into patient_pharmacies (patient_id, pharmacy_id, primary_flag)
    values (${patientId}, ${pharmacyId}, ${primary ? 'Y' : 'N'})
    on conflict (patient_id, pharmacy_id) do update set primary_flag = 'Y' where ${primary}`;
  const after = await entries(sql, patientId);
  const added = after.find((entry) => entry.pharmacyId === pharmacyId);
  return {
    record_id: added?.patientPharmacyId ?? '',
    changes: after.map((entry) => asChange(patientId, before, entry)),
  };
}

interface Entry {
  patientPharmacyId: string;
  pharmacyId: string;
  primaryFlag: 'Y' | 'N';
}

async function entries(sql: Query, patientId: string): Promise<Entry[]> {
  return sql<Entry[]>`
    select patient_pharmacy_id, pharmacy_id, primary_flag from patient_pharmacies where patient_id = ${patientId}`;
}

function asChange(patientId: string, before: Entry[], after: Entry): Change {
  const old = before.find((entry) => entry.patientPharmacyId === after.patientPharmacyId);
  return {
    record: 'patient pharmacy',
    record_id: after.patientPharmacyId,
    patient_id: patientId,
    ...(old ? { before: content(old) } : {}),
    after: content(after),
  };
}

function content({ pharmacyId, primaryFlag }: Entry): object {
  return { pharmacyId, primaryFlag };
}
