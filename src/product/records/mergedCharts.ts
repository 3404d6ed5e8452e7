import type { ListPage } from '../../emr/operations/operation.ts';
import { patients } from '../../model/records/patients.ts';
import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import type { Scope } from './readRecords.ts';
import type { SourceRecord } from './storeRecords.ts';
import type { SyncedList } from './syncPasses.ts';

type IsErased = (row: Record<string, unknown>) => boolean;

/** Stores which charts of a page were merged into which, and forgets the merges of those that are listed again. */
export async function storeMerges(
  tx: Tx,
  { kind, client_id, organization_id }: SyncedList,
  page: ListPage<SourceRecord>,
  isErased: IsErased,
): Promise<void> {
  if (kind.name !== patients.name) return;
  const listed = page.map(({ ehr_id }) => ehr_id);
  await tx`DELETE FROM merged_charts WHERE organization_id = ${organization_id} AND ehr_id = ANY (${listed})`;
  for (const { ehr_id, mrn, merged_into } of page.left ?? []) {
    if (mrn === null || merged_into === null || isErased({ ehr_id, mrn }) || isErased({ ehr_id: merged_into }))
      continue;
    await tx`INSERT INTO merged_charts (organization_id, ehr_id, client_id, mrn, merged_into)
        VALUES (${organization_id}, ${ehr_id}, ${client_id}, ${mrn}, ${merged_into})
      ON CONFLICT (organization_id, ehr_id) DO UPDATE SET mrn = excluded.mrn, merged_into = excluded.merged_into
        WHERE (merged_charts.mrn, merged_charts.merged_into) IS DISTINCT FROM (excluded.mrn, excluded.merged_into)`;
  }
}

/**
 * A subquery for a column of the patient with an MRN or, if it is that of a merged chart, of the one that survived. Null
 * if there is none, or if charts with this MRN were merged into several.
 */
export function patientByMrn(
  sql: Query,
  { client_id, organization_id }: Scope,
  mrn: string,
  column: 'id' | 'ehr_id' | 'mrn',
): Fragment {
  const within = sql`client_id = ${client_id} AND organization_id = ${organization_id}`;
  return sql`coalesce(
    (SELECT ${sql(column)} FROM patients WHERE ${within} AND mrn = ${mrn} ORDER BY id LIMIT 1),
    (WITH RECURSIVE merge AS (
        SELECT merged_into FROM merged_charts WHERE ${within} AND mrn = ${mrn}
        UNION SELECT later.merged_into FROM merge JOIN merged_charts AS later
          ON later.organization_id = ${organization_id} AND later.ehr_id = merge.merged_into
      ), surviving AS (
        SELECT ${sql(column)} FROM patients WHERE ${within} AND ehr_id IN (SELECT merged_into FROM merge)
      ) SELECT ${sql(column)} FROM surviving WHERE (SELECT count(*) FROM surviving) = 1))`;
}

/** A request with the MRN of the surviving chart, if its own is that of a merged one. */
export async function nameSurvivingChart<Body extends object>(
  db: Pick<Database, 'read'>,
  scope: Scope,
  body: Body,
): Promise<Body> {
  const { patient_mrn, mrn }: { patient_mrn?: unknown; mrn?: unknown } = body;
  const sent = patient_mrn ?? mrn;
  if (typeof sent !== 'string') return body;
  const [row] = await db.read<{ mrn: string | null }>(
    scope.client_id,
    (sql) => sql`SELECT ${patientByMrn(sql, scope, sent, 'mrn')} AS mrn`,
  );
  if (!row?.mrn || row.mrn === sent) return body;
  return { ...body, [patient_mrn === undefined ? 'mrn' : 'patient_mrn']: row.mrn };
}

/**
 * The MRNs of all charts of a patient: of the surviving one, and of all that were merged into it, whichever of them the
 * given MRN belongs to. At least the given one.
 */
export async function listChartMrns(db: Pick<Database, 'read'>, scope: Scope, mrn: string): Promise<string[]> {
  const rows = await db.read<{ mrn: string }>(
    scope.client_id,
    (sql) =>
      sql`SELECT DISTINCT mrn FROM (${selectCharts(sql, scope, { mrn, ehr_id: null })}) AS chart WHERE mrn IS NOT NULL`,
  );
  return [...new Set([mrn, ...rows.map((row) => row.mrn)])];
}

/** A query for the MRNs and the EMR's ids of all charts of a patient, one of which is known. */
export function selectCharts(
  sql: Query,
  { client_id, organization_id }: Scope,
  { mrn, ehr_id }: { mrn: string | null; ehr_id: string | null },
): Fragment {
  const within = sql`client_id = ${client_id} AND organization_id = ${organization_id}`;
  const known = sql`(mrn = ${mrn}::text OR ehr_id = ${ehr_id}::text)`;
  return sql`
    WITH RECURSIVE merges AS (SELECT ehr_id, mrn, merged_into FROM merged_charts WHERE ${within}), later AS (
      SELECT ehr_id FROM patients WHERE ${within} AND ${known}
      UNION ALL SELECT ehr_id FROM merges WHERE ${known}
    ), surviving AS (
      SELECT ehr_id FROM later
      UNION SELECT merges.merged_into FROM surviving JOIN merges ON merges.ehr_id = surviving.ehr_id
    ), chart AS (
      SELECT ehr_id FROM surviving
      UNION SELECT merges.ehr_id FROM chart JOIN merges ON merges.merged_into = chart.ehr_id
    )
    SELECT ehr_id, mrn FROM patients WHERE ${within} AND ehr_id IN (SELECT ehr_id FROM chart)
    UNION SELECT ehr_id, mrn FROM merges WHERE ehr_id IN (SELECT ehr_id FROM chart)`;
}
