import type { Database } from '../db/database.ts';
import type { Scope } from './page.ts';

/** The kinds of record that are about one patient, and the column that says who that is. */
const mrn_columns = { patients: 'mrn', claims: 'patient_mrn', appointments: 'patient_mrn' } as const;
export type ReadableKind = keyof typeof mrn_columns;

export function isReadable(kind: string): kind is ReadableKind {
  return Object.hasOwn(mrn_columns, kind);
}

/** One record of an organization and whom it is about; undefined when there is none of this id. */
export async function readRecord(
  db: Database,
  scope: Scope,
  kind: ReadableKind,
  id: string,
): Promise<{ record: Record<string, unknown>; mrn: string | null } | undefined> {
  const [row] = await db.read<{ record: Record<string, unknown>; mrn: string | null }>(
    scope.client_id,
    (sql) => sql`SELECT doc AS record, ${sql(mrn_columns[kind])} AS mrn FROM ${sql(kind)}
      WHERE organization_id = ${scope.organization_id} AND id = ${id}`,
  );
  return row;
}
