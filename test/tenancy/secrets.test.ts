import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import { apiAs, newClient } from '../api/support.ts';
import type { Api, ApiResponse } from '../harness/api.ts';
import { spawnSandbox, type TestProcess } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { insertRows } from './insertRows.ts';

/** Distinctive health data, none of which may be logged. */
const health_data = {
  caller: 'Plantagena Caller',
  message: 'Plantagena has a rash since Tuesday',
  reason: 'Plantagena refill',
  reference: 'Plantagena 4711',
  unknown_mrn: 'MRN-PLANTAGENA-1',
  filter: 'Plantagena-Lastname',
  typed_password: `Typed-${randomBytes(12).toString('hex')}`,
  patient: 'Plantagenest',
};

let fixture: Awaited<ReturnType<typeof spawnSandbox>>;
let serving: TestProcess;
let sandbox: Sandbox;
let api: Api;
let secrets: Record<string, string>;
const responses: ApiResponse[] = [];

beforeAll(async () => {
  fixture = await spawnSandbox({ small: true, env: { LOG_LEVEL: 'trace' } });
  serving = await fixture.start('all');
  ({ sandbox } = await fixture.read());
  const client = await newClient({ env: fixture.env, sandbox });
  const access_token = await client.api.link({ user_id: 'marked', org_id: 'marked', staff: 1 });
  api = apiAs({ env: fixture.env, sandbox }, { ...client, access_token });
  const inserted = await insertRows(
    api,
    {},
    {
      ...{ caller: health_data.caller, message: health_data.message, reason: health_data.reason },
      reference: health_data.reference,
    },
  );
  const person = sandbox.larkspur.staff[1];
  secrets = {
    emr_password: person?.password ?? '',
    access_token,
    client_secret: client.client_secret,
    webhook_secret: inserted.webhook_secret,
    typed_password: health_data.typed_password,
    ...(await sendFailingRequests()),
  };
});
afterAll(() => fixture.close());

/** Sends requests that fail in ways in which programs often log or store their input. */
async function sendFailingRequests(): Promise<Record<string, string>> {
  const send = async (response: Promise<ApiResponse>) => {
    responses.push(await response);
    return responses[responses.length - 1]?.body;
  };
  const headers = { access_token: null };
  const keyed = (key: string) => ({ ...headers, 'idempotency-key': key });
  const rotated = await send(api.call('POST', '/v1/webhook/rotate-secret', { body: {}, headers: keyed('rotation') }));
  const user = { user_id: 'marked-2', org_id: 'marked' };
  const link = await send(api.call('POST', '/link/token/create', { body: user, headers: keyed('link') }));
  await send(
    api.call('POST', '/sandbox/public_token/create', {
      body: { link_token: link.token ?? '', credentials: { username: 'nobody', password: health_data.typed_password } },
      headers,
    }),
  );
  await send(api.call('GET', `/link?token=${link.token}`, { headers }));
  const as_page = { 'link-token': link.token };
  const page = await send(api.call('GET', '/link/v1/session', { headers: as_page }));
  const consent = { terms_id: page.consent.terms_id, language: 'en', text: 'What the page shows.' };
  await send(api.call('POST', '/link/v1/consent', { body: consent, headers: as_page }));
  const typed = { credentials: { username: 'nobody', password: health_data.typed_password }, one_time_code: '111111' };
  await send(api.call('POST', '/link/v1/sign-in', { body: typed, headers: as_page }));
  await send(api.call('POST', '/v1/telephone-encounters', { body: `{"message":"${health_data.message}"` }));
  await send(api.callIn({ [health_data.reason]: health_data.message }));
  await send(api.call('GET', `/v1/patients?last_name=${health_data.filter}`));
  await send(api.call('GET', `/v1/nowhere/${health_data.filter}?mrn=${health_data.unknown_mrn}`));
  await api.control('POST', '/control/patients', { firstName: health_data.patient, lastName: health_data.patient });
  for (const [operation, kind] of [
    ['create_telephone_encounter', 'html'],
    ['create_telephone_encounter', 'refuse'],
    ['list_patients', 'truncate'],
  ]) {
    await api.control('POST', '/control/faults', { operation, kind, times: 1, reason: health_data.reason });
    if (operation === 'list_patients') await send(api.call('POST', '/v1/sync', { body: {} }));
    else await send(api.callIn({ caller: health_data.caller, message: health_data.message }));
  }
  await send(api.callIn({ patient_mrn: health_data.unknown_mrn, message: health_data.message }));
  await until('all jobs to finish', async () => {
    const inserted = await fixture.owner`SELECT FROM jobs WHERE state IN ('queued', 'running')`;
    return inserted.length === 0;
  });
  return { rotated_secret: rotated.webhook_secret, link_token: link.token };
}

/** Encodings of a text: plain, base64 at each of three alignments, and all of these in hexadecimal. */
function encodings(text: string): string[] {
  const base64 = [0, 1, 2].map((shift) => {
    const encoded = Buffer.from(`${'x'.repeat(shift)}${text}`)
      .toString('base64')
      .replace(/=+$/, '');
    // The first and last characters also depend on the neighbors.
    return encoded.slice(shift === 0 ? 0 : 4, -3);
  });
  const plain = [text, ...base64, ...base64.map((each) => each.replaceAll('+', '-').replaceAll('/', '_'))];
  return [...new Set(plain.flatMap((each) => [each, Buffer.from(each).toString('hex')]))];
}

/** Every row of every table as text, with bytes in hexadecimal. */
async function* rows(): AsyncGenerator<{ table: string; text: string }> {
  const tables = await fixture.owner<{ name: string }[]>`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`;
  expect(tables.length).toBeGreaterThan(20);
  for (const { name } of tables) {
    const table_rows = await fixture.owner<
      { text: string }[]
    >`SELECT each::text AS text FROM ${fixture.owner(name)} AS each`;
    for (const { text } of table_rows) yield { table: name, text };
  }
}

async function findInDatabase(texts: Record<string, string>): Promise<string[]> {
  const patterns = Object.entries(texts).flatMap(([name, text]) =>
    encodings(text).map((form) => [name, form] as const),
  );
  const hits = new Set<string>();
  for await (const { table, text } of rows()) {
    for (const [name, form] of patterns) if (text.includes(form)) hits.add(`${name} in ${table}`);
  }
  return [...hits].sort();
}

describe('credentials', () => {
  test('are all present in this test', () => {
    for (const [name, secret] of Object.entries(secrets)) expect(secret.length, name).toBeGreaterThan(9);
    expect(responses.map((response) => response.status).filter((status) => status >= 500)).toStrictEqual([]);
  });

  test('are found by the search in text, bytes, JSON, base64 and hexadecimal', async () => {
    const { access_token = '' } = secrets;
    await fixture.owner`CREATE TABLE searched (a text, b bytea, c json, d text, e text, f bytea)`;
    const wrapped = Buffer.from(`{"t":"${access_token}"}`);
    await fixture.owner`INSERT INTO searched VALUES (${`x${access_token}y`}, NULL, NULL, NULL, NULL, NULL),
      (NULL, ${wrapped}, NULL, NULL, NULL, NULL), (NULL, NULL, ${fixture.owner.json({ t: access_token })}, NULL, NULL, NULL),
      (NULL, NULL, NULL, ${wrapped.toString('base64')}, NULL, NULL), (NULL, NULL, NULL, NULL, ${wrapped.toString('hex')}, NULL),
      (NULL, NULL, NULL, NULL, NULL, ${Buffer.from(wrapped.toString('base64url'))})`;
    try {
      const forms = encodings(access_token);
      const matches = [];
      for await (const row of rows())
        if (row.table === 'searched') matches.push(forms.some((form) => row.text.includes(form)));
      expect(matches).toStrictEqual(Array(6).fill(true));
    } finally {
      await fixture.owner`DROP TABLE searched`;
    }
  });

  test('are not in the database, in any encoding', async () => {
    const { client_secret, access_token, larkspur, dashboard } = sandbox;
    const seeded = {
      seeded_client_secret: client_secret,
      seeded_access_token: access_token,
      seeded_emr_password: larkspur.staff[0]?.password ?? '',
      seeded_totp_secret: larkspur.staff[0]?.totp_secret ?? '',
      dashboard_password: dashboard.password,
      master_key: (await readFile(join(fixture.env.DATA_DIR ?? '', 'master.key'), 'utf8')).trim(),
    };
    expect(await findInDatabase({ ...secrets, ...seeded })).toStrictEqual([]);
  });

  test('are in no file of the data folder except sandbox.json', async () => {
    const folder = fixture.env.DATA_DIR ?? '';
    const files = (await readdir(folder)).filter((name) => name !== 'sandbox.json');
    expect(files).toContain('master.key');
    for (const file of files) {
      const text = await readFile(join(folder, file), 'utf8');
      for (const secret of Object.values(secrets)) expect(text.includes(secret), file).toBe(false);
    }
  });

  test('are not logged at the trace level, and neither is health data', async () => {
    await serving.stop('SIGTERM');
    const output = serving.output();
    const lines = output.split('\n').filter((line) => line.startsWith('{"level"'));
    expect(lines.length).toBeGreaterThan(20);
    expect(output).toContain('"endpoint":"telephone-encounters.create"');
    const health = { mrn_of_a_patient: 'LK100002', ...health_data };
    for (const [name, text] of Object.entries({ ...secrets, ...health })) {
      for (const form of encodings(text)) expect(output.includes(form), name).toBe(false);
    }
    for (const word of ['Plantagen', 'PLANTAGEN', 'Demoson', '"stack"']) expect(output).not.toContain(word);
  });
});
