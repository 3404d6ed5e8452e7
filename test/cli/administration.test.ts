import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { runHere } from './support.ts';

let fixture: TestSandbox;
let folder: string;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  folder = await mkdtemp(join(tmpdir(), 'chartwire-administration-'));
});
afterAll(async () => {
  await fixture.close();
  await rm(folder, { recursive: true });
});

/** The result of a command, which must be the only thing on the standard output. */
async function json(...args: string[]) {
  const { code, stdout, stderr } = await runHere([...args, '--json'], fixture.env);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

const text = expect.any(String);
const count = expect.any(Number);

test('clients, operators and keys print what was created', async () => {
  const created = await json('clients', 'create', '--name', 'Made by a program');
  expect(created).toStrictEqual({ client_id: text, client_secret: text });
  const response = await fixture.api.call('GET', '/v1/accounts', { headers: { ...created, access_token: null } });
  expect(response).toMatchObject({ status: 200, body: { accounts: [] } });
  const { email } = fixture.sandbox.dashboard;
  expect(await json('operators', 'reset', '--email', email)).toStrictEqual({ email, password: text });
  const { kids } = await json('keys', 'rotate');
  expect(kids).not.toHaveLength(0);
});

test('the audit log and a restore print their figures', async () => {
  const mark = await json('restore', 'mark', '--backup-time', '2026-01-31T02:00:00Z');
  expect(mark).toStrictEqual({ backup_at: '2026-01-31T02:00:00.000Z', unfinished_jobs: 0 });
  expect(await json('audit', 'verify')).toStrictEqual({
    ok: true,
    ...{ checked: count, unsealed: count, anchors: count, faults: [] },
  });
  expect(await json('audit', 'reanchor')).toStrictEqual({ from: count, to: count });
});

test('a certification prints its checks, and says on the standard error output what it does', async () => {
  const { larkspur } = fixture.sandbox;
  const [{ username = '', password = '' } = {}] = larkspur.staff;
  const credentials_file = join(folder, 'credentials.json');
  await writeFile(credentials_file, JSON.stringify({ username, password }));
  const { code, stdout, stderr } = await runHere(
    [
      ...['connectors', 'certify', 'larkspur', '--address', larkspur.url, '--credentials-file', credentials_file],
      ...['--one-time-code', fixture.api.code(), '--only', 'sign_in', '--json'],
    ],
    fixture.env,
  );
  const { passed, checks } = JSON.parse(stdout);
  expect(code).toBe(passed ? 0 : 1);
  expect(checks).toContainEqual({
    ...{ check: expect.stringMatching(/^sign_in\./), expectation: text, outcome: 'passed', took_ms: count },
    reason: text,
  });
  expect(stderr).toMatch(/^Reads from .* and writes nothing\./);
});

test('EMR apps and erasures print ids and counts', async () => {
  const { client_id } = await json('clients', 'create', '--name', 'To be erased');
  expect(await json('emr-apps', 'list', '--client', client_id)).toStrictEqual({ emr_apps: [] });
  const planned = await json('erase', 'client', '--client', client_id);
  expect(planned).toStrictEqual({ erased: false, rows: expect.any(Object), linked_accounts: 0, unfinished_jobs: 0 });
  expect(await json('erase', 'client', '--client', client_id, '--yes')).toMatchObject({ erased: true });
});

test('every command that can print JSON offers it in its help, and the guide lists its fields', async () => {
  const guide = await readFile(new URL('../../docs/guides/command-line.md', import.meta.url), 'utf8');
  const commands = [
    ...['clients create', 'operators reset', 'keys rotate', 'connectors certify', 'emr-apps', 'erase'],
    ...['audit verify', 'audit reanchor', 'backup', 'restore', 'restore mark', 'doctor'],
  ];
  for (const command of commands) {
    expect((await runHere([...command.split(' '), '--help'], {})).stdout, command).toContain('--json');
    expect(guide, command).toMatch(new RegExp(`^\\| .*\`${command}[ \`].* \\| \`\\w+\``, 'm'));
  }
});

test('an error of an administration command is a sentence also with --json', async () => {
  const failed = await runHere(['clients', 'create', '--json'], fixture.env);
  expect(failed).toStrictEqual({
    ...{ code: 1, stdout: '' },
    stderr: 'A name is required: chartwire clients create --name "Front desk app"\n',
  });
});
