import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import { type Program, serviceCommand, serviceEnv, startServiceProcess } from '../../scripts/serviceProcess.ts';
import type { DatabaseAddress } from '../../sql/address.ts';
import { loadConfig, type ProcessRole } from '../../src/catalog/settings/config.ts';
import { startService } from '../../src/main.ts';
import { connect, type Sql } from '../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { clientKeys } from '../../src/platform/security/signingKeys.ts';
import type { Context } from '../../src/product/context.ts';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import { until } from '../journeys/support.ts';
import { type Api, createApi } from './api.ts';
import { connect_timeout_ms, freshDatabase, onDatabase, onServer, template, toUrl } from './postgres.ts';

/** A running product: database, service, worker, and Larkspur with its seeded practice. */
export type TestSandbox = {
  sandbox: Sandbox;
  /** The environment for further processes of the same installation. */
  env: Record<string, string>;
  api: Api;
  /** The context of the running service, to call functions that only run on a timer. */
  ctx: Context;
  /** A connection as the database owner, which bypasses row-level security. */
  owner: Sql;
  close(): Promise<void>;
};

type Options = {
  env?: Record<string, string>;
  /** Keeps 60 claims and 60 appointments, for tests that link and sync: a sync takes 0.3 s instead of 4. */
  small?: boolean;
  /**
   * False: a new link queues no sync, for tests about linking, which would spend half of their time on syncs that they do
   * not look at. Syncs that a test requests run.
   */
  sync_after_link?: boolean;
};

/** Starts the product in this process from a template, in about 0.3 s. */
export async function startSandbox(options: Options = {}): Promise<TestSandbox> {
  const installation = await createInstallation(options);
  const service = await startService(loadConfig(installation.env), { role: 'all', print: () => {} });
  if (!service.sandbox) throw new Error('The service did not start in sandbox mode.');
  return {
    ...installation,
    sandbox: service.sandbox,
    api: createApi(service.sandbox),
    ctx: service.ctx,
    close: async () => {
      await service.close();
      await installation.drop();
    },
  };
}

/** A process of the service, as operators run it. Needs `npm run build`. */
export type TestProcess = Program;

/** The product as real processes on fixed ports; `start` adds a process and waits until it is ready. */
export async function spawnSandbox(options: Options = {}): Promise<
  Omit<TestSandbox, 'sandbox' | 'api' | 'ctx'> & {
    start(role?: 'all' | 'api' | 'worker', env?: Record<string, string>): Promise<TestProcess>;
    read(): Promise<{ sandbox: Sandbox; api: Api }>;
  }
> {
  const [port, larkspur_port] = [await freePort(), await freePort()];
  const installation = await createInstallation({
    ...options,
    env: { PORT: `${port}`, LARKSPUR_PORT: `${larkspur_port}`, ...options.env },
  });
  const processes = new Set<TestProcess>();
  return {
    ...installation,
    start: async (role = 'all', env = {}) => {
      const started = await startProcess(role, { ...installation.env, ...env });
      processes.add(started);
      return started;
    },
    read: async () => {
      const sandbox: Sandbox = JSON.parse(await readFile(join(installation.env.DATA_DIR, 'sandbox.json'), 'utf8'));
      return { sandbox, api: createApi(sandbox) };
    },
    close: async () => {
      await Promise.all([...processes].map((each) => each.stop()));
      await installation.drop();
    },
  };
}

/** Starts `chartwire serve` and waits until it is ready. `shell` runs before it in the same process, as for `ulimit`. */
export function startProcess(role: ProcessRole, env: Record<string, string>, shell?: string): Promise<TestProcess> {
  return startServiceProcess(role, {
    env: { ...testRoot(), ...env },
    ...(shell !== undefined && { prefix: ['sh', '-c', `${shell}\nexec "$@"`, 'sh'] }),
  });
}

/** Where a run of the tests has its temporary files. */
function testRoot(): Record<string, string> {
  return { CHARTWIRE_TEST_ROOT: process.env.CHARTWIRE_TEST_ROOT ?? '' };
}

/** Runs a command of the program `chartwire` to its end. Needs `npm run build`. */
export async function runCommand(
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const [file = '', ...program] = serviceCommand();
  const child = spawn(file, [...program, ...args], {
    env: serviceEnv({ ...testRoot(), ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, stdout, stderr };
}

const quiet = {
  LOG_LEVEL: 'silent',
  PORT: '0',
  LARKSPUR_PORT: '0',
  SANDBOX: 'on',
  // One address: on ::1, the free port of a second one might be in use.
  HOST: '127.0.0.1',
  DATABASE_POOL: '6',
  // Tests send more requests than applications do; tests about the limit set their own.
  RATE_LIMIT: '1000000',
  RATE_BURST: '1000000',
  ADDRESS_RATE_LIMIT: '1000000',
  ADDRESS_RATE_BURST: '1000000',
};

async function createInstallation(options: Options) {
  const full = await template('sandbox', createSandboxTemplate);
  const name = options.small ? await template('sandbox_small', (small) => copySmallTemplate(full, small)) : full;
  const database = await freshDatabase('sandbox', name);
  const owner = connect(parseDatabaseUrl('DATABASE_URL', database.url), { max: 2, connect_timeout_ms });
  const [stored] = await owner<{ larkspur: string; files: Record<string, string> }[]>`SELECT * FROM harness_template`;
  if (!stored) throw new Error('The template has no files.');
  await owner`DROP TABLE harness_template`;
  // The template may be old by now; a scheduled sync would run during the test.
  await owner`UPDATE organizations SET next_sync_at = now() + interval '1 day'`;
  const larkspur = `${database.name}_larkspur`;
  await onServer((sql) => sql`CREATE DATABASE ${sql(larkspur)} TEMPLATE ${sql(stored.larkspur)} STRATEGY file_copy`);
  await postponeSyncs(owner);
  if (options.sync_after_link === false) await skipSyncsAfterLink(owner);
  const data_dir = await newFolder();
  for (const [file, content] of Object.entries(stored.files)) {
    await writeFile(join(data_dir, file), content, { mode: 0o600 });
  }
  const env = { ...quiet, DATABASE_URL: database.url, DATA_DIR: data_dir, ...options.env };
  return {
    env,
    owner,
    drop: async () => {
      await owner.end({ timeout_ms: 5_000 });
      await database.drop();
      await onServer((sql) => sql`DROP DATABASE IF EXISTS ${sql(larkspur)} WITH (FORCE)`);
      await rm(data_dir, { recursive: true, force: true });
    },
  };
}

/**
 * Prevents scheduled syncs. The template's is due 15 minutes after the run started, so without this every later sandbox
 * would start with a sync that the tests do not expect.
 */
export async function postponeSyncs(owner: Sql): Promise<void> {
  await owner`UPDATE organizations SET next_sync_at = now() + interval '1 day'`;
}

/** Stores the sync that the transaction of a new link queues as one that has already finished. */
async function skipSyncsAfterLink(owner: Sql): Promise<void> {
  await owner.unsafe(`
    CREATE FUNCTION harness_skip_sync() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      BEGIN
        IF EXISTS (SELECT FROM accounts WHERE id = NEW.account_id AND linked_at = now()) THEN
          NEW.state := 'succeeded';
          NEW.finished_at := now();
        END IF;
        RETURN NEW;
      END $$;
    CREATE TRIGGER harness_skip_sync BEFORE INSERT ON jobs
      FOR EACH ROW WHEN (NEW.type = 'sync') EXECUTE FUNCTION harness_skip_sync();`);
}

/** Copies the template, with the first 60 claims and appointments only, in the EMR and in the cache alike. */
async function copySmallTemplate(full: string, small: DatabaseAddress): Promise<void> {
  await onServer((sql) => sql`DROP DATABASE ${sql(small.database)}`);
  await onServer((sql) => sql`CREATE DATABASE ${sql(small.database)} TEMPLATE ${sql(full)} STRATEGY file_copy`);
  const owner = connect(small, { max: 1 });
  const larkspur = `${small.database}_larkspur`;
  const [copied] = await owner<{ larkspur: string }[]>`SELECT larkspur FROM harness_template`;
  await onServer(
    (sql) => sql`CREATE DATABASE ${sql(larkspur)} TEMPLATE ${sql(copied?.larkspur ?? '')} STRATEGY file_copy`,
  );
  await owner`UPDATE harness_template SET larkspur = ${larkspur}`;
  const emr = connect({ ...small, database: larkspur }, { max: 1 });
  for (const [table, id] of [
    ['claims', 'claim_id'],
    ['appointments', 'appointment_id'],
  ] as const) {
    const rows = await emr<{ id: string }[]>`SELECT ${emr(id)} AS id FROM ${emr(table)}
      ORDER BY length(${emr(id)}), ${emr(id)} LIMIT 60`;
    const ids = rows.map((row) => row.id);
    await emr`DELETE FROM ${emr(table)} WHERE ${emr(id)} <> ALL (${ids})`;
    await owner`DELETE FROM ${owner(table)} WHERE ehr_id <> ALL (${ids})`;
  }
  // Smaller files make every clone faster.
  for (const sql of [owner, emr]) await sql`VACUUM FULL`;
  await emr.end({ timeout_ms: 5_000 });
  await owner.end({ timeout_ms: 5_000 });
}

/** Runs a first start, once per test run, and stores the files of its data folder in the database. */
async function createSandboxTemplate(address: DatabaseAddress): Promise<void> {
  const data_dir = await newFolder();
  const config = loadConfig({ ...quiet, DATABASE_URL: toUrl(address), DATA_DIR: data_dir });
  const service = await startService(config, { role: 'all', print: () => {} });
  // Once for all tests: it takes about a second of a core.
  const [client] = await service.ctx.db.system<{ id: string }[]>`SELECT id FROM clients`;
  await clientKeys(service.ctx, client?.id ?? '').ensure();
  // The service waits for it 20 s only, which a busy machine exceeds.
  await until('the first sync', async () => {
    const [row] = await onDatabase(address, (sql) => sql`SELECT FROM organizations WHERE synced_at IS NOT NULL`);
    return row !== undefined;
  });
  await service.close();
  const files: Record<string, string> = {};
  for (const file of ['master.key', 'sandbox.json']) files[file] = await readFile(join(data_dir, file), 'utf8');
  await onDatabase(address, async (sql) => {
    await sql`CREATE TABLE harness_template (larkspur text, files json)`;
    await sql`INSERT INTO harness_template VALUES (${`${address.database}_larkspur`}, ${sql.json(files)})`;
  });
  await rm(data_dir, { recursive: true, force: true });
}

/** A folder that is removed at the end of the run, also if the worker is stopped before it closes its sandbox. */
export async function newFolder(): Promise<string> {
  const root = inject('scratch_folder');
  await mkdir(root, { recursive: true });
  return mkdtemp(join(root, 'data-'));
}
