import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ProcessRole, settings } from '../src/catalog/settings/config.ts';

/** The folder of the project, from its sources as well as from dist/. */
export const root = findRoot(import.meta.dirname);

/** A program that runs until it is stopped. */
export type Program = {
  child: ChildProcess;
  pid: number;
  /** The end of what it has printed. */
  output(): string;
  running(): boolean;
  stop(signal?: NodeJS.Signals): Promise<void>;
};

export type ServiceOptions = {
  env: Record<string, string>;
  /** Has the version to run, built. */
  program_folder?: string;
  /** Its output is appended to this file. */
  log_file?: string;
  /** Runs the program: `nice -n 5`. */
  prefix?: readonly string[];
};

/** Generous, because a process recovers its database first, on a busy machine. */
const start_timeout_ms = 120_000;
/** The service takes 5 s to drain and up to 25 s to stop. */
const stop_timeout_ms = 40_000;
const output_max = 200_000;

/**
 * Starts `chartwire serve` and waits until it is ready. Only the settings in `env` apply: neither the environment nor a
 * .env file of this folder has an effect.
 */
export async function startServiceProcess(role: ProcessRole, options: ServiceOptions): Promise<Program> {
  const program = startProgram(
    [...(options.prefix ?? []), ...serviceCommand(options.program_folder), 'serve', '--role', role],
    {
      ...options,
      env: serviceEnv(options.env),
    },
  );
  for (const deadline = Date.now() + start_timeout_ms; Date.now() < deadline; await pause(20)) {
    if (program.output().includes('is ready')) return program;
    if (!program.running()) break;
  }
  await program.stop('SIGKILL');
  throw new Error(`The service did not start:\n${program.output()}`);
}

/** The command that runs the built program. */
export function serviceCommand(program_folder = root): string[] {
  return [process.execPath, join(program_folder, 'dist/bin/chartwire.js')];
}

/** The environment of a process of the service that has these settings and no others. */
export function serviceEnv(env: Record<string, string>): Record<string, string> {
  const unset = Object.fromEntries(['NODE_ENV', ...Object.keys(settings)].map((name) => [name, '']));
  return { ...unset, PATH: process.env.PATH ?? '', ...env };
}

/** `env` is the whole environment. */
export function startProgram(
  [file = '', ...args]: readonly string[],
  { env, log_file, cwd }: { env: Record<string, string>; log_file?: string; cwd?: string },
): Program {
  const child = spawn(file, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const log = log_file === undefined ? undefined : createWriteStream(log_file, { flags: 'a' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-output_max);
      log?.write(chunk);
    });
  }
  const running = () => child.exitCode === null && child.signalCode === null;
  return {
    child,
    pid: child.pid ?? 0,
    output: () => output,
    running,
    stop: async (signal = 'SIGTERM') => {
      if (!running()) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      // A process without a network may wait for it.
      const timer = setTimeout(() => child.kill('SIGKILL'), stop_timeout_ms);
      await exited;
      clearTimeout(timer);
    },
  };
}

function findRoot(folder: string): string {
  return existsSync(join(folder, 'package-lock.json')) ? folder : findRoot(dirname(folder));
}
