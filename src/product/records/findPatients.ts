import type { FoundPatient } from '../../model/dashboard/records.ts';
import { phoneDigits } from '../../model/fields.ts';
import { fold, needleOf } from '../../model/fold.ts';
import type { Database, Fragment, Query } from '../../platform/db/database.ts';
import { isDate } from '../../platform/time/days.ts';
import { containsName, namedRecords, nameField, recordsNamed } from './nameSuffixes.ts';

/**
 * Patients of all of a client's organizations by name, date of birth, phone number or MRN; `text` says which by its
 * form. The first matches by name are enough for a person who is looking for one.
 */
export function findPatients(
  db: Pick<Database, 'search'>,
  client_id: string,
  text: string,
  { patients_max }: { patients_max: number },
): Promise<FoundPatient[]> {
  return db.search<FoundPatient>(client_id, (sql) => {
    const { source, condition } = searchOf(sql, client_id, text.trim());
    return sql`
      SELECT listed.id, organization_id, org_id, doc->>'first_name' AS first_name, doc->>'last_name' AS last_name, doc->>'dob' AS dob, mrn
        FROM ${source} JOIN organizations ON organizations.id = organization_id
       WHERE listed.client_id = ${client_id} AND ${inOrganizations(sql, client_id)} AND ${condition}
       ORDER BY last_folded, first_folded, listed.id LIMIT ${patients_max}`;
  });
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

/** All organizations of the client, by id: indexes begin with it. */
function inOrganizations(sql: Query, client_id: string): Fragment {
  return sql`organization_id = ANY (ARRAY(SELECT id FROM organizations WHERE client_id = ${client_id}))`;
}

/** Where the patients are read from, under the name `listed`, and a condition about them. */
type Search = { source: Fragment; condition: Fragment };

function searchOf(sql: Query, client_id: string, text: string): Search {
  const source = sql`patients AS listed`;
  const dob = readDay(text);
  if (dob !== undefined) return { source, condition: sql`dob = ${dob}` };
  const phone = readPhone(text);
  // An MRN may look like a phone number.
  if (phone !== undefined)
    return { source, condition: sql`(phone = ${phone} OR cell_phone = ${phone} OR mrn = ${text})` };
  const names = fold(text)
    .split(/[\s,]+/)
    .filter((word) => needleOf(word) !== null);
  if (names.length === 0) return { source, condition: sql`mrn = ${text}` };
  const matches = names
    .map((name) => sql`(${containsName(sql, sql`last_folded`, name)} OR ${containsName(sql, sql`first_folded`, name)})`)
    .reduce((all, each) => sql`${all} AND ${each}`);
  return {
    source: namedSource(sql, client_id, text, names) ?? source,
    condition: sql`(mrn = ${text} OR (${matches}))`,
  };
}

const name_fields = [nameField('patients', 'last_folded'), nameField('patients', 'first_folded')];

/** The patients that indexes find by the longest name or by MRN; undefined if all names are too short. */
function namedSource(sql: Query, client_id: string, mrn: string, names: readonly string[]): Fragment | undefined {
  const [longest = ''] = names.toSorted((a, b) => b.length - a.length);
  const organizations = inOrganizations(sql, client_id);
  const named = recordsNamed(sql, { client_id: sql`${client_id}`, organizations, fields: name_fields }, longest);
  if (!named) return undefined;
  return sql`(${named.ids} UNION SELECT id FROM patients
      WHERE client_id = ${client_id} AND ${organizations} AND mrn = ${mrn}) AS named
    CROSS JOIN ${namedRecords(sql, 'patients')} AS listed`;
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
