import type { Query } from './open.ts';

/**
 * Inserts any number of rows with one statement and one parameter. With a parameter per value, the limit would be 65,535
 * values, and each number of rows would be a different statement.
 */
export async function insertMany(sql: Query, table: string, rows: object[]): Promise<void> {
  const [first] = rows;
  if (!first) return;
  const columns = Object.keys(first);
  await sql`
    insert into ${sql(table)} (${sql(columns)})
    select ${sql(columns)} from json_populate_recordset(null::${sql(table)}, ${sql.records(rows)})`;
}

/** Updates existing rows, identified by `key`. */
export async function updateMany(sql: Query, table: string, key: string, rows: object[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).filter((column) => column !== key);
  if (columns.length === 0) return;
  const set = columns.map((column) => sql`${sql(column)} = given.${sql(column)}`);
  await sql`
    update ${sql(table)} as stored set ${set.flatMap((one, index) => (index === 0 ? one : [sql`, `, one]))}
    from json_populate_recordset(null::${sql(table)}, ${sql.records(rows)}) as given
    where stored.${sql(key)} = given.${sql(key)}`;
}
