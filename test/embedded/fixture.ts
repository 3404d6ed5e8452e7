import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inject, onTestFinished } from 'vitest';
import { connect } from '../../sql/connect.ts';
import { type EmbeddedServer, startEmbedded } from '../../src/platform/db/embedded/start.ts';

const settings = { fsync: 'off' };

/** A data folder that does not exist yet, inside a folder with mode 0700 (from mkdtemp). Removed after the test, with its server. */
export async function newDataDir(...below: string[]): Promise<string> {
  const root = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'embedded-'));
  const data_dir = join(root, ...below, 'data');
  onTestFinished(async () => {
    await killServer(data_dir, 'SIGQUIT').catch(() => {});
    await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  });
  return data_dir;
}

/** The same with a database that was created before and stopped: creating one takes most of the time of a first start. */
export async function createdDataDir(...below: string[]): Promise<string> {
  created ??= createDatabase();
  const data_dir = await newDataDir(...below);
  await mkdir(join(data_dir, '..'), { recursive: true });
  // Keeps the owners, unlike `cp` of Node.
  await promisify(execFile)('cp', ['-a', await created, data_dir]);
  return data_dir;
}

let created: Promise<string> | undefined;

async function createDatabase(): Promise<string> {
  await mkdir(inject('scratch_folder'), { recursive: true });
  const data_dir = join(await mkdtemp(join(inject('scratch_folder'), 'created-')), 'data');
  await start(data_dir).then((server) => server.stop());
  // Tests read the log of their own starts.
  await rm(join(data_dir, 'postgres.log'));
  return data_dir;
}

export const start = (data_dir: string) => startEmbedded({ data_dir, settings });

export async function query<Row extends object>(server: EmbeddedServer | Launched, text: string): Promise<Row[]> {
  const { host, port, user, password } = server;
  const sql = connect({ host, port, user, password, database: 'postgres', ssl: false }, { max: 1 });
  try {
    return await sql.unsafe<Row[]>(text);
  } finally {
    await sql.end({ timeout_ms: 1_000 });
  }
}

export async function serverPid(data_dir: string): Promise<number> {
  return Number((await readFile(join(data_dir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

export async function killServer(data_dir: string, signal: NodeJS.Signals): Promise<void> {
  const pid = await serverPid(data_dir);
  process.kill(pid, signal);
  await until(async () => (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) === '');
}

/** Processes whose working directory is inside `folder`: a postmaster, its backends, initdb. */
export async function processesIn(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return pids.filter((_, index) => folders[index]?.startsWith(folder));
}

export type Launched = { host: string; port: number; user: string; password: string; adopted: boolean };

/** A separate process that starts the server and then waits, to be killed by a test. */
export function launcher(data_dir: string): { child: ChildProcess; report: Promise<Launched> } {
  const program = fileURLToPath(new URL('launch.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, data_dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  const report = new Promise<Launched>((resolve, reject) => {
    child.stdout?.once('data', (line: Buffer) => resolve(JSON.parse(line.toString('utf8'))));
    child.once('exit', () => reject(new Error('The launcher exited before the server was ready.')));
  });
  report.catch(() => {});
  return { child, report };
}

export async function killed(child: ChildProcess): Promise<void> {
  const end = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await end;
}

export async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 45_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('Timed out.');
    await sleep(5);
  }
}
