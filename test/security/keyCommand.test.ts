import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StartFailure } from '../../src/catalog/errors.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { isKeyProvided, readProvidedKeys } from '../../src/platform/security/keyCommand.ts';

const key = '0123456789abcdef'.repeat(4);
const base64 = Buffer.from(key, 'hex').toString('base64');
const { PATH = '' } = process.env;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chartwire-command-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** The path of a program that runs these shell commands. */
async function program(commands: string, name = 'program'): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${commands}\n`);
  await chmod(path, 0o755);
  return path;
}

async function run(command: string, env: Record<string, string> = {}): Promise<string | undefined> {
  const config = loadConfig({ NODE_ENV: 'production', PATH, MASTER_KEY_COMMAND: command, ...env });
  return (await readProvidedKeys(config)).master_key?.toString('hex');
}

async function failure(command: string, env: Record<string, string> = {}): Promise<string> {
  const error = await run(command, env).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StartFailure);
  return String((error as Error).message);
}

test('the key that a program prints is used, in hexadecimal digits or base64, with or without a line break', async () => {
  for (const text of [key, key.toUpperCase(), base64, base64.replaceAll('+', '-').replaceAll('/', '_')]) {
    expect(await run(`printf ${text}`)).toBe(key);
    expect(await run(`echo ${text}`)).toBe(key);
  }
  const config = loadConfig({ NODE_ENV: 'production', MASTER_KEY_COMMAND: 'true' });
  expect(isKeyProvided(config)).toBe(true);
  expect(isKeyProvided(loadConfig({}))).toBe(false);
});

test('a program runs once for each of the two keys, and not before the keys are needed', async () => {
  const counter = join(folder, 'runs');
  const path = await program(`echo "$1" >> ${counter}; echo "$1"`);
  const other = 'f'.repeat(64);
  const config = loadConfig({
    NODE_ENV: 'production',
    PATH,
    MASTER_KEY_COMMAND: `${path} ${key}`,
    MASTER_KEY_PREVIOUS_COMMAND: `'${path}' "${other}"`,
  });
  expect(await stat(counter).catch(() => undefined)).toBeUndefined();
  const keys = await readProvidedKeys(config);
  expect([keys.master_key, keys.master_key_previous].map((each) => each?.toString('hex'))).toStrictEqual([key, other]);
  expect((await readFile(counter, 'utf8')).trim().split('\n').sort()).toStrictEqual([key, other].sort());
});

test('words are separated by spaces and kept together by quotes, and nothing in them is interpreted', async () => {
  const path = await program(`for each; do echo "[$each]" >> ${join(folder, 'args')}; done; echo ${key}`, 'with space');
  expect(await run(`'${path}'  one "two three" '$HOME | "x"' a'b c'd --key=x#y ''`)).toBe(key);
  expect(await readFile(join(folder, 'args'), 'utf8')).toBe(
    '[one]\n[two three]\n[$HOME | "x"]\n[ab cd]\n[--key=x#y]\n[]\n',
  );
});

test.each([
  ['vault read key | tail -1', /^MASTER_KEY_COMMAND runs without a shell, which \| needs\. .*sh -c/],
  ['cat $HOME/key', /which \$ needs/],
  ['cat "$HOME/key"', /which \$ needs/],
  ['cat ~/key', /which ~ needs/],
  ['cat key > /dev/stdout', /which > needs/],
  ['a\\ b', /which \\ needs/],
  ["cat 'key", /has a quote that is not closed\.$/],
  ['cat "key', /has a quote that is not closed\.$/],
  ["''", /must start with a program\.$/],
])('the command %j is refused when the settings are read, and nothing runs', (command, message) => {
  expect(() => loadConfig({ NODE_ENV: 'production', MASTER_KEY_COMMAND: command })).toThrow(message);
});

test('a shell is used if the command names it', async () => {
  expect(await run(`sh -c 'printf %s ${key} | tr a-f A-F'`)).toBe(key);
});

test('a failure shows the exit code and the error output of the program, but never what it printed or was given', async () => {
  const path = await program(`echo ${key}; echo 'permission denied: secret/chartwire' >&2; exit 2`);
  const message = await failure(`${path} --token=s.argument`);
  expect(message).toBe(
    `MASTER_KEY_COMMAND failed: ${path} ended with exit code 2. Its error output:\npermission denied: secret/chartwire`,
  );
});

test('a key in the error output of a program is masked, and control characters are removed', async () => {
  const other = Buffer.alloc(32, 7).toString('base64');
  const path = await program(`set -x; echo ${key}; echo 'got ${other} and \\033[31m${base64}' >&2; exit 1`);
  const message = await failure(path);
  expect(message).toContain('[masked]');
  for (const secret of [key, base64, other]) expect(message).not.toContain(secret.slice(0, 12));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the character that must not be there.
  expect(message).not.toMatch(/\u001b/);
});

test.each([
  ['true', /true printed nothing\. It wrote nothing to its error output\.$/],
  ['echo short', /must print nothing but the key: 32 bytes/],
  // Base64 is decoded without complaint, whatever is between its characters.
  [`echo Key: ${base64.slice(5)}`, /must print nothing but the key/],
  [`echo ${key.slice(1)}`, /must print nothing but the key/],
  [`sh -c 'echo one; echo ${key}'`, /must print nothing but the key/],
  ['head -c 5000 /dev/zero', /printed more than a key/],
  ['cat /dev/zero', /printed more than a key/],
  ['/nonexistent/program', /cannot be run \(ENOENT\)/],
  ['/tmp', /cannot be run \(EACCES\)/],
  ["sh -c 'kill -9 $$'", /was ended by SIGKILL/],
])('the command %j fails the start with a reason', async (command, reason) => {
  expect(await failure(command)).toMatch(reason);
});

test('a program that does not finish in time is ended, with the processes that it has started', async () => {
  const pids = join(folder, 'pids');
  const path = await program(
    `sleep 1000 & echo $! >> ${pids}; echo $$ >> ${pids}; echo waiting for the card >&2; wait`,
  );
  const message = await failure(path, { MASTER_KEY_COMMAND_SECONDS: '1' });
  expect(message).toMatch(/did not finish within 1 s\. Its error output:\nwaiting for the card$/);
  const started = (await readFile(pids, 'utf8')).trim().split('\n').map(Number);
  expect(started).toHaveLength(2);
  await vi.waitFor(() => expect(started.filter(isRunning)).toStrictEqual([]));
});

test('a program that leaves a process behind which still has the output open does not hang the start', async () => {
  const path = await program(`sleep 1000 & echo ${key}`);
  expect(await failure(path, { MASTER_KEY_COMMAND_SECONDS: '1' })).toMatch(/did not finish within 1 s/);
});

test('a program sees the environment without the secrets of the settings, and no input', async () => {
  const seen = join(folder, 'seen');
  const path = await program(`env > ${seen}; cat >> ${seen}; echo ${key}`);
  const env = {
    VAULT_ADDR: 'https://vault',
    DATABASE_URL: 'postgres://u:hidden@h/d',
    METRICS_TOKEN: 'hidden-0123456789',
  };
  expect(await run(path, env)).toBe(key);
  const text = await readFile(seen, 'utf8');
  expect(text).toContain('VAULT_ADDR=https://vault');
  expect(text).not.toContain('hidden');
});

test('the values of the settings contain neither the environment nor a key before the program has run', () => {
  const config = loadConfig({
    MASTER_KEY_COMMAND: 'true',
    DATABASE_URL: 'postgres://u@h/d',
    UNRELATED: 'other-secret',
  });
  expect(JSON.stringify(config)).not.toContain('other-secret');
  expect(config.master_key).toBeUndefined();
});

/** Whether a process runs. One that has ended and was not waited for by its parent does not. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !/^State:\s+Z/m.test(readStatus(pid));
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return 'State: Z';
  }
}
