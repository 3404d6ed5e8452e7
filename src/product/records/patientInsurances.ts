import { newId } from '../../catalog/ids.ts';
import {
  type PatientInsuranceRecord,
  type PatientInsuranceSource,
  patientInsurances,
} from '../../model/records/patientInsurances.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import { todayIn } from '../../platform/time/zones.ts';
import { patientByMrn } from './mergedCharts.ts';
import { isFirstSyncPending, type Scope } from './readRecords.ts';
import { markWritten, storeOwnRecord } from './storeRecords.ts';

type StoredList = { mrn: string; insurances: PatientInsuranceRecord[]; timezone: string; pending: boolean };

/**
 * The stored insurances of a patient: those in force first, in the order in which they are billed. Undefined if there is
 * no such patient; of a merged chart, those of the surviving one, which `mrn` names. By the EMR's id of the patient, because the MRN of a patient may change.
 */
export async function listInsurances(
  db: Pick<Database, 'read'>,
  scope: Scope,
  mrn: string,
): Promise<{ mrn: string; insurances: PatientInsuranceRecord[]; pending: boolean } | undefined> {
  const [row] = await db.read<StoredList>(
    scope.client_id,
    (sql) => sql`
      SELECT patient.mrn, ${isFirstSyncPending(sql, scope.organization_id, patientInsurances.name)} AS pending,
        (SELECT timezone FROM organizations WHERE organizations.id = ${scope.organization_id}) AS timezone,
        coalesce((SELECT json_agg(listed.doc) FROM ${sql(patientInsurances.name)} AS listed
          WHERE listed.client_id = ${scope.client_id} AND listed.organization_id = ${scope.organization_id}
            AND listed.patient_ehr_id = patient.ehr_id AND listed.doc IS NOT NULL), '[]') AS insurances
        FROM (SELECT ${patientByMrn(sql, scope, mrn, 'ehr_id')} AS ehr_id, ${patientByMrn(sql, scope, mrn, 'mrn')} AS mrn)
          AS patient WHERE patient.mrn IS NOT NULL`,
  );
  if (!row) return undefined;
  const today = todayIn(row.timezone);
  const insurances = row.insurances
    .map((each) => (hasEnded(each, today) ? { ...each, status: 'inactive' as const } : each))
    .toSorted((a, b) => a.status.localeCompare(b.status) || a.priority - b.priority || (a.id < b.id ? -1 : 1));
  return { mrn: row.mrn, insurances, pending: row.pending };
}

function hasEnded({ plan_end_date }: PatientInsuranceRecord, today: string): boolean {
  return plan_end_date !== null && plan_end_date < today;
}

/** Our id of an insurance, which a client knows already. */
export type KnownInsurance = { id: string; ehr_id: string };

/**
 * Replaces what is stored of a patient's insurances with what the EMR returned after a write of ours. Other ids than the
 * given ones stay.
 */
export async function storeInsurances(
  tx: Tx,
  scope: Scope,
  patient_ehr_id: string,
  { insurances, known }: { insurances: readonly PatientInsuranceSource[]; known?: KnownInsurance | undefined },
): Promise<void> {
  const { organization_id } = scope;
  const ehr_ids = insurances.map(({ ehr_id }) => ehr_id);
  const stored = await tx<KnownInsurance[]>`
    SELECT replace(id::text, '-', '') AS id, ehr_id FROM patient_insurances
     WHERE organization_id = ${organization_id} AND ehr_id = ANY (${ehr_ids})`;
  const ids = new Map([...stored, ...(known ? [known] : [])].map(({ id, ehr_id }) => [ehr_id, id]));
  // In the order in which a sync locks them.
  const sources = insurances
    .map((source) => ({ id: ids.get(source.ehr_id) ?? newId(), source }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  for (const { id, source } of sources) {
    await storeOwnRecord(tx, { ...scope, kind: patientInsurances }, id, source);
  }
  await tx`DELETE FROM patient_insurances WHERE organization_id = ${organization_id}
    AND patient_ehr_id = ${patient_ehr_id} AND ehr_id <> ALL (${ehr_ids})`;
}

/** Our id of an insurance in the EMR: that of the request that added it, or the one given when it was first seen. */
export async function insuranceId(tx: Tx, scope: Scope, ehr_id: string): Promise<string> {
  // The update has no effect; without it, an existing row would not be returned.
  const [row] = await tx<{ id: string }[]>`
    INSERT INTO patient_insurances (id, client_id, organization_id, ehr_id)
      VALUES (${newId()}, ${scope.client_id}, ${scope.organization_id}, ${ehr_id})
    ON CONFLICT (organization_id, ehr_id) DO UPDATE SET ehr_id = excluded.ehr_id
    RETURNING replace(id::text, '-', '') AS id`;
  if (!row) throw new Error('An upsert returned no row.');
  return row.id;
}

/**
 * Stores the id under which a client knows an insurance that it has added. A sync may have read the insurance before, and
 * given it another id. A running sync does not remove the row.
 */
export async function storeInsuranceId(tx: Tx, scope: Scope, { id, ehr_id }: KnownInsurance): Promise<void> {
  const { client_id, organization_id } = scope;
  await tx`UPDATE patient_insurances SET id = ${id}, source_hash = '',
      doc = regexp_replace(doc::text, '"id":"[0-9a-f]{32}"', ${`"id":"${id}"`})::json
    WHERE organization_id = ${organization_id} AND ehr_id = ${ehr_id} AND id <> ${id}`;
  await tx`INSERT INTO patient_insurances (id, client_id, organization_id, ehr_id)
      VALUES (${id}, ${client_id}, ${organization_id}, ${ehr_id})
    ON CONFLICT DO NOTHING`;
  await tx`UPDATE patient_insurances SET ${markWritten(tx, patientInsurances.name, organization_id)} WHERE id = ${id}`;
}
