import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseAddress } from '../../../sql/address.ts';
import { connect, type Sql } from '../../../src/platform/db/database.ts';
import { startEmbedded } from '../../../src/platform/db/embedded/start.ts';
import { ensureDatabase } from '../../../src/platform/db/openServer.ts';
import type { Sandbox } from '../../../src/surfaces/sandbox/seedSandbox.ts';
import { RunError, startSystemProgram, until } from '../../cluster/programs.ts';
import { openInstallation } from '../../cluster/service.ts';
import { freePort } from '../../freePort.ts';
import { type Program, root } from '../../serviceProcess.ts';
import { type FhirEmr, startFhirEmr } from './fhirEmrs.ts';
import type { ReceiverMessage } from './receivers.ts';

/** A process of the run that can be killed, frozen and started again. One fault at a time. */
export type Slot = {
  role: 'api' | 'worker' | 'emr';
  busy: boolean;
  pid(): number;
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  start(): Promise<void>;
};

/** The processes of a run: an API, two workers, three EMRs of which one has a database of its own, and the receivers. */
export type Installation = {
  sandbox: Sandbox;
  /** As superuser of the service's database. */
  sql: Sql;
  database_url: string;
  database_log_file: string;
  slots: readonly Slot[];
  /** EMRs with rotating refresh tokens. They are not killed: what they have is in memory. */
  fhir_emrs: readonly FhirEmr[];
  receivers: { url: string; file: string; send(message: ReceiverMessage): void };
  /** Stops the service's database as an operator or a crash would; the service starts it again. */
  stopDatabase(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>;
  control(method: string, path: string, body?: object): Promise<void>;
  command(args: readonly string[]): string;
  stop(): Promise<void>;
};

const start_timeout_ms = 300_000;

export async function startInstallation(folder: string, seed: number): Promise<Installation> {
  const emr_database = await startEmbedded({ data_dir: join(folder, 'emr') });
  const emr_address = { ...toAddress(emr_database), database: 'larkspur' };
  await ensureDatabase(emr_address);
  const emr_env = { LARKSPUR_DATABASE_URL: toUrl(emr_address), LARKSPUR_PORT: `${await freePort()}` };
  const service = openInstallation(folder, emr_env);
  // Seeds the sandbox: its operator, its client and Larkspur's practice. From then on Larkspur runs alone.
  const seeding = await service.start('all');
  await seeding.stop();
  const emr = await startSlot('emr', () => startEmr(folder, emr_env));
  const port = `${await freePort()}`;
  const api = await startSlot('api', () => service.start('api', { PORT: port }));
  const workers = [1, 2].map(() => startSlot('worker', () => service.start('worker')));
  const slots = [emr, api, ...(await Promise.all(workers))];
  const data_dir = join(folder, 'data');
  const address = toAddress(await startEmbedded({ data_dir }));
  const sql = connect(address, { max: 3 });
  // The service's settings keep errors out of this log. With this one, every deadlock is noted in it, without data.
  await sql`ALTER SYSTEM SET log_lock_waits = on`;
  await sql`SELECT pg_reload_conf()`;
  const receivers = await startReceivers(join(folder, 'received.ndjson'), seed);
  const fhir_emrs = await Promise.all([1, 2].map((n) => startFhirEmr(folder, n)));
  const sandbox = { ...service.sandbox(), base_url: `http://127.0.0.1:${port}` };
  return {
    sandbox,
    sql,
    database_url: toUrl(address),
    database_log_file: join(data_dir, 'postgres.log'),
    slots,
    fhir_emrs,
    receivers,
    stopDatabase: async (signal) => {
      const pid = Number((await readFile(join(data_dir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]);
      process.kill(pid, signal);
    },
    control: async (method, path, body) => {
      const response = await fetch(sandbox.larkspur.url + path, {
        method,
        headers: { 'control-token': sandbox.larkspur.control_token, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`);
    },
    command: service.command,
    stop: async () => {
      await sql.end({ timeout_ms: 2_000 });
      for (const slot of slots) await slot.kill('SIGTERM');
      receivers.stop();
      for (const emr of fhir_emrs) emr.stop();
      await emr_database.stop();
    },
  };
}

async function startSlot(role: Slot['role'], start: () => Promise<Program>): Promise<Slot> {
  let program = await start();
  return {
    role,
    busy: false,
    pid: () => program.pid,
    kill: (signal) => program.stop(signal),
    start: async () => {
      // As a supervisor does: a start fails while the database is down.
      program = await until(`the ${role} starts`, start, start_timeout_ms);
    },
  };
}

async function startEmr(folder: string, env: Record<string, string>): Promise<Program> {
  const file = join(root, 'dist/scripts/soak/mixed/emr.js');
  const program = startSystemProgram([process.execPath, file], { env, log_file: join(folder, 'emr.log') });
  await until('the EMR is ready', () => {
    if (!program.running()) throw new RunError(`The EMR did not start:\n${program.output()}`);
    return program.output().includes('is ready');
  });
  return program;
}

async function startReceivers(file: string, seed: number) {
  const port = await freePort();
  const program = join(root, 'dist/scripts/soak/mixed/receivers.js');
  const child: ChildProcess = fork(program, [`${port}`, file, `${seed}`]);
  await once(child, 'message');
  return {
    url: `http://127.0.0.1:${port}`,
    file,
    send: (message: ReceiverMessage) => void child.send(message),
    stop: () => child.kill(),
  };
}

function toAddress({ host, port, user, password }: Omit<DatabaseAddress, 'database' | 'ssl'>): DatabaseAddress {
  return { host, port, user, password, database: 'chartwire', ssl: false };
}

/** `?host=` names the folder of the unix socket. */
function toUrl({ host, port, user, password, database }: DatabaseAddress): string {
  return `postgres://${user}:${password}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}
