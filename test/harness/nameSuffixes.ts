import { record_kinds } from '../../src/model/records/kinds.ts';
import type { RecordKind } from '../../src/model/records/recordKind.ts';
import type { Sql } from '../../src/platform/db/database.ts';

/** The columns that can be searched by part of a name, of all kinds. */
export const name_columns: readonly { kind: RecordKind; filter: string; column: string }[] = record_kinds.flatMap(
  (kind: RecordKind) =>
    Object.entries(kind.filters)
      .filter(([, { match }]) => match === 'contains')
      .flatMap(([filter, { columns }]) => columns.map((column) => ({ kind, filter, column }))),
);

type Stored = { client_id: string; organization_id: string; id: string; name: string };

/** The suffixes that should be stored, and those that are, each as sorted lines. */
export async function nameSuffixes(owner: Sql): Promise<{ expected: string[]; stored: string[] }> {
  const expected: string[] = [];
  for (const { kind, column } of name_columns) {
    const records = await owner<Stored[]>`SELECT client_id, organization_id, id, ${owner(column)} AS name
      FROM ${owner(kind.name)}`;
    for (const { client_id, organization_id, id, name } of records) {
      const characters = [...name];
      for (let start = 0; start <= characters.length - 3; start++) {
        const suffix = characters.slice(start, start + 32).join('');
        expected.push([client_id, organization_id, id, `${kind.name}.${column}`, suffix].join(' '));
      }
    }
  }
  const rows = await owner<(Omit<Stored, 'name'> & { field: string; suffix: string })[]>`
    SELECT client_id, organization_id, record_id AS id, field, suffix FROM name_suffixes`;
  const stored = rows.map((row) => [row.client_id, row.organization_id, row.id, row.field, row.suffix].join(' '));
  return { expected: expected.sort(), stored: stored.sort() };
}
