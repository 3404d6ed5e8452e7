import type { Database } from '../db/database.ts';

/** All records of a kind of one organization as the text of the answer. */
export async function listRecords(
  db: Database,
  scope: { client_id: string; organization_id: string },
  table: 'providers' | 'locations' | 'staff' | 'pharmacies' | 'visit_types' | 'visit_statuses',
): Promise<string> {
  const rows = await db.read<{ body: string }>(
    scope.client_id,
    (
      sql,
    ) => sql`SELECT json_build_object('success', true, ${table}::text, coalesce(json_agg(doc ORDER BY id), '[]'))::text AS body
      FROM ${sql(table)} WHERE organization_id = ${scope.organization_id}`,
  );
  return rows[0]?.body ?? '';
}
