import type { Query } from '../database/open.ts';

/**
 * Inserts any number of rows with one statement and one parameter. A parameter per value would exceed PostgreSQL's limit
 * of 65,535 parameters.
 */
export async function insertMany(sql: Query, table: string, rows: object[]): Promise<void> {
  const [first] = rows;
  if (!first) return;
  const columns = Object.keys(first);
  await sql`
    insert into ${sql(table)} (${sql(columns)})
    select ${sql(columns)} from json_populate_recordset(null::${sql(table)}, ${asJson(rows)}::text::json)`;
}

/** Updates existing rows, matched by `key`. */
export async function updateMany(sql: Query, table: string, key: string, rows: object[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).filter((column) => column !== key);
  if (columns.length === 0) return;
  const set = columns.map((column) => sql`${sql(column)} = given.${sql(column)}`);
  await sql`
    update ${sql(table)} as kept set ${set.flatMap((one, index) => (index === 0 ? one : [sql`, `, one]))}
    from json_populate_recordset(null::${sql(table)}, ${asJson(rows)}::text::json) as given
    where kept.${sql(key)} = given.${sql(key)}`;
}

/** Converts column names to snake_case. Keys inside JSON columns stay as they are. */
function asJson(rows: object[]): string {
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [snake(key), value]))),
  );
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
