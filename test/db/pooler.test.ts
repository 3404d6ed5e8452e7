import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { connect, type Query, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { openServer } from '../../src/platform/db/openServer.ts';
import { type RoleAddresses, throughPooler } from '../../src/platform/db/roles.ts';
import { type FreshDatabase, freshDatabase } from '../harness/postgres.ts';

let database: FreshDatabase;
let direct: RoleAddresses;
let owner: Sql;
beforeAll(async () => {
  database = await freshDatabase('pooler');
  direct = await migrate(database.address, { pooled: true });
  owner = connect(database.address, { max: 1 });
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});

/** The same server without a pooler in between: what is sent to it can be seen there. `npm run check:pgbouncer` has one. */
async function openPooled(prepare: boolean) {
  // A process names a limited number of statements, which the files before this one may have used up.
  vi.resetModules();
  const { openDatabase } = await import('../../src/platform/db/database.ts');
  const db = openDatabase(throughPooler(direct, database.address, prepare), 2);
  onTestFinished(() => db.close());
  return db;
}

const readStatements = (sql: Query) => sql.unsafe('SELECT name FROM pg_prepared_statements');

test.each([
  ['off', 0],
  ['on', 1],
])('DATABASE_PREPARE=%s lets a connection keep %i statements', async (setting, count) => {
  const { service } = await openPooled(setting === 'on');
  await service.begin(async (tx) => {
    expect(await tx`SELECT ${1}::int AS n`).toStrictEqual([{ n: 1 }]);
    expect(await readStatements(tx)).toHaveLength(count);
  });
});

test('pipelined and pooled statements work without names, also many at once', async () => {
  const { service } = await openPooled(false);
  const numbers = Array.from({ length: 50 }, (_, n) => n);
  for (const sql of [service, service.pooled]) {
    const results = await Promise.all(numbers.map((n) => sql<{ n: number }[]>`SELECT ${n}::int AS n`));
    expect(results.map(([row]) => row?.n)).toStrictEqual(numbers);
  }
});

test('behind a pooler, time limits and time zone are those stored with the roles', async () => {
  const db = await openPooled(false);
  const readSettings = (sql: Query) => sql`SELECT current_setting('statement_timeout') AS statement_timeout,
    current_setting('TimeZone') AS time_zone`;
  for (const sql of [db.service, db.service.pooled]) {
    expect(await readSettings(sql)).toStrictEqual([{ statement_timeout: '1min', time_zone: 'UTC' }]);
  }
  expect(await readSettings(db.system)).toStrictEqual([{ statement_timeout: '5min', time_zone: 'UTC' }]);
  const sources =
    await db.system`SELECT DISTINCT source FROM pg_settings WHERE name IN ('statement_timeout', 'TimeZone')`;
  expect(sources).toStrictEqual([{ source: 'database user' }]);
  // Other databases of the server are not affected.
  const other = await freshDatabase('pooler');
  onTestFinished(() => other.drop());
  const sql = connect({ ...direct.service, database: other.name, pooler: { prepare: false } }, { max: 1 });
  onTestFinished(() => sql.end());
  expect(await sql`SHOW statement_timeout`).toStrictEqual([{ statement_timeout: '0' }]);
});

test('notifications arrive by the direct connection, and the tenant of one statement does not reach the next', async () => {
  const db = await openPooled(false);
  const received: (string | undefined)[] = [];
  await db.listen('chartwire_access', (payload) => received.push(payload));
  await db.system`SELECT pg_notify('chartwire_access', 'keys')`;
  await expect.poll(() => received).toContain('keys');
  const tenants = () => db.service`SELECT current_setting('chartwire.client_id', true) AS id`;
  await db.read('018f0000-0000-7000-8000-000000000001', (sql) => sql`SELECT 1 AS n`);
  for (const [row] of await Promise.all([tenants(), tenants(), tenants()])) expect(row?.id ?? '').toBe('');
});

test('the direct URL migrates, and the roles connect to the pooler', async () => {
  const env = {
    SANDBOX: 'on',
    DATABASE_URL: database.url,
    DATABASE_LISTEN_URL: database.url,
    DATABASE_PREPARE: 'off',
  };
  const { owner: migrates, roles } = await openServer(loadConfig(env), () => {});
  expect(migrates.pooler).toBeUndefined();
  expect(roles.service.pooler).toStrictEqual({ prepare: false });
  expect(roles.system.pooler).toStrictEqual({ prepare: false });
  expect(roles.listen?.pooler).toBeUndefined();
  const closed = 'postgres://chartwire:secret@127.0.0.1:1/chartwire';
  await expect(openServer(loadConfig({ ...env, DATABASE_URL: closed }), () => {})).rejects.toThrow(
    'DATABASE_URL cannot be used: no server is listening at 127.0.0.1:1.',
  );
  await expect(openServer(loadConfig({ ...env, DATABASE_LISTEN_URL: closed }), () => {})).rejects.toThrow(
    'DATABASE_LISTEN_URL cannot be used: no server is listening at 127.0.0.1:1.',
  );
});

test('settings that would lose notifications are refused', () => {
  const url = 'postgres://chartwire:secret@127.0.0.1:6432/chartwire';
  expect(() => loadConfig({ SANDBOX: 'on', DATABASE_URL: url, DATABASE_PREPARE: 'off' })).toThrow(
    'DATABASE_PREPARE is off, so DATABASE_LISTEN_URL must be set',
  );
  expect(() => loadConfig({ SANDBOX: 'on', DATABASE_LISTEN_URL: url })).toThrow('so DATABASE_URL must be set too');
});
