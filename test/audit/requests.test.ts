import type { FastifyRequest } from 'fastify';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { loggedRequest } from '../../src/http/requestLog.ts';
import { createMetrics } from '../../src/platform/telemetry/metrics.ts';
import { insertRequests, openRequestLog, type RequestRow, rotateRequests } from '../../src/product/audit/requests.ts';
import { requestsList } from '../../src/surfaces/dashboard/requests/endpoints.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture.close());

/** The log is written after the response, so it may lag behind. */
const list = async (query: string, count: number): Promise<RequestRow[]> => {
  const rows = async () => (await operator.get(`requests?${query}`)).body.rows;
  await expect.poll(rows).toHaveLength(count);
  return rows();
};

test('a request is found by its id, with caller, endpoint and status', async () => {
  const response = await fixture.api.call('GET', '/v1/patients?mrn=LK100001');
  const id = response.headers.get('x-request-id');
  const [row] = await list(`id=${id}`, 1);
  expect(row).toStrictEqual({
    id,
    at: expect.any(String),
    client_id: fixture.sandbox.client_id,
    client_name: 'Sandbox',
    account: fixture.sandbox.access_token_reference_id,
    endpoint: 'patients.list',
    method: 'GET',
    status: 200,
    duration_ms: expect.any(Number),
    code: null,
    path: null,
    field: null,
    job_id: null,
    response_bytes: Number(response.headers.get('content-length')),
    sent_path: '/v1/patients',
    message: null,
    remedy: null,
  });
  const { body } = await operator.get('requests');
  expect(Compile(requestsList.response).Errors(body)).toStrictEqual([]);
});

describe('a request of a client or a practice', () => {
  const fields = { endpoint: 'staff.list', method: 'GET', status: 200, duration_ms: 1, code: null, path: null };
  const details = { response_bytes: null, message_values: null, sent_path: null };
  const request = { ...fields, ...details, field: null, job_id: null, client_id: null, account_id: null };
  let client_id = '';
  let account_id = '';
  beforeAll(async () => {
    const [row] = await fixture.owner<{ client_id: string; account_id: string }[]>`
      SELECT clients.id AS client_id, accounts.id AS account_id FROM clients JOIN accounts ON client_id = clients.id
       WHERE public_id = ${fixture.sandbox.client_id} LIMIT 1`;
    if (row) ({ client_id, account_id } = row);
  });

  /** Stores requests and returns the ids of those that are stored in the end. */
  async function store(requests: { id: string; client_id: string; account_id: string | null }[], during: string) {
    const insert = () =>
      insertRequests(
        fixture.ctx.db.system.pooled,
        requests.map((each) => ({ ...request, ...each })),
      );
    await fixture.owner.begin(async (tx) => {
      await tx.unsafe(during);
      await insert();
    });
    const ids = requests.map(({ id }) => id);
    const rows = await fixture.owner<{ id: string }[]>`SELECT id FROM requests WHERE id = ANY (${ids}::uuid[])`;
    return rows.map(({ id }) => id);
  }

  test('a request of a client or a practice that was erased meanwhile is not stored', async () => {
    const [stored, of_client, of_account] = [newId(), newId(), newId()];
    const requests = [
      { id: stored, client_id, account_id },
      { id: of_client, client_id: newId(), account_id: null },
      { id: of_account, client_id, account_id: newId() },
    ];
    expect(await store(requests, 'SELECT 1')).toStrictEqual([stored]);
  });

  test('a request of a client or a practice that is being erased is not stored, and does not delay others', async () => {
    const [of_client, of_account] = [newId(), newId()];
    const requests = [
      { id: of_client, client_id, account_id: null },
      { id: of_account, client_id, account_id },
    ];
    const lockAccount = `SELECT FROM accounts WHERE id = '${account_id}' FOR UPDATE`;
    expect(await store(requests, lockAccount)).toStrictEqual([of_client]);
    const lockClient = `SELECT FROM clients WHERE id = '${client_id}' FOR UPDATE`;
    expect(await store([{ id: newId(), client_id, account_id: null }], lockClient)).toStrictEqual([]);
  });
});

test('failed requests are found by status, with their error codes, including unauthenticated ones', async () => {
  const unknown = await fixture.api.call('GET', '/v1/jobs/999999');
  const unauthenticated = await fixture.api.call('GET', '/v1/staff', { headers: { client_secret: 'wrong' } });
  const failed = await list('status=failed', 2);
  expect(failed.map(({ id, status, code, client_id }) => [id, status, code, client_id])).toStrictEqual([
    [unauthenticated.headers.get('x-request-id'), 401, 'client_credentials_invalid', null],
    [unknown.headers.get('x-request-id'), 404, 'record_not_found', fixture.sandbox.client_id],
  ]);
  expect(await list('status=4xx&endpoint=jobs.get', 1)).toMatchObject([{ status: 404 }]);
  await list('status=5xx', 0);
  await list(`status=failed&client_id=${fixture.sandbox.client_id}`, 1);
  await list('duration_ms_min=600000', 0);
});

test('an error names the declared field, and a write its job', async () => {
  const refused = await fixture.api.call('POST', '/v1/telephone-encounters', { body: { patient_mrn: 'LK100001' } });
  const accepted = await fixture.api.callIn();
  const of = async ({ headers }: typeof refused) => (await list(`id=${headers.get('x-request-id')}`, 1))[0];
  expect(await of(refused)).toMatchObject({ code: 'missing_field', field: refused.body.field, job_id: null });
  expect(await of(accepted)).toMatchObject({ code: null, field: null, job_id: accepted.body.job_id });
  const planted = await fixture.api.call('GET', '/v1/patients?PLANTED-NAME=1');
  expect(await of(planted)).toMatchObject({ code: 'unexpected_query', field: null });
});

test('requests to unknown routes are found by id, with every unknown part of the path masked', async () => {
  const response = await fixture.api.call('GET', '/v1/Patient/LK100001/PLANTED-NAME?q=PLANTED');
  expect(response.status).toBe(404);
  const [row] = await list(`id=${response.headers.get('x-request-id')}`, 1);
  expect(row).toMatchObject({ status: 404, code: 'route_not_found', path: '/v1/Patient/{…}/{…}', client_id: null });
});

test('stores the path that was sent in the sandbox only, and never of Link', () => {
  const options = { maskPath: () => '/v1/{…}', sandbox: false };
  const fields = { endpoint: 'unknown', status: 404, duration_ms: 1, response_bytes: null };
  const sentPath = (url: string, sandbox: boolean) => {
    const request = { id: newId(), method: 'GET', url } as FastifyRequest;
    return loggedRequest(request, undefined, fields, { ...options, sandbox }).sent_path;
  };
  expect(sentPath('/v1/patients/LK100001?q=PLANTED', true)).toBe('/v1/patients/LK100001');
  expect(sentPath('/v1/patients/LK100001?q=PLANTED', false)).toBeNull();
  expect(sentPath('/link/PLANTED', true)).toBeNull();
});

test('an error is explained without holes: its message if all of it is ours, and what to do', async () => {
  const of = async ({ headers }: { headers: Headers }) => (await list(`id=${headers.get('x-request-id')}`, 1))[0];
  const incomplete = await fixture.api.call('POST', '/v1/telephone-encounters', { body: { patient_mrn: 'LK100001' } });
  expect(await of(incomplete)).toMatchObject({ message: incomplete.body.message, remedy: incomplete.body.remedy });
  // Whoever sent this ID could have sent a name instead.
  const unknown = await fixture.api.call('GET', '/v1/jobs/999999');
  expect(await of(unknown)).toMatchObject({ message: null, remedy: unknown.body.remedy });
  const method = await fixture.api.call('DELETE', '/v1/patients');
  expect(await of(method)).toMatchObject({ message: method.body.message });
});

test('finds requests by a part of their path, by their id, and by time', async () => {
  const response = await fixture.api.call('GET', '/v1/no-such-list/PLANTED');
  const id = response.headers.get('x-request-id') ?? '';
  const [row] = await list('search=NO-SUCH-LIST', 1);
  expect(row).toMatchObject({ id, sent_path: '/v1/no-such-list/PLANTED' });
  expect(await list(`search=${id}`, 1)).toMatchObject([{ id }]);
  expect((await operator.get('requests?search=pharmacies')).body.rows).toStrictEqual([]);
  await fixture.api.call('GET', '/v1/pharmacies');
  await list('search=/v1/pharm', 1);
  const at = row?.at ?? '';
  await list(`search=no-such-list&from=${at}`, 1);
  await list(`search=no-such-list&to=${at}`, 0);
});

test('the support role cannot search sent paths', async () => {
  const response = await fixture.api.call('GET', '/v1/no-such-list/HIDDEN-NAME');
  const id = response.headers.get('x-request-id');
  await list('search=hidden-name', 1);
  const support = await newOperator(fixture, 'support');
  const search = async (text: string) => (await support.get(`requests?search=${text}`)).body.rows;
  expect(await search('hidden-name')).toStrictEqual([]);
  expect(await search(`${id}`)).toMatchObject([{ id, path: '/v1/{…}/{…}', sent_path: '•••' }]);
});

test('is paginated without gaps', async () => {
  for (let n = 0; n < 5; n++) await fixture.api.call('GET', '/v1/visit-types');
  const all = await list('endpoint=visit-types.list', 5);
  const first = await operator.get('requests?endpoint=visit-types.list&page_size=3');
  const second = await operator.get(`requests?endpoint=visit-types.list&page_size=3&before=${first.body.next}`);
  expect([...first.body.rows, ...second.body.rows]).toStrictEqual(all);
  expect(second.body.next).toBeNull();
});

test('contains no query, body or patient data, except for paths in the sandbox', async () => {
  const responses = [
    await fixture.api.callIn({ reason: 'PLANTED-REASON', caller: 'PLANTED-CALLER' }),
    await fixture.api.call('GET', '/v1/patients?last_name=PLANTED-NAME&mrn=LK100001'),
  ];
  for (const { headers } of responses) await list(`id=${headers.get('x-request-id')}`, 1);
  const [text] = await fixture.owner<{ content: string }[]>`
    SELECT string_agg((to_jsonb(requests) - 'sent_path')::text, '') AS content FROM requests`;
  expect(text?.content).not.toMatch(/PLANTED|LK1000/);
});

describe('after the retention period', () => {
  const days = () => fixture.ctx.config.requests_days;
  const rotate = () => rotateRequests(fixture.ctx.db.system.pooled, days());
  const insertAt = async (ago: string): Promise<string> => {
    const [row] = await fixture.owner<{ id: string }[]>`
      INSERT INTO requests (id, at, endpoint, method, status, duration_ms)
      SELECT first_id_at(now() - ${ago}::interval), now() - ${ago}::interval, 'test.old', 'GET', 200, 1 RETURNING id`;
    return row?.id ?? '';
  };
  const remaining = async () =>
    (await fixture.owner<{ id: string }[]>`SELECT id FROM requests WHERE endpoint = 'test.old' ORDER BY id DESC`).map(
      ({ id }) => id,
    );
  const partitions = async () =>
    (
      await fixture.owner<{ name: string }[]>`
        SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
         WHERE inhparent = 'requests'::regclass ORDER BY 1`
    ).map(({ name }) => name);

  test('requests are deleted from the partition of days that nobody prepared', async () => {
    const kept = await insertAt(`${days() - 1} days`);
    await insertAt(`${days() + 1} days`);
    expect(await rotate()).toBe(0);
    expect(await remaining()).toStrictEqual([kept]);
    await fixture.owner`DELETE FROM requests WHERE id = ${kept}`;
  });

  test('whole days are dropped, and the next ones are prepared by one of two processes', async () => {
    const old = `${days() + 2} days`;
    const day = async (name: string, ago: string) => {
      const [bounds] = await fixture.owner<{ start: string; end: string }[]>`
        SELECT first_id_at(now() - ${ago}::interval - interval '1 hour') AS start,
               first_id_at(now() - ${ago}::interval + interval '1 hour') AS end`;
      await fixture.owner.unsafe(`CREATE TABLE partitions.${name} PARTITION OF requests
        FOR VALUES FROM ('${bounds?.start}') TO ('${bounds?.end}')`);
    };
    await day('requests_expired', old);
    await day('requests_kept', '2 days');
    await insertAt(old);
    const kept = await insertAt('2 days');
    const dropped = await Promise.all([rotate(), rotate()]);
    expect(dropped.sort()).toStrictEqual([0, 1]);
    expect(await remaining()).toStrictEqual([kept]);
    const names = await partitions();
    expect(names).toContain('requests_kept');
    expect(names).not.toContain('requests_expired');
    // Today, tomorrow and the day after, and what belongs to no day.
    expect(names.filter((name) => /^requests_\d{8}$/.test(name))).toHaveLength(3);
    const id = (await fixture.api.call('GET', '/v1/staff')).headers.get('x-request-id');
    await list(`id=${id}`, 1);
  });
});

const anonymous = {
  client_id: null,
  account_id: null,
  method: 'GET',
  status: 401,
  duration_ms: 1,
  code: null,
  path: null,
  field: null,
  job_id: null,
  response_bytes: null,
  message_values: null,
  sent_path: null,
};

test('unauthenticated requests are limited to 5,000 per hour', async () => {
  const metrics = createMetrics();
  let second = 1;
  const log = openRequestLog({ db: fixture.ctx.db, metrics }, () => second * 1000);
  for (; second <= 300; second++) {
    for (let n = 0; n < 20; n++) log.add({ ...anonymous, id: newId(), endpoint: 'test.flood' });
  }
  await log.close();
  const [stored] = await fixture.owner<{ n: number }[]>`
    SELECT count(*)::int AS n FROM requests WHERE endpoint = 'test.flood'`;
  expect(stored?.n).toBe(5_000);
});

test('unauthenticated requests are limited to 20 per second, and omitted ones are counted', async () => {
  const metrics = createMetrics();
  let second = 0;
  const log = openRequestLog({ db: fixture.ctx.db, metrics }, () => second * 1000);
  for (second = 1; second <= 2; second++) {
    for (let n = 0; n < 50; n++) log.add({ ...anonymous, id: newId(), endpoint: 'test.unauthenticated' });
  }
  await log.close();
  await list('endpoint=test.unauthenticated', 40);
  const { values } = await metrics.requests_unlogged.get();
  expect(values[0]?.value).toBe(60);
});

test('requests succeed even if the log cannot be written, and omitted ones are counted', async () => {
  await fixture.owner`REVOKE INSERT ON requests FROM chartwire_system`;
  const omitted = async () => (await fixture.ctx.metrics.requests_unlogged.get()).values[0]?.value ?? 0;
  const before = await omitted();
  try {
    expect((await fixture.api.call('GET', '/v1/staff')).status).toBe(200);
    await expect.poll(omitted).toBe(before + 1);
  } finally {
    await fixture.owner`GRANT INSERT ON requests TO chartwire_system`;
  }
});
