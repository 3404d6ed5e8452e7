import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ProcessRole, settings } from '../../src/catalog/settings/config.ts';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import { freePort } from '../freePort.ts';
import { type Program, RunError, root, run, startProgram } from './programs.ts';

/** Processes of one installation, as operators run them. */
export type Installation = {
  /** Starts a process and waits until it is ready. `all` also runs Larkspur and seeds the sandbox: start it first. */
  start(role: ProcessRole, env?: Record<string, string>): Promise<ServiceProcess>;
  /** Runs another command of the program to its end and returns its output. */
  command(args: readonly string[]): string;
  sandbox(): Sandbox;
  stop(): Promise<void>;
};

export type ServiceProcess = Program & { role: ProcessRole; url: string };

const start_timeout_ms = 120_000;

/** `program_folder` has the version to run, built. Two versions can share one installation. */
export function openInstallation(folder: string, env: Record<string, string>, program_folder = root): Installation {
  const data_dir = join(folder, 'data');
  mkdirSync(data_dir, { recursive: true, mode: 0o700 });
  const processes: ServiceProcess[] = [];
  // Empty, so that a .env file of this folder has no effect.
  const unset = Object.fromEntries(Object.keys(settings).map((name) => [name, '']));
  const program_file = join(program_folder, 'dist/bin/chartwire.js');
  const limits = { RATE_LIMIT: '1000000', RATE_BURST: '1000000', LOG_LEVEL: 'warn', DATABASE_POOL: '6' };
  const common = { ...unset, SANDBOX: 'on', ...limits, DATA_DIR: data_dir, ...env };
  return {
    start: async (role, own = {}) => {
      const port = own.PORT ?? `${await freePort()}`;
      const command = [process.execPath, program_file, 'serve', '--role', role];
      const log_file = join(folder, `${role}-${port}.log`);
      const program = startProgram(command, { env: { ...common, PORT: port, ...own }, log_file });
      const started = { ...program, role, url: `http://127.0.0.1:${port}` };
      processes.push(started);
      await untilReady(started);
      return started;
    },
    command: (args) => run([process.execPath, program_file, ...args], { env: common }),
    sandbox: () => JSON.parse(readFileSync(join(data_dir, 'sandbox.json'), 'utf8')),
    stop: async () => {
      await Promise.all(processes.map((each) => each.stop()));
    },
  };
}

async function untilReady({ running, output }: Program): Promise<void> {
  for (const deadline = Date.now() + start_timeout_ms; Date.now() < deadline; await pause(50)) {
    if (output().includes('is ready')) return;
    if (!running()) break;
  }
  throw new RunError(`The service did not start:\n${output()}`);
}
