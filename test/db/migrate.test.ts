import { expect, onTestFinished, test } from 'vitest';
import { StartFailure } from '../../src/catalog/errors.ts';
import { connect, openDatabase } from '../../src/platform/db/database.ts';
import { isMigrated, migrate } from '../../src/platform/db/migrate.ts';
import { freshDatabase, onDatabase } from '../harness/postgres.ts';

async function emptyDatabase() {
  const database = await freshDatabase('migrate');
  onTestFinished(database.drop);
  return database.address;
}

test('a second migration changes nothing', async () => {
  const address = await emptyDatabase();
  await migrate(address);
  const applied = () => onDatabase(address, (sql) => sql`SELECT name, applied_at FROM schema_migrations ORDER BY name`);
  const before = await applied();
  const db = openDatabase(await migrate(address), 1);
  expect(await applied()).toStrictEqual(before);
  expect(await isMigrated(db.system)).toBe(true);
  await db.close();
});

test('processes that start at the same time migrate once', async () => {
  const address = await emptyDatabase();
  await Promise.all(Array.from({ length: 3 }, () => migrate(address)));
  const sql = connect(address, { max: 1 });
  expect(await sql`SELECT name FROM schema_migrations WHERE name LIKE '0001%'`).toHaveLength(1);
  await sql.end();
});

// Of the first versions, and of the last one before the migrations of 0.1.0.
const earlier_migrations = [
  ['0001_spine.sql', '0002_location_status.sql'],
  ['0001_baseline.sql', '0003_reference_lists.sql'],
];

test.each(earlier_migrations)('a database with the migration %s is refused and left as it is', async (...names) => {
  const address = await emptyDatabase();
  await onDatabase(address, async (sql) => {
    await sql`CREATE TABLE schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`;
    await sql`INSERT INTO schema_migrations (name) SELECT unnest(${names}::text[])`;
  });
  const attempt = migrate(address);
  await expect(attempt).rejects.toBeInstanceOf(StartFailure);
  await expect(attempt).rejects.toThrow(
    'The database was created by a version before 0.1.0, which cannot be upgraded. Use an empty database, or another DATA_DIR.',
  );
  const tables = await onDatabase(
    address,
    (sql) => sql`SELECT relname::text FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  expect(tables).toStrictEqual([{ relname: 'schema_migrations' }]);
});
