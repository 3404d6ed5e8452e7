import { expect, test } from 'vitest';
import type { DatabaseAddress } from '../../sql/address.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { freshDatabase, onDatabase, template } from '../harness/postgres.ts';

test('a new database is empty, reachable by its options and its URL, and gone after drop', async () => {
  const database = await freshDatabase();
  expect(parseDatabaseUrl('DATABASE_URL', database.url)).toMatchObject(database.address);
  const [row] = await onDatabase(database.address, (sql) => sql`select current_database() as name`);
  expect(row?.name).toBe(database.name);
  await database.drop();
  await expect(onDatabase(database.address, (sql) => sql`select 1`)).rejects.toThrow('does not exist');
});

test('a template is created once for parallel requests, and its clones are independent', async () => {
  let created = 0;
  const create = async (address: DatabaseAddress) => {
    created += 1;
    await onDatabase(address, (sql) => sql`create table rooms as select 1 as n`);
  };
  const name = `rooms_${process.pid}`;
  const [first, second] = await Promise.all([template(name, create), template(name, create)]);
  expect(second).toBe(first);
  expect(created).toBe(1);
  const [one, two] = await Promise.all([freshDatabase('one', first), freshDatabase('two', first)]);
  await onDatabase(one.address, (sql) => sql`insert into rooms values (2)`);
  expect(await onDatabase(two.address, (sql) => sql`select n from rooms`)).toHaveLength(1);
  await Promise.all([one.drop(), two.drop()]);
});

test('a template that failed is created again by the next request', async () => {
  const name = `broken_${process.pid}`;
  await expect(template(name, () => Promise.reject(new Error('not today')))).rejects.toThrow('not today');
  expect(await template(name, async () => {})).toBe(`template_${name}`);
});
