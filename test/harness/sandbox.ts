import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DatabaseAddress } from '../../sql/address.ts';
import { loadConfig, settings } from '../../src/config.ts';
import type { Context } from '../../src/context.ts';
import { parseDatabaseUrl } from '../../src/db/address.ts';
import { connect, type Sql } from '../../src/db/database.ts';
import { startService } from '../../src/main.ts';
import type { Sandbox } from '../../src/sandbox/seedSandbox.ts';
import { type Api, openApi } from './api.ts';
import { freshDatabase, onDatabase, onServer, template, urlOf } from './postgres.ts';

/** A whole product of its own for one test file: database, service, worker, Larkspur with its seeded practice. */
export type TestSandbox = {
  sandbox: Sandbox;
  /** The environment that further processes of the same installation start with. */
  env: Record<string, string>;
  api: Api;
  /** What the service itself works with, for a function that only a clock or a chore would call. */
  ctx: Context;
  /** The database as its owner, past the walls between tenants. */
  owner: Sql;
  close(): Promise<void>;
};

type Options = {
  env?: Record<string, string>;
  /** A practice with few claims and appointments, for tests that link and sync often: a sync takes 0.3 s instead of 4. */
  small?: boolean;
};

/** Starts the product in this process, from a template: about 0.3 s. */
export async function startSandbox(options: Options = {}): Promise<TestSandbox> {
  const world = await layWorld(options);
  const service = await startService(loadConfig(world.env), { role: 'all', print: () => {} });
  if (!service.sandbox) throw new Error('The service did not start in sandbox mode.');
  return {
    ...world,
    sandbox: service.sandbox,
    api: openApi(service.sandbox),
    ctx: service.ctx,
    close: async () => {
      await service.close();
      await world.drop();
    },
  };
}

/** A process of the service, as an operator runs it. Needs `npm run build`. */
export type TestProcess = { child: ChildProcess; output: () => string; kill(signal?: NodeJS.Signals): Promise<void> };

/** The product as real processes on fixed ports: `start` runs one more, and waits until it is ready. */
export async function spawnSandbox(options: Options = {}): Promise<
  Omit<TestSandbox, 'sandbox' | 'api' | 'ctx'> & {
    start(role?: 'all' | 'api' | 'worker', env?: Record<string, string>): Promise<TestProcess>;
    read(): Promise<{ sandbox: Sandbox; api: Api }>;
  }
> {
  const [port, larkspur_port] = [await freePort(), await freePort()];
  const world = await layWorld({ env: { PORT: `${port}`, LARKSPUR_PORT: `${larkspur_port}`, ...options.env } });
  const processes = new Set<TestProcess>();
  return {
    ...world,
    start: async (role = 'all', env = {}) => {
      const started = await startProcess(role, { ...world.env, ...env });
      processes.add(started);
      return started;
    },
    read: async () => {
      const sandbox: Sandbox = JSON.parse(await readFile(join(world.env.DATA_DIR, 'sandbox.json'), 'utf8'));
      return { sandbox, api: openApi(sandbox) };
    },
    close: async () => {
      await Promise.all([...processes].map((each) => each.kill('SIGTERM')));
      await world.drop();
    },
  };
}

const entry = fileURLToPath(new URL('../../dist/src/cli/chartwire.js', import.meta.url));
// Said to be unset: a .env in this folder is the developer's own and must not reach into a test.
const unset = Object.fromEntries(['NODE_ENV', ...Object.keys(settings)].map((name) => [name, '']));

/** Runs `chartwire serve` until it says that it is ready. */
export async function startProcess(role: string, env: Record<string, string>): Promise<TestProcess> {
  const { PATH = '', CHARTWIRE_TEST_ROOT = '' } = process.env;
  const child = spawn(process.execPath, [entry, 'serve', '--role', role], {
    env: { ...unset, PATH, CHARTWIRE_TEST_ROOT, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const ready = new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      output += chunk.toString();
      if (/is ready/.test(output)) resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', () => reject(new Error(`The process ended before it was ready:\n${output}`)));
  });
  const kill = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  await ready;
  return { child, output: () => output, kill };
}

/** Below the ports that a system gives by itself (32768 on): one of those may go to any connection before it is used. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!free) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

const quiet = {
  LOG_LEVEL: 'silent',
  PORT: '0',
  LARKSPUR_PORT: '0',
  SANDBOX: 'on',
  DATABASE_POOL: '6',
  // Tests ask faster than any application: one that is about the limit sets its own.
  RATE_LIMIT: '1000000',
  RATE_BURST: '1000000',
};

async function layWorld(options: Options) {
  const name = await template('sandbox', laySandboxTemplate);
  const database = await freshDatabase('sandbox', name);
  const owner = connect(parseDatabaseUrl('DATABASE_URL', database.url), { max: 2 });
  const [kept] = await owner<{ larkspur: string; files: Record<string, string> }[]>`SELECT * FROM harness_template`;
  if (!kept) throw new Error('The template holds no files.');
  await owner`DROP TABLE harness_template`;
  // The template may be old by now; a sync that is due would run beside what the test looks at.
  await owner`UPDATE organizations SET next_sync_at = now() + interval '15 minutes'`;
  const larkspur = `${database.name}_larkspur`;
  await onServer((sql) => sql`CREATE DATABASE ${sql(larkspur)} TEMPLATE ${sql(kept.larkspur)} STRATEGY file_copy`);
  if (options.small) await thinOut(owner, database.url, larkspur);
  const data_dir = await newFolder();
  for (const [file, content] of Object.entries(kept.files)) {
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

/** Of claims and appointments the first few stay, in the EMR and in the cache alike. */
async function thinOut(owner: Sql, url: string, larkspur: string): Promise<void> {
  const emr = connect({ ...parseDatabaseUrl('DATABASE_URL', url), database: larkspur }, { max: 1 });
  for (const [table, id] of [
    ['claims', 'claim_id'],
    ['appointments', 'appointment_id'],
  ] as const) {
    const kept = await emr<{ id: string }[]>`SELECT ${emr(id)} AS id FROM ${emr(table)}
      ORDER BY length(${emr(id)}), ${emr(id)} LIMIT 60`;
    const ids = kept.map((row) => row.id);
    await emr`DELETE FROM ${emr(table)} WHERE ${emr(id)} <> ALL (${ids})`;
    await owner`DELETE FROM ${owner(table)} WHERE ehr_id <> ALL (${ids})`;
  }
  await emr.end({ timeout_ms: 5_000 });
}

/** Runs a first start, once per test run, and keeps what it wrote to its data folder in the database itself. */
async function laySandboxTemplate(address: DatabaseAddress): Promise<void> {
  const data_dir = await newFolder();
  const config = loadConfig({ ...quiet, DATABASE_URL: urlOf(address), DATA_DIR: data_dir });
  const service = await startService(config, { role: 'all', print: () => {} });
  await service.close();
  const files: Record<string, string> = {};
  for (const file of ['master.key', 'sandbox.json']) files[file] = await readFile(join(data_dir, file), 'utf8');
  await onDatabase(address, async (sql) => {
    await sql`CREATE TABLE harness_template (larkspur text, files json)`;
    await sql`INSERT INTO harness_template VALUES (${`${address.database}_larkspur`}, ${sql.json(files)})`;
  });
  await rm(data_dir, { recursive: true, force: true });
}

async function newFolder(): Promise<string> {
  const root = process.env.CHARTWIRE_TEST_ROOT ?? tmpdir();
  await mkdir(root, { recursive: true });
  return mkdtemp(join(root, 'data-'));
}
