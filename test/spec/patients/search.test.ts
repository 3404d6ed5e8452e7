import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { expectApiError, expectSchema } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { countRows } from '../../journeys/support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

type Headers = Record<string, string | null>;
const search = (body?: unknown, headers: Headers = {}, query = '') =>
  fixture.api.call('POST', `/v1/patients/search${query}`, { headers, ...(body !== undefined && { body }) });
const list = (query: Record<string, string | number>) =>
  fixture.api.call(
    'GET',
    `/v1/patients?${new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))}`,
  );

test(row('SEA-01'), async () => {
  const { patient_mrn: mrn } = fixture.sandbox.example;
  const [patient] = (await list({ mrn })).body.patients;
  const { first_name, last_name, dob, ehr_id, phone, cell_phone } = patient;
  const filters: Record<string, string | number>[] = [
    {},
    { page: 2, page_size: 7 },
    { page: 1000, page_size: 1000 },
    { mrn },
    { ehr_id },
    { dob },
    { dob: `${dob}T10:00:00Z` },
    { phone: phone ?? cell_phone },
    { first_name: first_name.slice(0, 2) },
    { last_name: last_name.toUpperCase(), first_name: ` ${first_name} `, page_size: 1 },
    { mrn: 'unknown' },
  ];
  for (const filter of filters) {
    const searched = await search(filter);
    expectSchema('patients.search', searched);
    const listed = await list(filter);
    expect([searched.status, searched.body], JSON.stringify(filter)).toStrictEqual([listed.status, listed.body]);
  }
  // Without a body, everyone, as without a query.
  expect((await search()).body).toStrictEqual((await list({})).body);
  expect((await search({ mrn })).body.patients).toMatchObject([{ id: patient.id }]);
});

test(row('SEA-02'), async () => {
  const refused: [unknown, string, string?][] = [
    [{ lastname: 'A' }, 'Unexpected fields in request body: lastname', 'lastname'],
    [{ page: '2' }, 'page must be an integer', 'page'],
    [{ page: 0 }, 'page must be at least 1', 'page'],
    [{ page_size: 1001 }, 'page_size must be at most 1000', 'page_size'],
    [{ page_size: 1.5 }, 'page_size must be an integer', 'page_size'],
    [{ mrn: 7 }, 'mrn must be a string', 'mrn'],
    [{ mrn: ['LK100001'] }, 'mrn must be a string', 'mrn'],
    [{ dob: '1990-02-30' }, 'dob must be a date that exists, in the form YYYY-MM-DD', 'dob'],
    [{ last_name: '' }, 'last_name must not be empty', 'last_name'],
    [{ last_name: ' ' }, 'last_name must not be empty', 'last_name'],
    [{ mrn: null }, 'mrn must be a string', 'mrn'],
    [[], 'Request body must be a JSON object.'],
  ];
  for (const [body, message, field] of refused) expectApiError(await search(body), 400, message, field);
  const in_url = await search({}, {}, '?last_name=A');
  expectApiError(in_url, 400, /last_name/, 'last_name');
});

test(row('SEA-03'), async () => {
  const before = await countRows(fixture.owner);
  const key = { 'idempotency-key': randomUUID() };
  const name = `Q${randomUUID().replaceAll('-', '')}`;
  const responses = [await search({ last_name: name }, key), await search({ page_size: 1 }, key)];
  // The same key with another body: the second request has its own response.
  expect(responses.map(({ status }) => status)).toStrictEqual([200, 200]);
  expect(responses.map(({ body }) => body.patients.length)).toStrictEqual([0, 1]);
  expect(responses.map(({ headers }) => headers.get('idempotency-replayed'))).toStrictEqual([null, null]);
  expect((await search({}, { 'idempotency-key': 'x'.repeat(300) })).status).toBe(200);
  expect(await countRows(fixture.owner)).toStrictEqual(before);

  const [searched] = responses;
  const [listed] = [await list({ last_name: name })];
  const records = await Promise.all([searched, listed].map((each) => readRecord(each)));
  const { action, ...facts } = records[0] ?? {};
  expect(action).toBe('patients.search');
  expect({ action: 'patients.list', ...facts }).toStrictEqual(records[1]);
  expect(await tablesWith(name)).toStrictEqual([]);

  const remaining = (response: ApiResponse | undefined) => response?.headers.get('ratelimit-limit');
  expect(remaining(searched)).toBe(remaining(listed));
  expectApiError(await search({}, { access_token: 'unknown' }), 401, /User not found/);
  expectApiError(await search({}, { client_secret: 'unknown' }), 401, /./);
  const head = await fixture.api.call('GET', '/v1/patients/search');
  expect([head.status, head.headers.get('allow')]).toStrictEqual([405, expect.stringContaining('POST')]);
});

/** What the audit record of a request says about it. */
async function readRecord(response: ApiResponse | undefined): Promise<Record<string, unknown> | undefined> {
  const [record] = await fixture.owner`
    SELECT action, outcome, actor_kind, actor, client_id, account_id, subject, job_id, detail
    FROM audit_records WHERE request_id = ${response?.headers.get('x-request-id') ?? ''}`;
  return record;
}

/** The tables that contain a text. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await fixture.owner<{ name: string }[]>`
    SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'`;
  expect(tables.length).toBeGreaterThan(30);
  const matches: string[] = [];
  for (const { name } of tables) {
    const rows = await fixture.owner.unsafe(`SELECT 1 FROM ${name} AS row WHERE row::text ILIKE $1 LIMIT 1`, [
      `%${text}%`,
    ]);
    if (rows.length > 0) matches.push(name);
  }
  return matches;
}
