import type { Database } from '../db/database.ts';
import type { Patient, PatientSource } from '../model/patient.ts';
import type { RecordKind } from './recordKind.ts';

export const patients: RecordKind<PatientSource> = {
  table: 'patients',
  list: (operations) => operations.listPatients,
  keeps: ['status', 'created_at'],
  row: (source, id, kept) => {
    const now = new Date();
    const created_at = (kept?.created_at as Date | undefined) ?? now;
    const status = (kept?.status as Patient['status'] | undefined) ?? 'active';
    const { ehr_id, mrn, ...demographics } = source;
    const doc: Patient = {
      id,
      ehr_id,
      mrn,
      status,
      ...demographics,
      created_at: created_at.toISOString(),
      updated_at: now.toISOString(),
    };
    return {
      doc,
      mrn,
      status,
      first_folded: fold(source.first_name),
      last_folded: fold(source.last_name),
      dob: source.dob,
      phone: source.phone,
      cell_phone: source.cell_phone,
      created_at,
    };
  },
};

export type PatientFilters = {
  dob?: string;
  first_name?: string;
  last_name?: string;
  mrn?: string;
  ehr_id?: string;
  phone?: string;
  page?: number;
  page_size?: number;
};

/** A page of the cached patients as the text of the answer: PostgreSQL assembles it, nothing here takes it apart. */
export async function listPatients(
  db: Database,
  scope: { client_id: string; organisation_id: string },
  { page = 1, page_size = 100, ...filters }: PatientFilters,
): Promise<string> {
  const filtered = Object.values(filters).some((value) => value !== undefined);
  const rows = await db.read<{ body: string }>(scope.client_id, (sql) => {
    const like = (text: string) => `%${fold(text).replace(/[\\%_]/g, '\\$&')}%`;
    const matches = sql`client_id = ${scope.client_id} AND organisation_id = ${scope.organisation_id}
      ${filters.dob === undefined ? sql`` : sql`AND dob = ${filters.dob}`}
      ${filters.mrn === undefined ? sql`` : sql`AND mrn = ${filters.mrn}`}
      ${filters.ehr_id === undefined ? sql`` : sql`AND ehr_id = ${filters.ehr_id}`}
      ${filters.phone === undefined ? sql`` : sql`AND (phone = ${filters.phone} OR cell_phone = ${filters.phone})`}
      ${filters.first_name === undefined ? sql`` : sql`AND first_folded LIKE ${like(filters.first_name)}`}
      ${filters.last_name === undefined ? sql`` : sql`AND last_folded LIKE ${like(filters.last_name)}`}`;
    const total = filtered
      ? sql`SELECT count(*) AS n FROM patients WHERE ${matches}`
      : sql`SELECT coalesce(sum(total), 0) AS n FROM record_counts
             WHERE organisation_id = ${scope.organisation_id} AND kind = 'patients'`;
    return sql`
      SELECT json_build_object('success', true,
        'patients', (SELECT coalesce(json_agg(found.doc), '[]') FROM (
          -- By the primary key one at a time: as a join, without statistics yet, it was planned as 100 scans.
          SELECT (SELECT doc FROM patients AS wide WHERE wide.id = narrow.id) AS doc FROM (
            SELECT id FROM patients WHERE ${matches}
             ORDER BY last_folded, first_folded, id LIMIT ${page_size} OFFSET ${(page - 1) * page_size}
          ) AS narrow) AS found),
        'pagination', json_build_object('page', ${page}::int, 'current_page', ${page}::int,
          'page_size', ${page_size}::int, 'total_count', total.n,
          'total_pages', ceil(total.n::numeric / ${page_size}::int)))::text AS body
        FROM (${total}) AS total`;
  });
  return rows[0]?.body ?? '';
}

/** Names as they are compared: without case and without accents. */
function fold(name: string): string {
  return name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
