import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/seedSandbox.ts';
import { apiOf, newClient } from '../api/support.ts';
import type { Answer, Api } from '../harness/api.ts';
import { spawnSandbox, type TestProcess } from '../harness/sandbox.ts';
import { until } from '../journeys/journey.ts';
import { leaveRows } from './leaveRows.ts';

/** Health data as distinctive as a secret: none of it may stand in a log. */
const planted = {
  caller: 'Plantagena Caller',
  message: 'Plantagena has a rash since Tuesday',
  reason: 'Plantagena refill',
  unknown_mrn: 'MRN-PLANTAGENA-1',
  filter: 'Plantagena-Lastname',
  typed_password: `Typed-${randomBytes(12).toString('hex')}`,
  patient: 'Plantagenest',
};

let world: Awaited<ReturnType<typeof spawnSandbox>>;
let serving: TestProcess;
let sandbox: Sandbox;
let api: Api;
let secrets: Record<string, string>;
const answers: Answer[] = [];

beforeAll(async () => {
  world = await spawnSandbox({ env: { LOG_LEVEL: 'trace' } });
  serving = await world.start('all');
  ({ sandbox } = await world.read());
  const client = await newClient({ env: world.env, sandbox });
  const access_token = await client.api.link({ user_id: 'planted', org_id: 'planted', staff: 1 });
  api = apiOf({ env: world.env, sandbox }, { ...client, access_token });
  const left = await leaveRows(api, {}, { caller: planted.caller, message: planted.message, reason: planted.reason });
  const person = sandbox.larkspur.staff[1];
  secrets = {
    emr_password: person?.password ?? '',
    access_token,
    client_secret: client.client_secret,
    webhook_secret: left.webhook_secret,
    typed_password: planted.typed_password,
    ...(await misuse()),
  };
});
afterAll(() => world.close());

/** Everything that goes wrong in ways that tempt a program to log or keep what it was given. */
async function misuse(): Promise<Record<string, string>> {
  const keep = async (answer: Promise<Answer>) => {
    answers.push(await answer);
    return answers[answers.length - 1]?.body;
  };
  const headers = { access_token: null };
  const keyed = (key: string) => ({ ...headers, 'idempotency-key': key });
  const rotated = await keep(
    api.call('POST', '/v1/webhook/rotate-secret', { body: {}, headers: keyed('kept rotation') }),
  );
  const user = { user_id: 'planted-2', org_id: 'planted' };
  const link = await keep(api.call('POST', '/link/token/create', { body: user, headers: keyed('kept link') }));
  await keep(
    api.call('POST', '/sandbox/public_token/create', {
      body: { link_token: link.token ?? '', credentials: { username: 'nobody', password: planted.typed_password } },
      headers,
    }),
  );
  await keep(api.call('GET', `/link?token=${link.token}`, { headers }));
  await keep(api.call('GET', '/link/v1/session', { headers: { 'link-token': link.token } }));
  const typed = { credentials: { username: 'nobody', password: planted.typed_password }, one_time_code: '111111' };
  await keep(api.call('POST', '/link/v1/sign-in', { body: typed, headers: { 'link-token': link.token } }));
  await keep(api.call('POST', '/v1/telephone-encounters', { body: `{"message":"${planted.message}"` }));
  await keep(api.callIn({ [planted.reason]: planted.message }));
  await keep(api.call('GET', `/v1/patients?last_name=${planted.filter}`));
  await keep(api.call('GET', `/v1/nowhere/${planted.filter}?mrn=${planted.unknown_mrn}`));
  await api.control('POST', '/control/patients', { firstName: planted.patient, lastName: planted.patient });
  for (const [operation, kind] of [
    ['create_telephone_encounter', 'html'],
    ['create_telephone_encounter', 'refuse'],
    ['list_patients', 'truncate'],
  ]) {
    await api.control('POST', '/control/faults', { operation, kind, times: 1, reason: planted.reason });
    if (operation === 'list_patients') await keep(api.call('POST', '/v1/sync', { body: {} }));
    else await keep(api.callIn({ caller: planted.caller, message: planted.message }));
  }
  await keep(api.callIn({ patient_mrn: planted.unknown_mrn, message: planted.message }));
  await until('all jobs to end', async () => {
    const left = await world.owner`SELECT FROM jobs WHERE state IN ('queued', 'running')`;
    return left.length === 0;
  });
  return { rotated_secret: rotated.webhook_secret, link_token: link.token };
}

/** A text as it may be hidden: as it is, in hexadecimal, in base64 at each of its three alignments, and those again in hexadecimal. */
function disguises(text: string): string[] {
  const base64 = [0, 1, 2].map((shift) => {
    const whole = Buffer.from(`${'x'.repeat(shift)}${text}`)
      .toString('base64')
      .replace(/=+$/, '');
    // The first and last characters also depend on the neighbors.
    return whole.slice(shift === 0 ? 0 : 4, -3);
  });
  const plain = [text, ...base64, ...base64.map((each) => each.replaceAll('+', '-').replaceAll('/', '_'))];
  return [...new Set(plain.flatMap((each) => [each, Buffer.from(each).toString('hex')]))];
}

/** Every row of every table as text; bytes stand there in hexadecimal. */
async function* rows(): AsyncGenerator<{ table: string; text: string }> {
  const tables = await world.owner<{ name: string }[]>`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`;
  expect(tables.length).toBeGreaterThan(20);
  for (const { name } of tables) {
    const found = await world.owner<{ text: string }[]>`SELECT each::text AS text FROM ${world.owner(name)} AS each`;
    for (const { text } of found) yield { table: name, text };
  }
}

async function huntInDatabase(hunted: Record<string, string>): Promise<string[]> {
  const needles = Object.entries(hunted).flatMap(([name, text]) =>
    disguises(text).map((form) => [name, form] as const),
  );
  const hits = new Set<string>();
  for await (const { table, text } of rows()) {
    for (const [name, form] of needles) if (text.includes(form)) hits.add(`${name} in ${table}`);
  }
  return [...hits].sort();
}

describe('credentials', () => {
  test('are all there to be hunted', () => {
    for (const [name, secret] of Object.entries(secrets)) expect(secret.length, name).toBeGreaterThan(9);
    expect(answers.map((answer) => answer.status).filter((status) => status >= 500)).toStrictEqual([]);
  });

  test('the hunt finds what is hidden in a text, in bytes, in JSON, in base64 and in hexadecimal', async () => {
    const { access_token = '' } = secrets;
    await world.owner`CREATE TABLE hunted (a text, b bytea, c json, d text, e text, f bytea)`;
    const wrapped = Buffer.from(`{"t":"${access_token}"}`);
    await world.owner`INSERT INTO hunted VALUES (${`x${access_token}y`}, NULL, NULL, NULL, NULL, NULL),
      (NULL, ${wrapped}, NULL, NULL, NULL, NULL), (NULL, NULL, ${world.owner.json({ t: access_token })}, NULL, NULL, NULL),
      (NULL, NULL, NULL, ${wrapped.toString('base64')}, NULL, NULL), (NULL, NULL, NULL, NULL, ${wrapped.toString('hex')}, NULL),
      (NULL, NULL, NULL, NULL, NULL, ${Buffer.from(wrapped.toString('base64url'))})`;
    try {
      const forms = disguises(access_token);
      const found = [];
      for await (const row of rows())
        if (row.table === 'hunted') found.push(forms.some((form) => row.text.includes(form)));
      expect(found).toStrictEqual(Array(6).fill(true));
    } finally {
      await world.owner`DROP TABLE hunted`;
    }
  });

  test('stand nowhere in the database, in no form', async () => {
    const { client_secret, access_token, larkspur, dashboard } = sandbox;
    const seeded = {
      seeded_client_secret: client_secret,
      seeded_access_token: access_token,
      seeded_emr_password: larkspur.staff[0]?.password ?? '',
      seeded_totp_secret: larkspur.staff[0]?.totp_secret ?? '',
      dashboard_password: dashboard.password,
      master_key: (await readFile(join(world.env.DATA_DIR ?? '', 'master.key'), 'utf8')).trim(),
    };
    expect(await huntInDatabase({ ...secrets, ...seeded })).toStrictEqual([]);
  });

  test('stand in no file of the data folder but sandbox.json', async () => {
    const folder = world.env.DATA_DIR ?? '';
    const files = (await readdir(folder)).filter((name) => name !== 'sandbox.json');
    expect(files).toContain('master.key');
    for (const file of files) {
      const text = await readFile(join(folder, file), 'utf8');
      for (const secret of Object.values(secrets)) expect(text.includes(secret), file).toBe(false);
    }
  });

  test('stand in no log line, at the most talkative level, nor does health data', async () => {
    await serving.kill('SIGTERM');
    const output = serving.output();
    const lines = output.split('\n').filter((line) => line.startsWith('{"level"'));
    expect(lines.length).toBeGreaterThan(20);
    expect(output).toContain('"endpoint":"telephone-encounters.create"');
    const health = { mrn_of_a_patient: 'LK100002', ...planted };
    for (const [name, text] of Object.entries({ ...secrets, ...health })) {
      for (const form of disguises(text)) expect(output.includes(form), name).toBe(false);
    }
    for (const word of ['Plantagen', 'PLANTAGEN', 'Demoson', '"stack"']) expect(output).not.toContain(word);
  });
});
