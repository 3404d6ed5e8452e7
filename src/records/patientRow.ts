import type { Tx } from '../db/database.ts';
import type { Patient, PatientSource, PatientStatus } from '../model/patient.ts';
import { fold } from './fold.ts';
import { seenBySync } from './recordKind.ts';

export type PatientRow = { id: string; doc: Patient; open_updates: number };
type Of = { client_id: string; organization_id: string };

/** The columns that stand beside a patient's document, made of it. */
export function columnsOf(doc: Patient) {
  return {
    mrn: doc.mrn,
    status: doc.status,
    first_folded: fold(doc.first_name),
    last_folded: fold(doc.last_name),
    dob: doc.dob,
    phone: doc.phone,
    cell_phone: doc.cell_phone,
  };
}

/** A patient whom the EMR does not have yet. */
export async function insertPending(
  tx: Tx,
  of: Of,
  id: string,
  said: Omit<PatientSource, 'ehr_id' | 'mrn'>,
): Promise<void> {
  const now = new Date().toISOString();
  const doc: Patient = { id, ehr_id: null, mrn: null, status: 'pending', ...said, created_at: now, updated_at: now };
  const row = { id, ...of, ...columnsOf(doc), created_at: now, source_hash: unsynced, seen_in: 0 };
  await tx`INSERT INTO patients ${tx.values({ ...row, doc: tx.json(doc) })}`;
}

/** Locks a patient. Everybody who changes one locks it before any lane, so that no two wait for each other. */
export async function lockPatient(tx: Tx, organization_id: string, id: string): Promise<PatientRow | undefined> {
  const [row] = await tx<PatientRow[]>`SELECT id, doc, open_updates FROM patients
    WHERE organization_id = ${organization_id} AND id = ${id} FOR UPDATE`;
  return row;
}

export async function readPatient(tx: Tx, organization_id: string, id: string): Promise<PatientRow | undefined> {
  const [row] = await tx<PatientRow[]>`SELECT id, doc, open_updates FROM patients
    WHERE organization_id = ${organization_id} AND id = ${id}`;
  return row;
}

/** Changes a locked patient. Its next sync compares it anew, and one that is under way does not take it for gone. */
export async function savePatient(
  tx: Tx,
  of: Of,
  { id, doc, open_updates }: PatientRow,
  change: Partial<Patient> & { status: PatientStatus },
  updates = open_updates,
): Promise<PatientRow> {
  const saved: Patient = { ...doc, ...change, updated_at: new Date().toISOString() };
  await tx`UPDATE patients SET ${tx.set({ ...columnsOf(saved), ehr_id: saved.ehr_id, open_updates: updates })},
      doc = ${JSON.stringify(saved)}::text::json, source_hash = ${unsynced},
      seen_in = ${seenBySync(tx, of.organization_id)}
    WHERE id = ${id}`;
  return { id, doc: saved, open_updates: updates };
}

/** Matches the content of no row. */
const unsynced = Buffer.alloc(0);
