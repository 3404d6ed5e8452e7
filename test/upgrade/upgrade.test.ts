import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { migrations_folder } from '../../src/catalog/installation.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { startService } from '../../src/main.ts';
import { connect, type DatabaseAddress, type Sql } from '../../src/platform/db/database.ts';
import { isMigrated } from '../../src/platform/db/migrate.ts';
import { ensureRoles } from '../../src/platform/db/roles.ts';
import { listEmrApps } from '../../src/product/accounts/emrApps.ts';
import { verifyAudit } from '../../src/product/audit/verification.ts';
import type { Context } from '../../src/product/context.ts';
import { createApi } from '../harness/api.ts';
import { freshDatabase } from '../harness/postgres.ts';

/** What scripts/upgradeFixture.ts wrote for a release. Rows stay text: numbers of 64 bits are not exact in JavaScript. */
type Release = { version: string; migrations: string[]; master_key: string; rows: Map<string, string[]> };

const releases = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.ndjson'));

test.each(releases)('the service continues with the data of %s', async (file) => {
  const release = await readRelease(file);
  const [database, emr] = [await freshDatabase('upgrade'), await freshDatabase('upgrade_emr')];
  onTestFinished(async () => {
    for (const each of [database, emr]) await each.drop();
  });
  await load(database.address, release);
  await mkdir(inject('scratch_folder'), { recursive: true });
  const data_dir = await mkdtemp(join(inject('scratch_folder'), 'upgrade-'));
  await writeFile(join(data_dir, 'master.key'), release.master_key, { mode: 0o600 });
  const urls = { DATABASE_URL: database.url, LARKSPUR_DATABASE_URL: emr.url };
  const service = await startService(
    loadConfig({ SANDBOX: 'on', PORT: '0', LARKSPUR_PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: data_dir, ...urls }),
    { role: 'all', print: () => {} },
  );
  onTestFinished(service.close);
  const { sandbox, ctx } = service;
  if (!sandbox) throw new Error('The service did not start in sandbox mode.');
  expect(await isMigrated(ctx.db.system)).toBe(true);
  expect(await verifyAudit(ctx)).toMatchObject({ ok: true });
  expect(await readApps(ctx, sandbox.client_id)).toMatchObject([
    {
      hosts: ['emr.example.org:8443'],
      token_endpoint: 'same_host',
      headers: { 'x-api-key': 'a synthetic API key' },
      credentials: { way: 'client_secret', client_id: 'chartwire', client_secret: 'a synthetic secret' },
    },
  ]);

  // This EMR is a new one, where the account has to sign in again.
  const api = createApi(sandbox);
  await api.link({ access_token: sandbox.access_token });
  const [succeeded, unfinished] = findJobs(release);
  expect(await api.job(succeeded)).toMatchObject({ status: 'succeeded', type: 'telephone_encounter.create' });
  expect((await api.untilEvent(unfinished)).event_type).toBe('telephone_encounter.created');
  await api.sync();
  expect((await api.call('GET', '/v1/patients')).body.patients.length).toBeGreaterThan(3);
  const { body } = await api.callIn();
  expect((await api.untilEvent(body.job_id)).event_type).toBe('telephone_encounter.created');
});

/** The EMR apps of the release, whose secrets are decrypted with its master key. */
async function readApps({ db, vault }: Context, public_id: string) {
  const [client] = await db.system<{ id: string }[]>`SELECT id FROM clients WHERE public_id = ${public_id}`;
  return db.tenant(client?.id ?? '', (tx) => listEmrApps({ vault }, tx));
}

async function readRelease(file: string): Promise<Release> {
  const text = await readFile(join(import.meta.dirname, file), 'utf8');
  const [header = '', ...lines] = text.trimEnd().split('\n');
  const rows = new Map<string, string[]>();
  for (const line of lines) {
    const [, table = '', row = ''] = /^\{"table":"(\w+)","row":(.*)\}$/.exec(line) ?? [];
    rows.set(table, [...(rows.get(table) ?? []), row]);
  }
  return { ...JSON.parse(header), rows };
}

function findJobs({ rows }: Release): [number, number] {
  const jobs: { id: number; type: string; state: string }[] = (rows.get('jobs') ?? []).map((row) => JSON.parse(row));
  const find = (state: string) => jobs.find((job) => job.type !== 'sync' && job.state === state)?.id ?? 0;
  return [find('succeeded'), find('queued')];
}

/** Creates the schema of the release and inserts its rows, as they were. */
async function load(address: DatabaseAddress, { migrations, rows }: Release): Promise<void> {
  const owner = connect(address, { max: 1 });
  try {
    await ensureRoles(owner, address);
    await owner`CREATE TABLE schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`;
    for (const name of migrations) {
      await owner.unsafe(await readFile(join(migrations_folder, name), 'utf8'));
      await owner`INSERT INTO schema_migrations (name) VALUES (${name})`;
    }
    // Neither foreign keys nor triggers: the rows come in any order, and in every state.
    await owner`SET session_replication_role = replica`;
    for (const [table, of_table] of rows) await insertRows(owner, table, of_table);
    // As if the upgrade followed at once: an hour after its first attempt a job would fail for good.
    await owner`UPDATE jobs SET retry_since = now() WHERE state = 'queued' AND retry_since IS NOT NULL`;
  } finally {
    await owner.end({ timeout_ms: 5_000 });
  }
}

async function insertRows(owner: Sql, table: string, rows: readonly string[]): Promise<void> {
  const columns = await owner<{ name: string; identity: boolean }[]>`
    SELECT column_name AS name, is_identity = 'YES' AS identity FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = ${table} AND is_generated = 'NEVER'`;
  const names = owner(columns.map(({ name }) => name));
  await owner`DELETE FROM ${owner(table)}`;
  await owner`INSERT INTO ${owner(table)} (${names}) OVERRIDING SYSTEM VALUE
    SELECT ${names} FROM json_populate_recordset(NULL::${owner(table)}, ${`[${rows.join()}]`}::text::json)`;
  for (const { name } of columns.filter(({ identity }) => identity)) {
    await owner`SELECT setval(pg_get_serial_sequence(${table}, ${name}), max(${owner(name)})) FROM ${owner(table)}`;
  }
}
