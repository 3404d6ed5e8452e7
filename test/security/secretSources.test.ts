import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StartFailure } from '../../src/catalog/errors.ts';
import { loadConfig, readSecrets, secret_names, settings } from '../../src/catalog/settings/config.ts';
import type { Setting } from '../../src/catalog/settings/settingValues.ts';

const key = 'ab'.repeat(32);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chartwire-secrets-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function file(name: string, content: string | Buffer): Promise<string> {
  await writeFile(join(folder, name), content, { mode: 0o600 });
  return join(folder, name);
}

function failure(env: Record<string, string>, overrides?: Record<string, string>): string {
  try {
    loadConfig(env, overrides);
  } catch (error) {
    expect(error).toBeInstanceOf(StartFailure);
    return String((error as Error).message);
  }
  return '';
}

test('a secret comes from the file that its setting with the suffix _FILE names, without the line break at its end', async () => {
  const env = {
    NODE_ENV: 'production',
    MASTER_KEY_FILE: await file('key', `${key}\n`),
    METRICS_TOKEN_FILE: await file('token', '0123456789abcdef\r\n'),
    // A file mounted by Docker or Kubernetes is a link.
    DATABASE_URL_FILE: join(folder, 'link'),
  };
  await symlink(await file('url', 'postgres://u:secret@db.example.org/c'), join(folder, 'link'));
  const config = loadConfig(env);
  expect(config.master_key?.toString('hex')).toBe(key);
  expect(config.metrics_token).toBe('0123456789abcdef');
  expect(config.database_url).toBe('postgres://u:secret@db.example.org/c');
});

test('a secret comes from the systemd credential of its name; other credentials are left alone', async () => {
  await file('MASTER_KEY', key);
  await file('OIDC_CLIENT_SECRET', 'secret of the provider\n');
  await file('vault-token', 'not ours');
  const config = loadConfig({
    NODE_ENV: 'production',
    CREDENTIALS_DIRECTORY: folder,
    OIDC_ISSUER: 'https://login.example.org',
    OIDC_CLIENT_ID: 'chartwire',
    OIDC_ROLES: 'owners=owner',
  });
  expect(config.master_key?.toString('hex')).toBe(key);
  expect(config.oidc_client_secret).toBe('secret of the provider');
});

test('a folder of credentials that is missing, or that this user cannot read, gives no secrets', () => {
  expect(loadConfig({ CREDENTIALS_DIRECTORY: join(folder, 'missing') }).master_key).toBeUndefined();
  expect(readSecrets({ CREDENTIALS_DIRECTORY: join(folder, 'missing') }).sources).toStrictEqual([]);
});

test('every secret that is set twice is refused, whichever two sources it has', async () => {
  const value: Record<string, string> = { MASTER_KEY: key, MASTER_KEY_PREVIOUS: key };
  for (const name of secret_names) {
    const text = value[name] ?? 'secret value';
    const path = await file(name, text);
    const sources = [
      [{ [name]: text }, name],
      [{ [`${name}_FILE`]: path }, `${name}_FILE`],
      ...(`${name}_COMMAND` in settings ? ([[{ [`${name}_COMMAND`]: 'true' }, `${name}_COMMAND`]] as const) : []),
      [{ CREDENTIALS_DIRECTORY: folder }, `the systemd credential ${name}`],
    ] as const;
    for (const [n, [env, one]] of sources.entries()) {
      for (const [other_env, other] of sources.slice(n + 1)) {
        expect(failure({ ...env, ...other_env })).toBe(`${name} is set by ${one} and by ${other}. Keep one.`);
      }
    }
    await rm(path);
  }
});

test('an empty variable is not a source', async () => {
  const env = { MASTER_KEY: ' ', MASTER_KEY_FILE: await file('key', key), MASTER_KEY_COMMAND: '' };
  expect(loadConfig(env).master_key?.toString('hex')).toBe(key);
  expect(loadConfig({ MASTER_KEY: key, MASTER_KEY_FILE: '' }).master_key?.toString('hex')).toBe(key);
});

test('a file that cannot be a secret is refused, with its path and without its content', async () => {
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  await mkdir(join(folder, 'folder'));
  const cases: [path: string, reason: RegExp][] = [
    [join(folder, 'missing'), /cannot be read \(ENOENT\)\.$/],
    [join(folder, 'folder'), /is not a regular file\.$/],
    [join(folder, 'pipe'), /is not a regular file\.$/],
    ['/dev/zero', /is not a regular file\.$/],
    [await file('empty', ' \n'), /is empty\.$/],
    [await file('two-lines', 'first-part\nsecond-part'), /must contain one line of text\.$/],
    [await file('binary', Buffer.from([0x61, 0, 0x62])), /must contain one line of text\.$/],
    [await file('not-utf-8', Buffer.from([0x61, 0xff, 0x62])), /must contain one line of text\.$/],
    [await file('large', 'first-part'.repeat(7_000)), /is larger than 65536 bytes\.$/],
  ];
  for (const [path, reason] of cases) {
    const message = failure({ METRICS_TOKEN_FILE: path });
    expect(message).toMatch(reason);
    expect(message).toContain(`METRICS_TOKEN_FILE: `);
    expect(message).toContain(path);
    expect(message).not.toMatch(/part/);
  }
});

test('a value from a file is checked like one in the environment, and not shown', async () => {
  const message = failure({ MASTER_KEY_FILE: await file('key', 'too-short') });
  expect(message).toMatch(/^MASTER_KEY must be 32 bytes/);
  expect(message).not.toContain('too-short');
});

test('a credential with another spelling of its name is an error that says how to name it', async () => {
  for (const name of ['master_key', 'master-key', 'Master.Key']) {
    const path = await file(name, key);
    expect(failure({ CREDENTIALS_DIRECTORY: folder })).toBe(`The systemd credential ${name} must be named MASTER_KEY.`);
    await rm(path);
  }
});

test('an override replaces a secret wherever it is set', async () => {
  const env = { DATABASE_URL_FILE: await file('url', 'postgres://u:secret@db.example.org/c') };
  expect(loadConfig(env, { DATABASE_URL: '' }).database_url).toBeUndefined();
});

test('every setting whose example has a secret is declared as one', () => {
  const declared = Object.entries(settings as Record<string, Setting<unknown>>);
  const looks_secret = declared.filter(
    ([name, { example }]) =>
      /(?<!_ID)_(KEY|SECRET|TOKEN|PASSWORD)$|_KEY_PREVIOUS$/.test(name) || /\bsecret\b(?!\/)|<.*>/.test(example),
  );
  expect(looks_secret.filter(([, { secret }]) => secret !== true).map(([name]) => name)).toStrictEqual([]);
  expect(secret_names.length).toBeGreaterThan(8);
  // Nothing else has such a name, so that a suffix is never ambiguous.
  expect(secret_names.filter((name) => `${name}_FILE` in settings)).toStrictEqual([]);
});
