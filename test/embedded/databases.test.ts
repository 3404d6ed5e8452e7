import postgres from 'postgres';
import { expect, test } from 'vitest';
import { parseDatabaseUrl } from '../../src/db/address.ts';
import { type DatabaseOptions, freshDatabase, template } from '../harness/postgres.ts';

async function on<T>(options: DatabaseOptions, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres({ ...options, max: 1 });
  return work(sql).finally(() => sql.end({ timeout: 1 }));
}

test('a new database is empty, reachable by its options and its URL, and gone after drop', async () => {
  const database = await freshDatabase();
  expect(parseDatabaseUrl('DATABASE_URL', database.url)).toMatchObject(database.options);
  const [row] = await on(database.options, (sql) => sql`select current_database() as name`);
  expect(row?.name).toBe(database.name);
  await database.drop();
  await expect(on(database.options, (sql) => sql`select 1`)).rejects.toThrow('does not exist');
});

test('a template is created once for parallel requests, and its clones are independent', async () => {
  let laid = 0;
  const lay = async (options: DatabaseOptions) => {
    laid += 1;
    await on(options, (sql) => sql`create table rooms as select 1 as n`);
  };
  const name = `rooms_${process.pid}`;
  const [first, second] = await Promise.all([template(name, lay), template(name, lay)]);
  expect(second).toBe(first);
  expect(laid).toBe(1);
  const [one, two] = await Promise.all([freshDatabase('one', first), freshDatabase('two', first)]);
  await on(one.options, (sql) => sql`insert into rooms values (2)`);
  expect(await on(two.options, (sql) => sql`select n from rooms`)).toHaveLength(1);
  await Promise.all([one.drop(), two.drop()]);
});

test('a template that failed is created again by the next request', async () => {
  const name = `broken_${process.pid}`;
  await expect(template(name, () => Promise.reject(new Error('not today')))).rejects.toThrow('not today');
  expect(await template(name, async () => {})).toBe(`template_${name}`);
});
