import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Program, startProgram } from '../serviceProcess.ts';

/** A message for the user, printed without a stack trace. */
export class RunError extends Error {}

export type StartOptions = {
  /** Its output is appended to this file. */
  log_file: string;
  env?: Record<string, string>;
  /** Runs as the system user `postgres`: PostgreSQL refuses to run as root. */
  as_postgres?: boolean;
  /** The network namespace to run in. */
  namespace?: string;
};

/** Low priority, so that the run does not disturb what else the machine does. */
export const niceness = ['nice', '-n', '5'];

export function startSystemProgram(command: readonly string[], options: StartOptions): Program {
  const user = options.as_postgres ? ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--init-groups'] : [];
  const network = options.namespace ? ['ip', 'netns', 'exec', options.namespace] : [];
  const env = { PATH: process.env.PATH ?? '', LC_ALL: 'C.UTF-8', ...options.env };
  return startProgram([...niceness, ...network, ...user, ...command], { env, log_file: options.log_file, cwd: '/' });
}

/** Runs a program to its end and returns its output. */
export function run(
  command: readonly string[],
  options: { as_postgres?: boolean; env?: Record<string, string> } = {},
): string {
  const user = options.as_postgres ? ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--init-groups'] : [];
  const [file = '', ...args] = [...user, ...command];
  const { status, stdout, stderr, error } = spawnSync(file, args, {
    encoding: 'utf8',
    cwd: '/',
    ...(options.env && { env: { PATH: process.env.PATH ?? '', ...options.env } }),
  });
  if (error || status !== 0) throw new RunError(`${command.join(' ')} failed: ${error?.message ?? stderr}`);
  return stdout;
}

/** Throws unless the script runs as root and the programs are installed. `programs`: Debian's package by program. */
export function requirePrograms(programs: Record<string, string>): void {
  if (process.getuid?.() !== 0) throw new RunError('This script must run as root: it starts programs as other users.');
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', postgres_programs];
  const missing = Object.entries(programs).filter(
    ([name]) => !folders.some((folder) => isExecutable(join(folder, name))),
  );
  if (missing.length === 0) return;
  throw new RunError(
    `Missing programs. Install them with: apt-get install ${missing.map(([, name]) => name).join(' ')}`,
  );
}

/** Where Debian's package postgresql-15 puts its programs. */
export const postgres_programs = '/usr/lib/postgresql/15/bin';

/** Waits until `condition` returns something other than false or undefined; errors count as not yet. */
export async function until<T>(
  what: string,
  condition: () => Promise<T | false | undefined> | T | false | undefined,
  timeout_ms = 60_000,
): Promise<T> {
  let failure: unknown;
  for (const deadline = Date.now() + timeout_ms; Date.now() < deadline; await pause(100)) {
    try {
      const value = await condition();
      if (value !== false && value !== undefined) return value;
    } catch (error) {
      failure = error;
    }
  }
  throw new RunError(`Not within ${timeout_ms / 1000} s: ${what}. ${failure instanceof Error ? failure.message : ''}`);
}

/**
 * Runs a script's main function and ends the process, also if something is still running. Of a RunError or an unknown
 * option only the message is printed.
 */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${isExplained(error) ? error.message : (error as Error).stack}\n`);
    process.exit(1);
  }
  process.exit();
}

function isExplained(error: unknown): error is Error {
  const { code } = (error ?? {}) as { code?: unknown };
  return error instanceof RunError || (typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS_'));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function print(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`);
}
