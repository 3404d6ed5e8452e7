import {
  type Patient,
  type PatientById,
  type PatientSource,
  type PatientStatus,
  patientColumns,
} from '../../model/records/patients.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { Scope } from './readRecords.ts';
import { markWritten } from './storeRecords.ts';

export type PatientRow = { id: string; doc: Patient; open_updates: number };

/** Stores a patient that the EMR does not have yet. */
export async function insertPending(
  tx: Tx,
  scope: Scope,
  id: string,
  demographics: Omit<PatientSource, 'ehr_id' | 'mrn'>,
): Promise<void> {
  const { client_id, organization_id } = scope;
  const now = new Date().toISOString();
  const doc: Patient = {
    id,
    ehr_id: null,
    mrn: null,
    status: 'pending',
    ...demographics,
    created_at: now,
    updated_at: now,
  };
  const columns = { ...patientColumns(doc), created_at: now, source_hash: unsynced, seen_in: 0 };
  const row = { id, client_id, organization_id, ...columns, doc: tx.json(doc) };
  await tx`INSERT INTO patients ${tx.values(row)}`;
}

/** Deletes patients whose creation failed, by the operations that were to create them. */
export async function deleteFailedPatients(tx: Tx, operation_ids: readonly string[]): Promise<void> {
  await tx`DELETE FROM patients WHERE id = ANY (${[...operation_ids]}::uuid[]) AND status = 'failed'`;
}

/** Locks a patient. Every change locks the patient before any lane, so that changes cannot deadlock. */
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

/** A patient in any state. The reason for a failure is that of the latest job that was to create the patient. */
export async function findPatientById(db: Database, scope: Scope, id: string): Promise<PatientById | undefined> {
  const [row] = await db.read<{ doc: Patient; failure_reason: string | null }>(
    scope.client_id,
    (sql) => sql`SELECT doc, CASE WHEN status = 'failed' THEN (
        SELECT error ->> 'message' FROM jobs WHERE operation_id = patients.id ORDER BY jobs.id DESC LIMIT 1) END AS failure_reason
      FROM patients WHERE client_id = ${scope.client_id} AND organization_id = ${scope.organization_id} AND id = ${id}`,
  );
  return row && { ...row.doc, failure_reason: row.failure_reason };
}

/** Our ids of patients by EMR id, as far as they are stored. */
export async function patientIds(
  db: Database,
  scope: Scope,
  ehr_ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db.read<{ id: string; ehr_id: string }>(
    scope.client_id,
    (sql) => sql`SELECT id, ehr_id FROM patients
      WHERE organization_id = ${scope.organization_id} AND ehr_id = ANY (${[...ehr_ids]})`,
  );
  return new Map(rows.map(({ id, ehr_id }) => [ehr_id, id]));
}

/** Replaces what is stored of a patient with what the EMR returns after a write of ours. Returns whether it is stored. */
export async function storeChart(tx: Tx, scope: Scope, source: PatientSource): Promise<boolean> {
  const [row] = await tx<PatientRow[]>`SELECT id, doc, open_updates FROM patients
    WHERE organization_id = ${scope.organization_id} AND ehr_id = ${source.ehr_id} FOR UPDATE`;
  if (row) await savePatient(tx, scope, row, { ...source, status: row.doc.status });
  return row !== undefined;
}

type PatientUpdate = Partial<Patient> & { status: PatientStatus; open_updates?: number };

/** Changes a locked patient. The next sync compares it again; a running sync neither removes nor replaces it. */
export async function savePatient(
  tx: Tx,
  scope: Scope,
  { id, doc, open_updates: before }: PatientRow,
  { open_updates = before, ...change }: PatientUpdate,
): Promise<PatientRow> {
  const saved: Patient = { ...doc, ...change, updated_at: new Date().toISOString() };
  await tx`UPDATE patients SET ${tx.set({ ...patientColumns(saved), ehr_id: saved.ehr_id, open_updates })},
      doc = ${JSON.stringify(saved)}::text::json, source_hash = ${unsynced},
      ${markWritten(tx, 'patients', scope.organization_id)}
    WHERE id = ${id}`;
  return { id, doc: saved, open_updates };
}

/** Equals the hash of no row. */
const unsynced = Buffer.alloc(0);
