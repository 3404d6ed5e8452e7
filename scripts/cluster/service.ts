import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessRole } from '../../src/catalog/settings/config.ts';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import { freePort } from '../freePort.ts';
import { type Program, root, serviceCommand, serviceEnv, startServiceProcess } from '../serviceProcess.ts';
import { niceness, run } from './programs.ts';

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

/** `program_folder` has the version to run, built. Two versions can share one installation. */
export function openInstallation(folder: string, env: Record<string, string>, program_folder = root): Installation {
  const data_dir = join(folder, 'data');
  mkdirSync(data_dir, { recursive: true, mode: 0o700 });
  const processes: ServiceProcess[] = [];
  const limits = { RATE_LIMIT: '1000000', RATE_BURST: '1000000', LOG_LEVEL: 'warn', DATABASE_POOL: '6' };
  const common = { SANDBOX: 'on', ...limits, DATA_DIR: data_dir, ...env };
  return {
    start: async (role, own = {}) => {
      const port = own.PORT ?? `${await freePort()}`;
      const log_file = join(folder, `${role}-${port}.log`);
      const env = { ...common, PORT: port, ...own };
      const program = await startServiceProcess(role, { env, program_folder, log_file, prefix: niceness });
      const started = { ...program, role, url: `http://127.0.0.1:${port}` };
      processes.push(started);
      return started;
    },
    command: (args) => run([...serviceCommand(program_folder), ...args], { env: serviceEnv(common) }),
    sandbox: () => JSON.parse(readFileSync(join(data_dir, 'sandbox.json'), 'utf8')),
    stop: async () => {
      await Promise.all(processes.map((each) => each.stop()));
    },
  };
}
