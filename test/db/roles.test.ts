import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { connect, openDatabase, type Query, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { checkRole, roleAddresses, service_role, system_role } from '../../src/platform/db/roles.ts';
import { type FreshDatabase, freshDatabase } from '../harness/postgres.ts';

let database: FreshDatabase;
let owner: Sql;
beforeAll(async () => {
  database = await freshDatabase('roles');
  await migrate(database.address);
  owner = connect(database.address, { max: 2 });
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});

async function openRole(name: 'service' | 'system') {
  const sql = connect(roleAddresses(database.address)[name], { max: 1 });
  onTestFinished(() => sql.end());
  return sql;
}

test.each([
  ['service', service_role],
  ['system', system_role],
] as const)('the %s role logs in by itself and cannot become another one', async (name, role) => {
  const sql = await openRole(name);
  expect(await sql`SELECT session_user::text AS session, current_user::text AS current`).toStrictEqual([
    { session: role, current: role },
  ]);
  const other = role === service_role ? system_role : service_role;
  for (const target of [database.address.user, other]) {
    await expect(sql`SET ROLE ${sql(target)}`, target).rejects.toMatchObject({ code: '42501' });
    await expect(sql`SET SESSION AUTHORIZATION ${sql(target)}`, target).rejects.toMatchObject({ code: '42501' });
  }
  await sql`RESET ROLE`;
  await sql`RESET SESSION AUTHORIZATION`;
  expect(await sql`SELECT current_user::text AS name`).toStrictEqual([{ name: role }]);
  await expect(sql`SELECT * FROM role_secrets`).rejects.toMatchObject({ code: '42P01' });
});

test('the password of a role opens neither the other role nor the owner', async () => {
  const { service, system } = roleAddresses(database.address);
  for (const user of [system.user, database.address.user]) {
    const sql = connect({ ...service, user }, { max: 1 });
    await expect(sql`SELECT 1`, user).rejects.toMatchObject({ code: '28P01' });
    await sql.end();
  }
});

test('a connection that runs as another role is refused at startup', async () => {
  const { address } = database;
  const db = openDatabase({ service: address, system: roleAddresses(address).system }, 2);
  onTestFinished(() => db.close());
  await expect(db.checkRoles()).rejects.toThrow(
    `The database connection of the role chartwire_service runs as ${address.user}.`,
  );
});

test('the service role looks rows up in an index even while the table fits on one page', async () => {
  const db = openDatabase(roleAddresses(database.address), 2);
  onTestFinished(() => db.close());
  await owner`INSERT INTO clients (id, public_id, name, mode, callback_urls) VALUES (${newId()}, 'one', 'One', 'test', '{}')`;
  onTestFinished(async () => {
    await owner`DELETE FROM clients WHERE public_id = 'one'`;
  });
  await owner`ANALYZE clients`;
  const plan = await db.service.unsafe<{ 'QUERY PLAN': string }[]>(
    `EXPLAIN SELECT FROM clients WHERE id = '${'0'.repeat(32)}'`,
  );
  expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toMatch(/Index (Only )?Scan using clients_pkey/);
});

test('a role that is a member of the owner, or exempt from policies, is refused at startup', async () => {
  // Roles belong to the whole server, which other tests use, so this test creates its own.
  const name = `member_${database.name}`;
  await owner.unsafe(`CREATE ROLE ${name} LOGIN PASSWORD 'member'; GRANT ${database.address.user} TO ${name}`);
  const sql = connect({ ...database.address, user: name, password: 'member' }, { max: 1 });
  try {
    await expect(checkRole(sql, name)).rejects.toThrow('must be neither a superuser');
    await owner.unsafe(`REVOKE ${database.address.user} FROM ${name}`);
    await checkRole(sql, name);
    await owner.unsafe(`ALTER ROLE ${name} BYPASSRLS`);
    await expect(checkRole(sql, name)).rejects.toThrow('must be neither a superuser');
  } finally {
    await sql.end();
    await owner.unsafe(`DROP ROLE ${name}`);
  }
});

test('databases of one server are migrated at the same time and share the roles', async () => {
  const databases = await Promise.all(Array.from({ length: 4 }, () => freshDatabase('roles')));
  const migrated = await Promise.all(databases.map(({ address }) => migrate(address)));
  for (const roles of migrated) {
    const db = openDatabase(roles, 2);
    await db.checkRoles();
    await db.close();
  }
  await Promise.all(databases.map((each) => each.drop()));
});

test('statements of the service are cancelled by the server after a time, those of migrations are not', async () => {
  const db = openDatabase(roleAddresses(database.address), 2);
  onTestFinished(() => db.close());
  const readTimeout = async (sql: Query) => (await sql`SHOW statement_timeout`)[0]?.statement_timeout;
  // On pipelined connections and on those of the pool.
  expect(await Promise.all([db.service, db.service.pooled].map(readTimeout))).toStrictEqual(['1min', '1min']);
  expect(await Promise.all([db.system, db.system.pooled].map(readTimeout))).toStrictEqual(['5min', '5min']);
  expect(await readTimeout(owner)).toBe('0');
});
