import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
let fixture: TestSandbox;
let folder: string;
beforeAll(async () => {
  fixture = await sharedSandbox();
  // A copy with its own node_modules, as after a fresh clone and build.
  folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'examples-'));
  await symlink(join(root, 'dist'), join(folder, 'dist'));
  const skipped = /node_modules/;
  await cp(join(root, 'examples'), join(folder, 'examples'), {
    recursive: true,
    filter: (path) => !skipped.test(path.slice(root.length)),
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Installs an example as its README says, and returns its folder. */
async function install(name: string): Promise<string> {
  const cwd = join(folder, 'examples', name);
  const env = { ...process.env, npm_config_cache: join(folder, 'cache') };
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund'], { cwd, env });
  return cwd;
}

const environment = () => ({ PATH: process.env.PATH ?? '', DATA_DIR: fixture.env.DATA_DIR ?? '' });

test('booking-app links an account, books a free time once, and learns the outcome by webhook', async () => {
  const cwd = await install('booking-app');
  const { call, address } = await startApp(cwd);
  expect((await call('GET', '/')).text).toContain(fixture.sandbox.base_url);
  expect((await call('GET', '/link.js')).text).toContain('openLink');
  expect(await call('GET', '/api/times?date=2030-01-07')).toMatchObject({
    status: 409,
    body: { message: 'Connect the EMR first.' },
  });

  // What a person does in Link.
  const { token } = (await call('POST', '/api/link-token', {})).body;
  const { larkspur } = fixture.sandbox;
  const [, { username = '', password = '' } = {}] = larkspur.staff;
  const linked = await fixture.api.call('POST', '/sandbox/public_token/create', {
    body: { link_token: token, credentials: { username, password }, one_time_code: fixture.api.code(1) },
    headers: { access_token: null },
  });
  expect(linked.status, JSON.stringify(linked.body)).toBe(200);
  expect((await call('POST', '/api/linked', { public_token: linked.body.public_token })).body).toStrictEqual({
    linked: true,
  });

  // Offered after the first sync.
  const date = nextMonday();
  const times = async () => (await call('GET', `/api/times?date=${date}`)).body.times;
  await expect.poll(async () => (await times())?.length).toBeGreaterThan(0);
  const [{ start, provider, location }] = await times();
  const booking = {
    start,
    provider,
    location,
    mrn: fixture.sandbox.example.patient_mrn,
    type: 'FU',
    key: `a-${Date.now()}`,
  };
  const first = await call('POST', '/api/appointments', booking);
  expect(first.status, first.text).toBe(200);
  const { appointment_id } = first.body;
  expect((await call('POST', '/api/appointments', booking)).body.appointment_id).toBe(appointment_id);
  const outcome = async (id: string) => (await call('GET', `/api/appointments?id=${id}`)).body;
  await expect.poll(async () => (await outcome(appointment_id)).status).toBe('booked');

  const again = await call('POST', '/api/appointments', { ...booking, key: `b-${Date.now()}` });
  await expect.poll(async () => (await outcome(again.body.appointment_id)).status).toBe('failed');

  expect((await call('POST', '/api/appointments', { ...booking, mrn: '', key: 'c' })).status).toBe(400);
  expect((await call('POST', '/webhooks', { type: 'appointment.created' })).status).toBe(400);
  const foreign = await fetch(`${address}/api/link-token`, { method: 'POST', body: '{}' });
  expect(foreign.status).toBe(403);
});

test('claims-csv writes every claim once, quoted and without formulas', async () => {
  const cwd = await install('claims-csv');
  const { claims } = (await fixture.api.call('GET', '/v1/claims?page_size=1000')).body;
  // A text that a spreadsheet would run, with everything that needs quoting.
  const note = '=HYPERLINK("https://example.org","a, b")\r\nsecond line';
  const setNote = (text: string | null) =>
    fixture.owner`UPDATE claims SET doc = jsonb_set(doc::jsonb, '{billing_notes}', ${JSON.stringify(text)}::jsonb)::json WHERE id = ${claims[0].id}`;
  await setNote(note);
  onTestFinished(async () => void (await setNote(claims[0].billing_notes)));

  const { stdout } = await run(process.execPath, ['claims.mjs', '--out', 'claims.csv'], { cwd, env: environment() });
  expect(stdout).toMatch(new RegExp(`^${claims.length} claims, balance [\\d.]+: claims.csv\n$`));
  expect((await stat(join(cwd, 'claims.csv'))).mode & 0o777).toBe(0o600);
  const [header, ...rows] = parseCsv(await readFile(join(cwd, 'claims.csv'), 'utf8'));
  expect(header?.[0]).toBe('claim');
  expect(rows.map(([id]) => id)).toStrictEqual(
    claims.map(({ emr_claim_id }: { emr_claim_id: string }) => emr_claim_id),
  );
  expect(rows[0]?.at(-1)).toBe(`'${note}`);

  const failed = await run(process.execPath, ['claims.mjs', '--from', 'yesterday'], { cwd, env: environment() }).catch(
    (error) => error,
  );
  expect(failed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^[^\n]*start_date[^\n]*\n$/) });
  expect((await readdir(cwd)).filter((name) => name.endsWith('.part'))).toStrictEqual([]);
});

async function startApp(cwd: string) {
  const port = await freePort();
  const app: ChildProcess = spawn(process.execPath, ['server.mjs'], {
    cwd,
    env: { ...environment(), EXAMPLE_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    const exited = once(app, 'exit');
    app.kill();
    await exited;
  });
  // Printed when it listens.
  if (app.stdout) await once(app.stdout, 'data');
  const address = `http://127.0.0.1:${port}`;
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(address + path, {
      method,
      headers: { origin: address },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const is_json = response.headers.get('content-type') === 'application/json';
    return { status: response.status, text, body: is_json ? JSON.parse(text) : undefined };
  };
  return { address, call };
}

function nextMonday(): string {
  const day = new Date();
  day.setUTCDate(day.getUTCDate() + 7 + ((8 - day.getUTCDay()) % 7));
  return day.toISOString().slice(0, 10);
}

/** RFC 4180, where every value is quoted. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, value = '', end] of text.matchAll(/"((?:[^"]|"")*)"(,|\r\n)/g)) {
    rows.at(-1)?.push(value.replaceAll('""', '"'));
    if (end !== ',') rows.push([]);
  }
  return rows.slice(0, -1);
}
