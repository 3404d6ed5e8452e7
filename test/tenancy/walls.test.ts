import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseDatabaseUrl } from '../../src/db/address.ts';
import { connect, type Database, openDatabase, type Sql } from '../../src/db/database.ts';
import { roleAddresses, service_role, system_role } from '../../src/db/roles.ts';
import { newId } from '../../src/ids.ts';
import { newClient, type OtherClient } from '../api/support.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { leaveRows } from './leaveRows.ts';

let world: TestSandbox;
let db: Database;
let service: Sql;
let system: Sql;
let own: string;
let other: OtherClient;
let tables: string[];

/** Tables that belong to no client: operators stand above clients, keys and migrations are the installation's. */
const unowned = [
  'audit_head',
  'master_keys',
  'operator_sessions',
  'operator_tries',
  'operators',
  'schema_migrations',
  'signing_keys',
  'system_keys',
];
/** Tables with rows of clients and rows above them, which have no client. */
const mixed = ['audit_records', 'requests'];
/** The client's own row, whose wall is on its id. */
const keyColumn = (table: string) => (table === 'clients' ? 'id' : 'client_id');

beforeAll(async () => {
  world = await startSandbox();
  const roles = roleAddresses(parseDatabaseUrl('DATABASE_URL', world.env.DATABASE_URL ?? ''));
  db = openDatabase(roles, 2);
  service = connect(roles.service, { max: 1 });
  system = connect(roles.system, { max: 1 });
  other = await newClient(world);
  const access_token = await other.api.link({ user_id: 'their-user', org_id: 'their-org', staff: 1 });
  await leaveRows(other.api, { access_token });
  await leaveRows(world.api);
  // A file stays only as long as its job runs.
  await world.owner`INSERT INTO uploads (operation_id, client_id, content) SELECT id, client_id, 'x' FROM operations`;
  // An operator opens a receiver; it keeps what it gets for a day.
  await world.owner`INSERT INTO receivers (client_id, endpoint_id, key_hash)
    SELECT DISTINCT ON (client_id) client_id, id, id::bytea FROM webhook_endpoints`;
  await world.owner`INSERT INTO received_requests (id, client_id, method, headers, body, body_bytes, verdict, delay_ms)
    SELECT gen_random_uuid(), client_id, 'POST', '{}', 'x', 1, 'valid', 0 FROM receivers`;
  // What the overview shows is summed up when a half hour is over.
  await world.owner`INSERT INTO job_periods (client_id, at, succeeded, partial, failed, needs_review, taken)
    SELECT id, now(), 1, 0, 0, 0, '[]' FROM clients`;
  // A sign-in on the EMR's page stays only until it is taken up.
  await world.owner`INSERT INTO page_sign_ins (link_token_hash, client_id, state_hash, window_hash, kept_sealed)
    SELECT token_hash, client_id, token_hash, token_hash, 'x' FROM link_tokens`;
  const [row] = await world.owner<
    { id: string }[]
  >`SELECT id FROM clients WHERE public_id = ${world.sandbox.client_id}`;
  own = row?.id ?? '';
  tables = (
    await world.owner<{ name: string }[]>`SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name`
  ).map((each) => each.name);
});
afterAll(async () => {
  await Promise.all([db.close(), service.end(), system.end()]);
  await world.close();
});

/** Rows of a client as the owner of the tables sees them. */
async function count(table: string, client: string): Promise<number> {
  const [row] = await world.owner`SELECT count(*) AS n FROM ${world.owner(table)}
    WHERE ${world.owner(keyColumn(table))} = ${client}`;
  return Number(row?.n);
}

describe('the roles', () => {
  test('own nothing, bypass nothing, may do nothing special', async () => {
    const roles = await world.owner`SELECT rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin
      FROM pg_roles WHERE rolname IN (${service_role}, ${system_role})`;
    expect(roles).toHaveLength(2);
    for (const role of roles) {
      expect(role).toMatchObject({ rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false });
    }
    const owned = await world.owner`SELECT c.relname FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
      WHERE r.rolname IN (${service_role}, ${system_role})`;
    expect(owned).toHaveLength(0);
    const memberships = await world.owner`SELECT g.rolname FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
      JOIN pg_roles r ON r.oid = m.member WHERE r.rolname IN (${service_role}, ${system_role})`;
    expect(memberships).toHaveLength(0);
    const definers = await world.owner`SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname = 'public' AND prosecdef`;
    expect(definers).toHaveLength(0);
    const views = await world.owner`SELECT FROM pg_views WHERE schemaname = 'public'`;
    expect(views).toHaveLength(0);
  });

  test('may not create or change tables', async () => {
    for (const role of [service, system]) {
      await expect(role`CREATE TABLE public.mine (id int)`).rejects.toMatchObject({ code: '42501' });
      await expect(role`ALTER TABLE patients DISABLE ROW LEVEL SECURITY`).rejects.toMatchObject({ code: '42501' });
      await expect(role`TRUNCATE patients`).rejects.toMatchObject({ code: '42501' });
      await expect(role`SET row_security = off`.then(() => role`SELECT count(*) FROM clients`)).rejects.toMatchObject({
        code: '42501',
      });
      await role`RESET row_security`;
    }
  });
});

describe('every table', () => {
  test('either has an owner and a wall that nobody is above, or is one of the few that belong to no client', async () => {
    const walls = await world.owner<
      { name: string; walled: boolean; forced: boolean; client: boolean; policy: boolean }[]
    >`
      SELECT c.relname AS name, c.relrowsecurity AS walled, c.relforcerowsecurity AS forced,
             EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'client_id' AND a.attnotnull) AS client,
             EXISTS (SELECT FROM pg_policies p WHERE p.tablename = c.relname AND p.policyname = 'tenant'
               AND p.cmd = 'ALL' AND p.qual IS NOT NULL AND p.with_check IS NOT NULL) AS policy
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') ORDER BY c.relname`;
    expect(walls.map((each) => each.name)).toStrictEqual(tables);
    for (const { name, ...wall } of walls) {
      if (unowned.includes(name)) continue;
      const client = name !== 'clients' && !mixed.includes(name);
      const expected = { walled: true, forced: true, client, policy: true };
      expect({ name, ...wall }).toStrictEqual({ name, ...expected });
    }
  });

  test('that belongs to no client is closed to the service role', async () => {
    for (const table of unowned) {
      await expect(service`SELECT FROM ${service(table)}`, table).rejects.toMatchObject({ code: '42501' });
    }
  });

  test('holds rows of both clients here, so that what follows shows something', async () => {
    const empty = [];
    for (const table of tables.filter((each) => !unowned.includes(each))) {
      if ((await count(table, own)) === 0 || (await count(table, other.id)) === 0) empty.push(table);
    }
    // Lanes exist while there is work.
    expect(empty.filter((table) => table !== 'lanes')).toStrictEqual([]);
  });

  test('shows no rows without a tenant, nor with an empty or unknown one', async () => {
    for (const table of tables.filter((each) => !unowned.includes(each))) {
      expect(await service`SELECT FROM ${service(table)}`, table).toHaveLength(0);
      for (const tenant of ['', '00000000000000000000000000000000']) {
        const rows = await service.begin(async (tx) => {
          await tx`SELECT set_config('chartwire.client_id', ${tenant}, true)`;
          return tx`SELECT FROM ${tx(table)}`;
        });
        expect(rows, table).toHaveLength(0);
      }
    }
  });

  test("shows a client its own rows and none of another's, in both forms of reading", async () => {
    for (const table of tables.filter((each) => !unowned.includes(each))) {
      const column = keyColumn(table);
      const inside = await db.tenant(own, (tx) => tx`SELECT ${tx(column)} AS owner FROM ${tx(table)}`);
      const read = await db.read<{ owner: string }>(
        own,
        (sql) => sql`SELECT ${sql(column)} AS owner FROM ${sql(table)}`,
      );
      expect(inside, table).toHaveLength(await count(table, own));
      expect(read, table).toHaveLength(inside.length);
      for (const row of [...inside, ...read]) expect(row.owner, table).toBe(own);
    }
  });

  test('shows what belongs to no client to none of them, and lets none add such a row', async () => {
    await world.owner`INSERT INTO audit_records (id, at, actor_kind, actor, action, outcome, patients, mac)
      VALUES (${newId()}, now(), 'operator', 'above@example.org', 'operator.sign_in', '200', '{}', '')`;
    await world.api.call('GET', '/v1/patients', { headers: { client_secret: 'wrong' } });
    for (const table of mixed) {
      const above = () => world.owner`SELECT FROM ${world.owner(table)} WHERE client_id IS NULL`;
      await expect.poll(async () => (await above()).length, { message: table }).toBeGreaterThan(0);
      const seen = await db.tenant(own, (tx) => tx`SELECT FROM ${tx(table)} WHERE client_id IS NULL`);
      expect(seen, table).toHaveLength(0);
    }
    const added = db.tenant(
      own,
      (tx) => tx`INSERT INTO audit_records (id, at, actor_kind, actor, action, outcome, patients, mac)
        VALUES (${newId()}, now(), 'operator', 'forged@example.org', 'operator.sign_in', '200', '{}', '')`,
    );
    await expect(added).rejects.toMatchObject({ code: '42501' });
  });

  test('is not left open after a transaction of a client: the connection forgets it', async () => {
    await service.begin((tx) => tx`SELECT set_config('chartwire.client_id', ${own}, true)`);
    expect(await service`SELECT FROM accounts`).toHaveLength(0);
  });
});

describe("another client's rows", () => {
  test('can be neither changed nor deleted, and none can be added in its name', async () => {
    for (const table of tables.filter((each) => !unowned.includes(each))) {
      const column = keyColumn(table);
      const before = await count(table, other.id);
      const attempt = async (work: Parameters<typeof db.tenant>[1]) => {
        try {
          return (await db.tenant(own, work)) as { count: number };
        } catch (error) {
          // No right to do it at all (a client's own row cannot be deleted), or the wall's check.
          expect((error as { code?: string }).code, `${table}: ${(error as Error).message}`).toBe('42501');
          return { count: 0 };
        }
      };
      const updated = await attempt(
        (tx) => tx`UPDATE ${tx(table)} SET ${tx(column)} = ${tx(column)} WHERE ${tx(column)} = ${other.id}`,
      );
      const deleted = await attempt((tx) => tx`DELETE FROM ${tx(table)} WHERE ${tx(column)} = ${other.id}`);
      expect([updated.count, deleted.count], table).toStrictEqual([0, 0]);
      expect(await count(table, other.id), table).toBe(before);
      if (before === 0 || table === 'lanes') continue;
      // A whole row of the other client's, copied as its owner sees it and added as this client.
      const generated = await world.owner<{ name: string }[]>`SELECT column_name AS name FROM information_schema.columns
        WHERE table_name = ${table} AND identity_generation IS NULL AND is_generated = 'NEVER'
        ORDER BY ordinal_position`;
      const columns = generated.map((each) => each.name);
      const [row] = await world.owner`SELECT ${world.owner(columns)} FROM ${world.owner(table)}
        WHERE ${world.owner(column)} = ${other.id} LIMIT 1`;
      await expect(
        db.tenant(
          own,
          (tx) => tx`INSERT INTO ${tx(table)} (${tx(columns)})
          SELECT ${tx(columns)} FROM json_populate_recordset(null::${tx(table)}, ${tx.records([{ ...row }])})`,
        ),
        table,
      ).rejects.toMatchObject({ code: '42501' });
      // Nor can a row of one's own be handed to another.
      const moved = db.tenant(own, (tx) => tx`UPDATE ${tx(table)} SET ${tx(column)} = ${other.id}`);
      await expect(moved, table).rejects.toMatchObject({ code: '42501' });
    }
  });
});

describe('the role that crosses tenants', () => {
  test.each([
    ['accounts', ['token_sealed', 'credentials_sealed', 'grant_sealed', 'emr_user_name', 'emr_user_id']],
    ['webhook_secrets', ['secret_sealed', 'id']],
    ['webhook_endpoints', ['url']],
    ['idempotency_keys', ['answer_sealed', 'key_hash', 'request_hash']],
    ['patients', ['doc', 'mrn', 'first_folded', 'last_folded', 'dob', 'phone']],
    ['providers', ['doc', 'source']],
    ['locations', ['doc']],
    ['staff', ['doc']],
    ['pharmacies', ['doc']],
    ['operations', ['input', 'id']],
    ['jobs', ['error', 'lane']],
    ['job_steps', ['detail']],
    ['events', ['body', 'type']],
    ['link_tokens', ['user_id', 'emr_address']],
    ['public_tokens', ['account_id', 'token_hash']],
    ['page_sign_ins', ['kept_sealed', 'grant_sealed', 'link_token_hash', 'window_hash']],
    ['record_counts', ['total']],
    ['delivery_attempts', ['problem', 'snippet']],
    ['receivers', ['endpoint_id', 'status']],
    ['received_requests', ['body', 'headers', 'event_type', 'client_id']],
  ])('may not read of %s: %j', async (table, columns) => {
    for (const column of columns) {
      const read = system`SELECT ${system(column)} FROM ${system(table)} LIMIT 1`;
      await expect(read, column).rejects.toMatchObject({ code: '42501' });
    }
  });

  test('may change only by what work is claimed, keys are wrapped, and the old is cleared away', async () => {
    const rights = await world.owner<{ right: string }[]>`
      SELECT DISTINCT table_name || ' ' || privilege_type ||
             CASE WHEN privilege_type = 'UPDATE' THEN ' ' || column_name ELSE '' END AS right
        FROM information_schema.column_privileges
       WHERE grantee = ${system_role} AND privilege_type IN ('INSERT', 'UPDATE') AND table_name <> ALL (${unowned})
      UNION SELECT table_name || ' DELETE' FROM information_schema.table_privileges
       WHERE grantee = ${system_role} AND privilege_type = 'DELETE' AND table_name <> ALL (${unowned}) ORDER BY 1`;
    expect(rights.map((each) => each.right).sort()).toStrictEqual(
      [
        'audit_records INSERT',
        'audit_records UPDATE chain',
        'audit_records UPDATE position',
        'data_keys UPDATE master_key_id',
        'data_keys UPDATE wrapped',
        'deliveries UPDATE fence',
        'deliveries UPDATE locked_until',
        'deliveries UPDATE owner',
        'events DELETE',
        'idempotency_keys DELETE',
        'lanes UPDATE fence',
        'lanes UPDATE locked_until',
        'lanes UPDATE owner',
        'link_tokens DELETE',
        'organizations UPDATE next_sync_at',
        'public_tokens DELETE',
        'received_requests DELETE',
        'requests DELETE',
        'requests INSERT',
      ].sort(),
    );
  });
});
