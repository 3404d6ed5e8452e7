import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import type { RecordChange } from '../records/history.ts';
import { getRecord, updateRecord } from '../records/recordKind.ts';
import { type Patient, patients } from './patients.ts';

/**
 * Merges a duplicate chart into another one of the same person. Everything in the duplicate moves to the surviving chart,
 * whose demographics stay as they are. The duplicate becomes inactive and points to the surviving chart; so do charts that
 * were merged into the duplicate before.
 */
export async function mergePatients(
  sql: Query,
  duplicate_id: string,
  surviving_id: string,
  at: Date,
): Promise<RecordChange[]> {
  if (duplicate_id === surviving_id) throw new EmrError('RULE_BROKEN', 'A chart cannot be merged into itself.');
  // Both merges of two charts into each other lock the rows in the same order.
  await sql`select from patients where patient_id = any(${[duplicate_id, surviving_id]}) order by patient_id for update`;
  const duplicate = await getRecord(sql, patients, duplicate_id);
  const surviving = await getRecord(sql, patients, surviving_id);
  for (const chart of [duplicate, surviving]) rejectMerged(chart);
  await moveRecords(sql, duplicate_id, surviving);
  await addBalances(sql, duplicate_id, surviving_id);
  await joinAlerts(sql, duplicate_id, surviving_id);
  const values = { activeFlag: 'N', mergedInto: surviving_id };
  const earlier = await sql<{ patientId: string }[]>`
    select patient_id from patients where merged_into = ${duplicate_id} order by patient_id`;
  const changes: RecordChange[] = [];
  for (const { patientId } of [{ patientId: duplicate_id }, ...earlier]) {
    changes.push(await updateRecord(sql, patients, patientId, { values, at }));
  }
  // The lists of patients tell what changed by this time.
  await sql`update patients set last_modified = ${at} where patient_id = ${surviving_id}`;
  const received = { record: 'merged chart', record_id: duplicate_id, patient_id: surviving_id };
  return [...changes, { ...received, after: { mrn: duplicate.mrn } }];
}

/**
 * Throws if the chart was merged into another one: nothing is added to it anymore. Otherwise it is not merged until the
 * transaction ends. Unknown charts are rejected by the write itself.
 */
export async function rejectMergedChart(sql: Query, patientId: string): Promise<void> {
  const [chart] = await sql<Pick<Patient, 'patientId' | 'mergedInto'>[]>`
    select patient_id, merged_into from patients where patient_id = ${patientId} for key share`;
  if (chart) rejectMerged(chart);
}

function rejectMerged({ patientId, mergedInto }: Pick<Patient, 'patientId' | 'mergedInto'>): void {
  if (mergedInto === null) return;
  const message = `The chart with id '${patientId}' was merged into the chart with id '${mergedInto}'.`;
  throw new EmrError('INACTIVE_RECORD', message, { mergedInto });
}

/** Tables whose rows belong to a chart and need nothing but the other chart's id. */
const moved = [
  'medications',
  'telephone_encounters',
  'appointments',
  'orders',
  'guarantors',
  'eligibility_checks',
  'previous_addresses',
  'payments',
  'tasks',
  'visit_notes',
  'patient_notes',
];

async function moveRecords(sql: Query, from: string, { patientId: to, mrn, lastName, firstName }: Patient) {
  for (const table of moved) await sql`update ${sql(table)} set patient_id = ${to} where patient_id = ${from}`;
  const patient_name = `${lastName}, ${firstName}`;
  await sql`update claims set patient_id = ${to}, mrn = ${mrn}, patient_name = ${patient_name} where patient_id = ${from}`;
  // A chart has one insurance of each priority: those of the duplicate follow, or are kept as inactive ones.
  await sql`
    update patient_insurances as moving set patient_id = ${to}, active_flag = case when exists (
        select from patient_insurances as present where present.patient_id = ${to}
           and present.priority = moving.priority and present.active_flag = 'Y') then 'N' else active_flag end
     where patient_id = ${from}`;
  await sql`
    insert into patient_pharmacies (patient_id, pharmacy_id, primary_flag)
    select ${to}, pharmacy_id, case when exists (
        select from patient_pharmacies where patient_id = ${to} and primary_flag = 'Y') then 'N' else primary_flag end
      from patient_pharmacies where patient_id = ${from}
    on conflict (patient_id, pharmacy_id) do nothing`;
  await sql`delete from patient_pharmacies where patient_id = ${from}`;
  await sql`
    insert into folders (patient_id, path) select ${to}, path from folders where patient_id = ${from}
    on conflict do nothing`;
  await sql`update documents set patient_id = ${to} where patient_id = ${from}`;
  await sql`delete from folders where patient_id = ${from}`;
}

async function addBalances(sql: Query, from: string, to: string): Promise<void> {
  await sql`
    insert into balances (patient_id, patient_balance, account_balance)
    select ${to}, patient_balance, account_balance from balances where patient_id = ${from}
    on conflict (patient_id) do update set
      patient_balance = balances.patient_balance + excluded.patient_balance,
      account_balance = balances.account_balance + excluded.account_balance`;
  await sql`delete from balances where patient_id = ${from}`;
}

async function joinAlerts(sql: Query, from: string, to: string): Promise<void> {
  await sql`
    insert into alerts (patient_id, billing_alert, billing_notes, global_alerts)
    select ${to}, billing_alert, billing_notes, global_alerts from alerts where patient_id = ${from}
    on conflict (patient_id) do update set
      billing_alert = greatest(alerts.billing_alert, excluded.billing_alert),
      billing_notes = nullif(concat_ws(E'\\n', alerts.billing_notes, excluded.billing_notes), ''),
      global_alerts = alerts.global_alerts || excluded.global_alerts`;
  await sql`delete from alerts where patient_id = ${from}`;
}
