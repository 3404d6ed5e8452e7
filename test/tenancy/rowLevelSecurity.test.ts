import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { connect, type Database, openDatabase, type Sql } from '../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { roleAddresses, service_role, system_role } from '../../src/platform/db/roles.ts';
import { newClient, type OtherClient } from '../api/support.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { insertRows } from './insertRows.ts';

let fixture: TestSandbox;
let db: Database;
let service: Sql;
let system: Sql;
let own: string;
let other: OtherClient;
let tables: string[];

/** Tables that belong to the installation, not to a client. */
const installation_tables = [
  'access_reviews',
  'approvals',
  'change_generations',
  'change_timelines',
  'alert_messages',
  'audit_collector',
  'audit_head',
  'disclosure_progress',
  'directory_sources',
  'document_scanner_failures',
  'emr_request_budgets',
  'erased_tables',
  'master_keys',
  'operator_code_guesses',
  'operator_devices',
  'operator_passkeys',
  'operator_recovery_codes',
  'operator_invitations',
  'operator_networks',
  'operator_sessions',
  'operator_totp_offers',
  'passkey_challenges',
  'practice_words',
  'practices',
  'key_unwraps',
  'processes',
  'sign_in_attempts',
  'operators',
  'restores',
  'schema_migrations',
  'sso_logouts',
  'sso_sign_ins',
  'system_keys',
  'write_turns',
];
/** Tables with rows of clients and rows of the installation. */
const mixed = ['alerts', 'audit_records', 'requests'];
/** The column with the client's id. */
const keyColumn = (table: string) => (table === 'clients' ? 'id' : 'client_id');

beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const roles = roleAddresses(parseDatabaseUrl('DATABASE_URL', fixture.env.DATABASE_URL ?? ''));
  db = openDatabase(roles, 2);
  service = connect(roles.service, { max: 1 });
  system = connect(roles.system, { max: 1 });
  other = await newClient(fixture);
  const access_token = await other.api.link({ user_id: 'their-user', org_id: 'their-org', staff: 1 });
  await insertRows(other.api, { access_token });
  await insertRows(fixture.api);
  // Otherwise only practices with sync events have one.
  await fixture.owner`INSERT INTO document_passes (organization_id, client_id, read_as_of, listed_ids)
    SELECT id, client_id, now(), '{}' FROM organizations ON CONFLICT DO NOTHING`;
  // Otherwise only practices with merged charts have one.
  await fixture.owner`INSERT INTO merged_charts (organization_id, client_id, ehr_id, mrn, merged_into)
    SELECT id, client_id, '1', 'LK1', '2' FROM organizations`;
  // Otherwise only practices whose lists the EMR exports have them.
  await fixture.owner`INSERT INTO bulk_exports (organization_id, client_id, account_id, emr_address, target, types, state,
      run, started_at, next_at)
    SELECT DISTINCT ON (organizations.id) organizations.id, organizations.client_id, accounts.id, emr_address, 'Patient',
           '{Patient}', 'done', 1, now(), now() + interval '1 day'
      FROM organizations JOIN accounts ON accounts.organization_id = organizations.id`;
  await fixture.owner`INSERT INTO bulk_export_chunks (organization_id, n, client_id, file, holds, type, lines_sealed)
    SELECT organization_id, 1, client_id, 0, 'records', 'Patient', 'x' FROM bulk_exports`;
  // Rows that a finished write does not leave behind, or that only operators create.
  await fixture.owner`INSERT INTO uploads (operation_id, client_id, content) SELECT id, client_id, 'x' FROM operations`;
  await fixture.owner`INSERT INTO write_limits (account_id, client_id, parallel, creates, reason)
    SELECT id, client_id, 1, 0, 'start' FROM accounts ON CONFLICT DO NOTHING`;
  await fixture.owner`INSERT INTO server_markers (client_id, emr_address, type, organization_id, marker)
    SELECT client_id, emr_address, 'Appointment', id, replace(id::text, '-', '') FROM organizations ON CONFLICT DO NOTHING`;
  await fixture.owner`INSERT INTO emr_outages (account_id, client_id)
    SELECT id, client_id FROM accounts ON CONFLICT DO NOTHING`;
  await fixture.owner`INSERT INTO event_counts (account_id, client_id, type, counted_from, counted_to, total)
    SELECT id, client_id, '', '-infinity', '-infinity', 0 FROM accounts`;
  await fixture.owner`INSERT INTO receivers (client_id, endpoint_id, key_hash)
    SELECT DISTINCT ON (client_id) client_id, id, id::bytea FROM webhook_endpoints`;
  await fixture.owner`INSERT INTO received_requests (id, client_id, method, headers, body, body_bytes, verdict, delay_ms)
    SELECT gen_random_uuid(), client_id, 'POST', '{}', 'x', 1, 'valid', 0 FROM receivers`;
  await fixture.owner`INSERT INTO patient_insurances (id, client_id, organization_id, ehr_id)
    SELECT gen_random_uuid(), client_id, id, '1' FROM organizations`;
  await fixture.owner`INSERT INTO retention_periods (client_id, data, days, changed_by)
    SELECT id, 'events', 7, 'x' FROM clients`;
  await fixture.owner`INSERT INTO legal_holds (id, client_id, covers, reference, placed_by)
    SELECT gen_random_uuid(), id, 'client', 'Case', 'x' FROM clients`;
  await fixture.owner`INSERT INTO disposals (client_id, client, day, data, rule, days, rows)
    SELECT id, public_id, current_date, 'events', 'setting', 30, 1 FROM clients`;
  await fixture.owner`INSERT INTO job_periods (client_id, at, succeeded, partial, failed, needs_review, durations)
    SELECT id, now(), 1, 0, 0, 0, '[]' FROM clients`;
  await fixture.owner`INSERT INTO page_sign_ins (link_token_hash, client_id, state_hash, window_hash, pending_sealed)
    SELECT token_hash, client_id, token_hash, token_hash, 'x' FROM link_tokens`;
  await fixture.owner`INSERT INTO practice_sessions (token_hash, client_id, account_id, pass, emr_user_id, expires_at)
    SELECT id::text::bytea, client_id, id, false, emr_user_id, now() + interval '1 day' FROM accounts`;
  await fixture.owner`INSERT INTO replaced_tokens (token_hash, client_id, account_id, expires_at)
    SELECT id::text::bytea, client_id, id, now() + interval '1 day' FROM accounts`;
  await fixture.owner`INSERT INTO ended_grants (id, client_id, account_id, credentials_sealed, grant_sealed, next_at)
    SELECT id, client_id, id, 'x', 'x', now() + interval '1 day' FROM accounts`;
  await fixture.owner`INSERT INTO erased_patients (organization_id, patient_hash, client_id)
    SELECT id, 'x', client_id FROM organizations`;
  await fixture.owner`INSERT INTO connection_reports (id, client_id, account_id, report)
    SELECT gen_random_uuid(), client_id, id, '{}' FROM accounts`;
  await fixture.owner`INSERT INTO link_consents (id, client_id, account_id, terms, terms_hash, language, shown_text, given_at)
    SELECT gen_random_uuid(), client_id, id, '{}', 'x', 'en', 'x', now() FROM accounts`;
  await fixture.owner`INSERT INTO emr_apps (id, client_id, name, connector, hosts, token_endpoint, registered,
      credentials_sealed)
    SELECT gen_random_uuid(), id, 'App', 'fhir', '{emr.example.org}', 'same_host', true, 'x' FROM clients`;
  await fixture.owner`INSERT INTO emr_app_pairs (emr_app_id, client_id, pair_hash, wider)
    SELECT id, client_id, 'x', false FROM emr_apps`;
  await fixture.owner`INSERT INTO signing_keys (kid, client_id, alg, public_jwk, private_sealed, signs_from)
    SELECT id::text, id, 'ES384', '{}', 'x', now() FROM clients`;
  await fixture.owner`INSERT INTO alerts (id, code, subject, client_id, summary, page, count, opened_at, last_seen_at)
    SELECT gen_random_uuid(), 'test', coalesce(id::text, 'installation'), id, 'x', '/', 1, now(), now()
      FROM (SELECT id FROM clients UNION ALL SELECT NULL) AS subject`;
  await fixture.owner`INSERT INTO disclosures (client_id, patient, organization_id, day, key, kind, action, actor_kind,
      actor, confirmed, addresses, count, first_at, last_at)
    SELECT id, 1, id, current_date, id, 'read', 'patients.list', 'client', '', true, '{}', 1, now(), now() FROM clients`;
  await fixture.owner`INSERT INTO patient_reads (client_id, hour, marks)
    SELECT id, now(), '{1}' FROM clients ON CONFLICT DO NOTHING`;
  await fixture.owner`INSERT INTO operator_clients (operator_id, client_id, role)
    SELECT operators.id, clients.id, 'support' FROM operators, clients`;
  await fixture.owner`INSERT INTO operator_sessions (token_hash, operator_id) SELECT 'x', id FROM operators LIMIT 1`;
  await fixture.owner`INSERT INTO operator_reveals (session_hash, client_id, kind, subject, expires_at)
    SELECT 'x', id, 'job', '1', now() FROM clients`;
  const [row] = await fixture.owner<
    { id: string }[]
  >`SELECT id FROM clients WHERE public_id = ${fixture.sandbox.client_id}`;
  own = row?.id ?? '';
  tables = (
    await fixture.owner<{ name: string }[]>`SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name`
  ).map((each) => each.name);
});
afterAll(async () => {
  await Promise.all([db.close(), service.end(), system.end()]);
  await fixture.close();
});

/** Rows of a client as the owner of the tables sees them. */
async function count(table: string, client: string): Promise<number> {
  const [row] = await fixture.owner`SELECT count(*) AS n FROM ${fixture.owner(table)}
    WHERE ${fixture.owner(keyColumn(table))} = ${client}`;
  return Number(row?.n);
}

describe('the roles', () => {
  test('own nothing, do not bypass policies and have no special rights', async () => {
    const roles = await fixture.owner`SELECT rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin
      FROM pg_roles WHERE rolname IN (${service_role}, ${system_role})`;
    expect(roles).toHaveLength(2);
    for (const role of roles) {
      expect(role).toMatchObject({ rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false });
    }
    const owned = await fixture.owner`SELECT c.relname FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
      WHERE r.rolname IN (${service_role}, ${system_role})`;
    expect(owned).toHaveLength(0);
    const memberships = await fixture.owner`SELECT g.rolname FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
      JOIN pg_roles r ON r.oid = m.member WHERE r.rolname IN (${service_role}, ${system_role})`;
    expect(memberships).toHaveLength(0);
    const definers = await fixture.owner`SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname = 'public' AND prosecdef`;
    // `analyze_records` collects statistics of a table and returns nothing.
    // `lock_request_owners` returns those of the given ids that clients and accounts have.
    // `oldest_transaction_seconds` returns one number about the whole database; the others create and drop days of the request log.
    expect(definers.map(({ proname }) => proname).sort()).toStrictEqual([
      'analyze_records',
      'change_branches',
      'change_generation',
      'drop_request_days',
      'lock_request_owners',
      'oldest_transaction_seconds',
      'prepare_request_days',
    ]);
    const [partitions] = await fixture.owner`
      SELECT has_schema_privilege('chartwire_service', 'partitions', 'USAGE') AS service,
             has_schema_privilege('chartwire_system', 'partitions', 'USAGE') AS system`;
    expect(partitions).toStrictEqual({ service: false, system: false });
    const views = await fixture.owner`SELECT FROM pg_views WHERE schemaname = 'public'`;
    expect(views).toHaveLength(0);
  });

  test('cannot create or alter tables', async () => {
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
  test('has forced row-level security and the tenant policy, or belongs to the installation', async () => {
    const security = await fixture.owner<
      { name: string; enabled: boolean; forced: boolean; client: boolean; policy: boolean }[]
    >`
      SELECT c.relname AS name, c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced,
             EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'client_id' AND a.attnotnull) AS client,
             EXISTS (SELECT FROM pg_policies p WHERE p.tablename = c.relname AND p.policyname = 'tenant'
               AND p.cmd = 'ALL' AND p.qual IS NOT NULL AND p.with_check IS NOT NULL) AS policy
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') ORDER BY c.relname`;
    expect(security.map((each) => each.name)).toStrictEqual(tables);
    for (const { name, ...actual } of security) {
      if (installation_tables.includes(name)) continue;
      const client = name !== 'clients' && !mixed.includes(name);
      const expected = { enabled: true, forced: true, client, policy: true };
      expect({ name, ...actual }).toStrictEqual({ name, ...expected });
    }
  });

  test('every table of the installation is inaccessible to the service role', async () => {
    // Practices, as vendors publish them, are searched for clients.
    const searched = ['practice_words', 'practices'];
    // Erasures note the names of the tables they touch.
    for (const table of installation_tables.filter((each) => each !== 'erased_tables')) {
      const reading = service`SELECT * FROM ${service(table)}`;
      if (searched.includes(table)) await expect(reading).resolves.toHaveLength(0);
      else await expect(reading, table).rejects.toMatchObject({ code: '42501' });
      await expect(service`DELETE FROM ${service(table)}`, table).rejects.toMatchObject({ code: '42501' });
    }
    const readable = await fixture.owner`
      SELECT table_name, column_name FROM information_schema.column_privileges
       WHERE grantee = 'chartwire_service' AND table_name = ANY (${[...installation_tables]})
         AND table_name <> ALL (${['erased_tables', ...searched]}) ORDER BY column_name`;
    expect(
      [...new Set(readable.map(({ table_name, column_name }) => `${table_name} ${column_name}`))].sort(),
    ).toStrictEqual([
      // What was approved marks its approval as executed.
      ...['approvals ended_at', 'approvals expires_at', 'approvals id', 'approvals state'],
      // Jobs that a backup contains look up their writes.
      ...['restores id', 'restores last_job_id', 'restores last_step', 'restores restored_at'],
    ]);
  });

  test('has rows of both clients in this test', async () => {
    const empty = [];
    for (const table of tables.filter((each) => !installation_tables.includes(each))) {
      if ((await count(table, own)) === 0 || (await count(table, other.id)) === 0) empty.push(table);
    }
    // These have rows only while jobs are queued, a session is renewed, or an EMR does not respond.
    const passing = ['lanes', 'grant_renewals', 'emr_outages'];
    expect(empty.filter((table) => !passing.includes(table))).toStrictEqual([]);
  });

  test('returns no rows without a tenant, or with an empty or unknown one', async () => {
    for (const table of tables.filter((each) => !installation_tables.includes(each))) {
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

  test('returns only the rows of the client, in a transaction and in a read', async () => {
    for (const table of tables.filter((each) => !installation_tables.includes(each))) {
      const column = keyColumn(table);
      const in_transaction = await db.tenant(own, (tx) => tx`SELECT ${tx(column)} AS owner FROM ${tx(table)}`);
      const read = await db.read<{ owner: string }>(
        own,
        (sql) => sql`SELECT ${sql(column)} AS owner FROM ${sql(table)}`,
      );
      expect(in_transaction, table).toHaveLength(await count(table, own));
      expect(read, table).toHaveLength(in_transaction.length);
      for (const row of [...in_transaction, ...read]) expect(row.owner, table).toBe(own);
    }
  });

  test('hides rows of the installation from clients, which cannot add any', async () => {
    await fixture.owner`INSERT INTO audit_records (id, at, actor_kind, actor, action, outcome, patients, mac)
      VALUES (${newId()}, now(), 'operator', 'operator@example.org', 'operator.sign_in', '200', '{}', '')`;
    await fixture.api.call('GET', '/v1/patients', { headers: { client_secret: 'wrong' } });
    for (const table of mixed) {
      const installationRows = () => fixture.owner`SELECT FROM ${fixture.owner(table)} WHERE client_id IS NULL`;
      await expect.poll(async () => (await installationRows()).length, { message: table }).toBeGreaterThan(0);
      const visible = await db.tenant(own, (tx) => tx`SELECT FROM ${tx(table)} WHERE client_id IS NULL`);
      expect(visible, table).toHaveLength(0);
    }
    const added = db.tenant(
      own,
      (tx) => tx`INSERT INTO audit_records (id, at, actor_kind, actor, action, outcome, patients, mac)
        VALUES (${newId()}, now(), 'operator', 'forged@example.org', 'operator.sign_in', '200', '{}', '')`,
    );
    await expect(added).rejects.toMatchObject({ code: '42501' });
  });

  test('is inaccessible again after a transaction of a client', async () => {
    await service.begin((tx) => tx`SELECT set_config('chartwire.client_id', ${own}, true)`);
    expect(await service`SELECT FROM accounts`).toHaveLength(0);
  });
});

describe("another client's rows", () => {
  test('cannot be updated, deleted or added', async () => {
    for (const table of tables.filter((each) => !installation_tables.includes(each))) {
      const column = keyColumn(table);
      const before = await count(table, other.id);
      const attempt = async (work: Parameters<typeof db.tenant>[1]) => {
        try {
          return (await db.tenant(own, work)) as { count: number };
        } catch (error) {
          // Either the right is missing (for example to delete a client) or the policy rejects it.
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
      // A copy of a complete row of the other client.
      const generated = await fixture.owner<
        { name: string }[]
      >`SELECT column_name AS name FROM information_schema.columns
        WHERE table_name = ${table} AND identity_generation IS NULL AND is_generated = 'NEVER'
        ORDER BY ordinal_position`;
      const columns = generated.map((each) => each.name);
      const [row] = await fixture.owner`SELECT ${fixture.owner(columns)} FROM ${fixture.owner(table)}
        WHERE ${fixture.owner(column)} = ${other.id} LIMIT 1`;
      await expect(
        db.tenant(
          own,
          (tx) => tx`INSERT INTO ${tx(table)} (${tx(columns)})
          SELECT ${tx(columns)} FROM json_populate_recordset(null::${tx(table)}, ${tx.records([{ ...row }])})`,
        ),
        table,
      ).rejects.toMatchObject({ code: '42501' });
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
    ['idempotency_keys', ['response_sealed', 'key_hash', 'request_hash']],
    ['patients', ['doc', 'mrn', 'first_folded', 'last_folded', 'dob', 'phone']],
    ['providers', ['doc', 'source']],
    ['locations', ['doc']],
    ['staff', ['doc']],
    ['pharmacies', ['doc']],
    ['operations', ['input', 'id']],
    ['jobs', ['error', 'event_id']],
    ['job_steps', ['detail']],
    ['events', ['body', 'type']],
    ['link_tokens', ['user_id', 'emr_address']],
    ['public_tokens', ['account_id', 'token_hash']],
    ['page_sign_ins', ['pending_sealed', 'grant_sealed', 'link_token_hash', 'window_hash']],
    ['practice_sessions', ['account_id', 'emr_user_id']],
    ['record_counts', ['total']],
    ['delivery_attempts', ['problem', 'snippet']],
    ['receivers', ['endpoint_id', 'status']],
    ['received_requests', ['body', 'headers', 'event_type', 'client_id']],
  ])('cannot read from %s: %j', async (table, columns) => {
    for (const column of columns) {
      const read = system`SELECT ${system(column)} FROM ${system(table)} LIMIT 1`;
      await expect(read, column).rejects.toMatchObject({ code: '42501' });
    }
  });

  test('can change only what is needed to claim work, re-wrap keys, audit, purge and manage operators', async () => {
    const rights = await fixture.owner<{ right: string }[]>`
      SELECT DISTINCT table_name || ' ' || privilege_type ||
             CASE WHEN privilege_type = 'UPDATE' THEN ' ' || column_name ELSE '' END AS right
        FROM information_schema.column_privileges
       WHERE grantee = ${system_role} AND privilege_type IN ('INSERT', 'UPDATE') AND table_name <> ALL (${installation_tables})
      UNION SELECT table_name || ' DELETE' FROM information_schema.table_privileges
       WHERE grantee = ${system_role} AND privilege_type = 'DELETE' AND table_name <> ALL (${installation_tables}) ORDER BY 1`;
    expect(rights.map((each) => each.right).sort()).toStrictEqual(
      [
        'alerts DELETE',
        'alerts INSERT',
        'alerts UPDATE count',
        'alerts UPDATE last_seen_at',
        'alerts UPDATE notified_at',
        'alerts UPDATE notified_count',
        'alerts UPDATE page',
        'alerts UPDATE reminded_at',
        'alerts UPDATE reminders',
        'alerts UPDATE resolution_notified_at',
        'alerts UPDATE resolved_at',
        'alerts UPDATE summary',
        'audit_records INSERT',
        'audit_records UPDATE chain',
        'audit_records UPDATE position',
        'data_keys UPDATE master_key_id',
        'data_keys UPDATE wrapped',
        'deliveries UPDATE fence',
        'deliveries UPDATE locked_until',
        'deliveries UPDATE owner',
        'deliveries UPDATE ready_at',
        'disclosures INSERT',
        'disclosures UPDATE addresses',
        'disclosures UPDATE count',
        'disclosures UPDATE destination',
        'disclosures UPDATE first_at',
        'disclosures UPDATE last_at',
        'disposals INSERT',
        'disposals UPDATE last_at',
        'disposals UPDATE rows',
        'event_counts UPDATE total',
        'events DELETE',
        'idempotency_keys DELETE',
        'lanes UPDATE fence',
        'lanes UPDATE locked_until',
        'lanes UPDATE owner',
        'lanes UPDATE ready_at',
        'link_tokens DELETE',
        'operator_clients DELETE',
        'operator_clients INSERT',
        'operator_clients UPDATE claimed_role',
        'operator_clients UPDATE role',
        'organizations UPDATE next_sync_at',
        'patient_reads DELETE',
        'patient_reads INSERT',
        'patient_reads UPDATE marks',
        'practice_sessions DELETE',
        'public_tokens DELETE',
        'received_requests DELETE',
        'record_changes DELETE',
        'replaced_tokens DELETE',
        'requests DELETE',
        'requests INSERT',
      ].sort(),
    );
  });
});
