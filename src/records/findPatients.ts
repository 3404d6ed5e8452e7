import type { Database, Fragment, Query } from '../db/database.ts';
import type { FoundPatient } from '../model/dashboard/records.ts';
import { fold, needleOf } from '../model/fold.ts';
import { phoneDigits } from '../model/usPlaces.ts';
import { isDate } from '../time/days.ts';

/**
 * Patients of all of a client's organizations by name, date of birth, phone number or MRN; `text` says which by its
 * form. The first matches by name are enough for a person who is looking for one.
 */
export function findPatients(
  db: Database,
  client_id: string,
  text: string,
  { patients_max }: { patients_max: number },
): Promise<FoundPatient[]> {
  return db.search<FoundPatient>(
    client_id,
    (sql) => sql`
      SELECT patients.id, organization_id, org_id, doc->>'first_name' AS first_name, doc->>'last_name' AS last_name, doc->>'dob' AS dob, mrn
        FROM patients JOIN organizations ON organizations.id = organization_id
       WHERE patients.client_id = ${client_id} AND ${conditionOf(sql, text.trim())}
       ORDER BY last_folded, first_folded, patients.id LIMIT ${patients_max}`,
  );
}

/** A patient of any organization by id. */
export async function findPatient(
  db: Database,
  client_id: string,
  id: string,
): Promise<{ id: string; mrn: string | null } | undefined> {
  const [patient] = await db.read<{ id: string; mrn: string | null }>(
    client_id,
    (sql) =>
      sql`SELECT replace(id::text, '-', '') AS id, mrn FROM patients WHERE client_id = ${client_id} AND id = ${id}`,
  );
  return patient;
}

function conditionOf(sql: Query, text: string): Fragment {
  const dob = readDay(text);
  if (dob !== undefined) return sql`dob = ${dob}`;
  const phone = readPhone(text);
  // An MRN may look like a phone number.
  if (phone !== undefined) return sql`(phone = ${phone} OR cell_phone = ${phone} OR mrn = ${text})`;
  const names = fold(text)
    .split(/[\s,]+/)
    .filter((word) => needleOf(word) !== null);
  if (names.length === 0) return sql`mrn = ${text}`;
  const named = names.map((name) => {
    const pattern = `%${name.replace(/[\\%_]/g, '\\$&')}%`;
    return sql`(last_folded LIKE ${pattern} OR first_folded LIKE ${pattern})`;
  });
  return sql`(mrn = ${text} OR (${named.reduce((all, each) => sql`${all} AND ${each}`)}))`;
}

/** A date as `YYYY-MM-DD`, from that or from `M/D/YYYY`. */
function readDay(text: string): string | undefined {
  const [, month = '', date = '', year] = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text) ?? [];
  const day = year === undefined ? text : `${year}-${month.padStart(2, '0')}-${date.padStart(2, '0')}`;
  return isDate(day) ? day : undefined;
}

/** Phone numbers are stored as digits. */
function readPhone(text: string): string | undefined {
  if (!/^[\d\s()+.-]+$/.test(text)) return undefined;
  const digits = phoneDigits(text);
  return digits.length === 10 ? digits : undefined;
}
