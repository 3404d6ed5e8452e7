import { eligibilityChecks } from '../../model/records/eligibilityChecks.ts';
import type { Database } from '../../platform/db/database.ts';
import type { RecordsJson, Scope } from './readRecords.ts';

type BenefitsPage = { id: string; benefit_type?: string | undefined; page: number; page_size: number };

/** A page of the benefits of one check as JSON, and the patient's MRN. Undefined if there is no such check. */
export async function readBenefits(
  db: Pick<Database, 'read'>,
  scope: Scope,
  { id, benefit_type, page, page_size }: BenefitsPage,
): Promise<RecordsJson | undefined> {
  const [row] = await db.read<RecordsJson>(
    scope.client_id,
    (sql) => sql`
      SELECT json_build_object('success', true, 'benefits', coalesce(listed.page, '[]'), 'pagination', json_build_object(
               'page', ${page}::int, 'current_page', ${page}::int, 'page_size', ${page_size}::int,
               'total_count', listed.total, 'total_records', listed.total,
               'total_pages', ceil(listed.total::numeric / ${page_size}::int)))::text AS body,
             array_to_json(array_remove(ARRAY[patient_mrn], NULL)) AS mrns
        FROM ${sql(eligibilityChecks.name)} AS checks CROSS JOIN LATERAL (
          SELECT count(*) AS total, json_agg(line ORDER BY n)
                   FILTER (WHERE n > (${page}::int - 1) * ${page_size}::int AND n <= ${page}::int * ${page_size}::int) AS page
            FROM (SELECT line, row_number() OVER (ORDER BY position) AS n
                    FROM json_array_elements(checks.benefits) WITH ORDINALITY AS lines (line, position)
                   WHERE ${benefit_type === undefined ? sql`true` : sql`lower(line ->> 'benefit_type') = lower(${benefit_type})`}
                 ) AS numbered
        ) AS listed
       WHERE checks.client_id = ${scope.client_id} AND checks.organization_id = ${scope.organization_id} AND checks.id = ${id}`,
  );
  return row;
}
