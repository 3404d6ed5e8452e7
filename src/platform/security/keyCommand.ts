import { type ChildProcess, spawn } from 'node:child_process';
import { StartFailure } from '../../catalog/errors.ts';
import { type Config, secret_names } from '../../catalog/settings/config.ts';
import { type KeyCommand, masterKey } from '../../catalog/settings/keySettings.ts';

type Settings = Pick<
  Config,
  | 'data_dir'
  | 'master_key'
  | 'master_key_command'
  | 'master_key_previous'
  | 'master_key_previous_command'
  | 'master_key_command_seconds'
>;

/** The master keys that an operator provides, as values or as programs that print them. */
export type ProvidedKeys = {
  data_dir: string;
  master_key: Buffer | undefined;
  master_key_previous: Buffer | undefined;
};

/** Whether an operator provides the master key. Otherwise it is in a file of DATA_DIR. */
export function isKeyProvided(config: Pick<Config, 'master_key' | 'master_key_command'>): boolean {
  return config.master_key !== undefined || config.master_key_command !== undefined;
}

/**
 * Runs MASTER_KEY_COMMAND and MASTER_KEY_PREVIOUS_COMMAND, if they are set. A failure is not repeated here: whoever
 * started this process starts it again (systemd after 2 s), and a program knows better than we do what is worth repeating.
 */
export async function readProvidedKeys(config: Settings): Promise<ProvidedKeys> {
  const { data_dir, master_key_command: command, master_key_previous_command: command_previous } = config;
  const seconds = config.master_key_command_seconds;
  const [current, previous] = await Promise.all([
    command && runKeyCommand('MASTER_KEY_COMMAND', command, seconds),
    command_previous && runKeyCommand('MASTER_KEY_PREVIOUS_COMMAND', command_previous, seconds),
  ]);
  return {
    data_dir,
    master_key: current ?? config.master_key,
    master_key_previous: previous ?? config.master_key_previous,
  };
}

/** A key in base64 has 44 bytes, in hexadecimal digits 64. */
const key_bytes_max = 256;
const shown_characters = 2_000;

/** What the program has printed so far. */
type Output = { key: Buffer; error_text: string };

/** The error shows what the program wrote to its error output, but never what it printed. */
async function runKeyCommand(name: string, command: KeyCommand, seconds: number): Promise<Buffer> {
  const output: Output = { key: Buffer.alloc(0), error_text: '' };
  const fault = await outcome(command, seconds, output);
  // One line and no other characters: base64 is decoded without complaint even if it is not base64.
  const printed = output.key.toString('latin1').trim();
  output.key.fill(0);
  const explain = (text: string) =>
    new StartFailure(`${name} failed: ${command.program} ${text}.${errorOutput(output.error_text, printed)}`);
  if (fault !== undefined) throw explain(fault);
  if (printed === '') throw explain('printed nothing');
  try {
    if (/^[\w+/=-]+$/.test(printed)) return masterKey(name, printed);
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
  }
  throw explain('must print nothing but the key: 32 bytes, as 64 hexadecimal digits or base64');
}

/** What went wrong, or undefined if the program succeeded. Its processes are ended with it, and with this process. */
async function outcome(
  { program, args, environment }: KeyCommand,
  seconds: number,
  output: Output,
): Promise<string | undefined> {
  const child = spawn(program, args, {
    env: withoutSecrets(environment()),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, which can be ended as a whole: a program may start others.
    detached: true,
  });
  const end = () => endGroup(child);
  process.once('exit', end);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<string | undefined>((resolve) => {
      timer = setTimeout(() => resolve(`did not finish within ${seconds} s`), seconds * 1_000);
      child.once('error', (error: NodeJS.ErrnoException) => resolve(`cannot be run (${error.code ?? 'unknown'})`));
      child.stdout.on('data', (chunk: Buffer) => {
        output.key = Buffer.concat([output.key, chunk]);
        if (output.key.length > key_bytes_max) resolve('printed more than a key');
      });
      child.stderr.on('data', (chunk: Buffer) => {
        // Twice as much as is shown, because parts of it may be masked.
        output.error_text = (output.error_text + chunk.toString('utf8')).slice(-2 * shown_characters);
      });
      child.once('close', (code, signal) => {
        if (code === 0) resolve(undefined);
        else resolve(signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`);
      });
    });
  } finally {
    clearTimeout(timer);
    process.off('exit', end);
    end();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

function withoutSecrets(env: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !secret_names.includes(name)));
}

/** A key that the program wrote to its error output, as `sh -x` does, is masked: the one it printed, and what looks like one. */
function errorOutput(text: string, printed: string): string {
  let masked = text.replaceAll(/\p{Cc}\[[\d;]*[A-Za-z]/gu, '');
  for (const form of listForms(printed)) masked = masked.replaceAll(form, '[masked]');
  masked = masked
    .replaceAll(/(?<![\w+/-])(?:[0-9a-f]{64}|[\w+/-]{43}=?)(?![\w+/=-])/gi, '[masked]')
    .replaceAll(/[^\P{C}\n]/gu, ' ')
    .trim()
    .slice(-shown_characters);
  return masked === '' ? ' It wrote nothing to its error output.' : ` Its error output:\n${masked}`;
}

/** Each line that was printed, and a key in all its notations. */
function listForms(printed: string): string[] {
  const lines = printed.split(/\s+/).filter((line) => line.length >= 8);
  return lines.flatMap((line) => {
    const key = Buffer.from(line, /^[0-9a-f]+$/i.test(line) ? 'hex' : 'base64');
    const base64 = key.toString('base64').replaceAll('=', '');
    const hex = key.toString('hex');
    return key.length === 32 ? [line, hex, hex.toUpperCase(), base64, key.toString('base64url')] : [line];
  });
}
