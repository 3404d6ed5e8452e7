import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
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
  const { kids } = await json('keys', 'rotate', '--client', fixture.sandbox.client_id);
  expect(kids).not.toHaveLength(0);
});

test('a command that loses its connection to the database says so in one line', async () => {
  const { owner, env } = fixture;
  const stop = async () =>
    (
      await owner`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`
    ).length > 0;
  const { code, stderr } = await owner.begin(async (tx) => {
    await tx`LOCK TABLE clients`;
    const result = runHere(['clients', 'create', '--name', 'Interrupted'], env);
    await expect.poll(stop).toBe(true);
    return result;
  });
  expect(stderr).toMatch(/^The connection to the database was lost\. [^\n]+\n$/);
  expect(code).toBe(1);
});

test('the audit log and a restore print their figures', async () => {
  await fixture.owner`
    INSERT INTO approvals (id, action, endpoint, content_sealed, content_hash, requester_id, requester_method, expires_at)
    SELECT gen_random_uuid(), 'erasure', 'dashboard.clients.erase', '', '', id, 'password', now() + interval '1 hour'
      FROM operators LIMIT 1`;
  const mark = await json('restore', 'mark', '--backup-time', '2026-01-31T02:00:00Z');
  expect(mark).toStrictEqual({ backup_at: '2026-01-31T02:00:00.000Z', unfinished_jobs: 0 });
  expect(await fixture.owner`SELECT state, reason FROM approvals`).toStrictEqual([
    { state: 'cancelled', reason: 'restored' },
  ]);
  expect(await json('audit', 'verify')).toStrictEqual({
    ok: true,
    ...{ checked: count, unsealed: count, anchors: count, faults: [] },
  });
  expect(await json('audit', 'reanchor')).toStrictEqual({ from: count, to: count });
});

test('audit export writes verifiable records, is recorded, and replaces a file only with --force', async () => {
  const file = join(folder, 'audit.jsonl');
  const exported = await json('audit', 'export', '--output', file);
  expect(exported).toStrictEqual({ file, format: 'jsonl', records: count });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  expect(lines).toHaveLength(exported.records);
  const [first = '', second = ''] = lines;
  expect(JSON.parse(first)).toMatchObject({ position: 1, id: text, mac: text, chain: text, patients: [] });
  const verdict = await json('audit', 'verify', '--export', file);
  expect(verdict).toStrictEqual({ ok: true, checked: lines.length, unsealed: count, gaps: 0, faults: [] });

  // One changed field and one changed link are found without the log itself.
  const forged = { ...JSON.parse(first), outcome: 'forged' };
  const moved = { ...JSON.parse(second), chain: JSON.parse(first).chain };
  const forgery = join(folder, 'forged.jsonl');
  await writeFile(forgery, [forged, moved, 'x'].map((line) => `${JSON.stringify(line)}\n`).join(''));
  const refused = await runHere(['audit', 'verify', '--export', forgery, '--json'], fixture.env);
  expect(refused.code).toBe(1);
  expect(JSON.parse(refused.stdout)).toMatchObject({
    ok: false,
    faults: [
      { position: 1, what: 'changed' },
      { position: 2, what: 'not_linked' },
      { position: null, what: 'unreadable' },
    ],
  });

  expect(await runHere(['audit', 'export', '--output', file], fixture.env)).toStrictEqual({
    ...{
      code: 1,
      stdout: '',
      stderr: `${file} already exists and will not be overwritten. To replace it, add --force.\n`,
    },
  });
  const again = await json('audit', 'export', '--output', file, '--force');
  expect(again.records).toBeGreaterThan(exported.records);
  expect((await readFile(file, 'utf8')).match(/"audit\.export"/g)).toHaveLength(1);
});

test('audit export selects by client and time, and prints CSV', async () => {
  const { client_id } = fixture.sandbox;
  const { client_id: other } = await json('clients', 'create', '--name', 'Without records');
  const run = (...args: string[]) => runHere(['audit', 'export', ...args], fixture.env);
  await fixture.api.call('GET', '/v1/patients?page_size=1');
  const csv = (await run('--client', client_id, '--format', 'csv', '--since', '1960-01-01')).stdout.split('\r\n');
  expect(csv[0]).toMatch(/^"position","id","at","client","client_id",.*"mac","chain"$/);
  expect(csv.length).toBeGreaterThan(2);
  expect(csv.slice(1, -1).every((line) => line.includes(`"${client_id}"`))).toBe(true);
  const ofOther = await run('--client', other);
  expect(ofOther.stdout).not.toContain(client_id);
  expect(await run('--until', '2020-01-01')).toStrictEqual({ code: 0, stdout: '', stderr: 'Records: 0.\n' });
  expect((await run('--since', '2999-01-01T00:00:00+02:00')).stdout).toBe('');
  for (const [args, problem] of [
    [['--since', 'yesterday'], /^--since must be a date or a time with its zone, such as .*\.\n$/],
    [['--until', '2026-01-01T10:00:00'], /^--until must be a date or a time with its zone/],
    [['--client', 'ci_test_unknown'], /^--client must be the client_id of an existing client\.\n$/],
    [['--format', 'xml'], /Allowed choices are jsonl, csv/],
    [['--json'], /^--json needs --output FILE for the records\.\n$/],
  ] as const) {
    expect(await run(...args)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(problem) });
  }
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
    ...['clients create', 'operators reset', 'operators enable', 'operators review', 'keys rotate'],
    ...['connectors list', 'connectors new'],
    ...['connectors certify', 'emr-apps', 'erase'],
    ...['audit verify', 'audit export', 'audit reanchor', 'backup', 'restore', 'restore mark', 'doctor'],
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
