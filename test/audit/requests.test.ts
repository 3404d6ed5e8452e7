import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRequestLog } from '../../src/audit/openRequestLog.ts';
import { purgeRequests } from '../../src/audit/requests.ts';
import { requestsList } from '../../src/dashboard/requests.ts';
import { newId } from '../../src/ids.ts';
import { openMetrics } from '../../src/metrics.ts';
import type { RequestRow } from '../../src/model/dashboard/requests.ts';
import { openOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  world = await startSandbox({ small: true });
  operator = await openOperator(world);
});
afterAll(() => world.close());

/** The log does not hold up answers, so it may be a moment behind them. */
const list = async (query: string, count: number): Promise<RequestRow[]> => {
  const rows = async () => (await operator.get(`requests?${query}`)).body.rows;
  await expect.poll(rows).toHaveLength(count);
  return rows();
};

test('a request is found by its id, with who asked, what for, and how it was answered', async () => {
  const answer = await world.api.call('GET', '/v1/patients?mrn=LK100001');
  const id = answer.headers.get('x-request-id');
  const [row] = await list(`id=${id}`, 1);
  expect(row).toStrictEqual({
    id,
    at: expect.any(String),
    client_id: world.sandbox.client_id,
    client_name: 'Sandbox',
    account: world.sandbox.access_token_reference_id,
    endpoint: 'patients.list',
    method: 'GET',
    status: 200,
    duration_ms: expect.any(Number),
    code: null,
  });
  const { body } = await operator.get('requests');
  expect(Compile(requestsList.response).Errors(body)).toStrictEqual([]);
});

test('failures are found by their status, with the code of the error, also those of strangers', async () => {
  const unknown = await world.api.call('GET', '/v1/jobs/999999');
  const stranger = await world.api.call('GET', '/v1/staff', { headers: { client_secret: 'wrong' } });
  const failed = await list('status=failed', 2);
  expect(failed.map(({ id, status, code, client_id }) => [id, status, code, client_id])).toStrictEqual([
    [stranger.headers.get('x-request-id'), 401, 'client_credentials_invalid', null],
    [unknown.headers.get('x-request-id'), 404, 'record_not_found', world.sandbox.client_id],
  ]);
  expect(await list('status=4xx&endpoint=jobs.get', 1)).toMatchObject([{ status: 404 }]);
  await list('status=5xx', 0);
  await list(`status=failed&client_id=${world.sandbox.client_id}`, 1);
  await list('duration_ms_min=600000', 0);
});

test('pages follow one another without a gap', async () => {
  for (let n = 0; n < 5; n++) await world.api.call('GET', '/v1/visit-types');
  const whole = await list('endpoint=visit-types.list', 5);
  const first = await operator.get('requests?endpoint=visit-types.list&page_size=3');
  const second = await operator.get(`requests?endpoint=visit-types.list&page_size=3&before=${first.body.next}`);
  expect([...first.body.rows, ...second.body.rows]).toStrictEqual(whole);
  expect(second.body.next).toBeNull();
});

test('holds no address, no body, nothing of a patient', async () => {
  await world.api.callIn({ reason: 'PLANTED-REASON', caller: 'PLANTED-CALLER' });
  await world.api.call('GET', '/v1/patients?last_name=PLANTED-NAME&mrn=LK100001');
  await list('endpoint=telephone-encounters.create', 1);
  const [text] = await world.owner<{ whole: string }[]>`
    SELECT string_agg(row_to_json(requests)::text, '') AS whole FROM requests`;
  expect(text?.whole).not.toMatch(/PLANTED|LK1000|\/v1\//);
});

test('goes after its days', async () => {
  const answer = await world.api.call('GET', '/v1/staff');
  const id = answer.headers.get('x-request-id') ?? '';
  await list(`id=${id}`, 1);
  await world.owner`UPDATE requests SET at = now() - interval '8 days' WHERE id = ${id}`;
  expect(await purgeRequests(world.ctx.db.system, world.ctx.config.requests_days)).toBe(1);
  await list(`id=${id}`, 0);
});

test('strangers fill it no faster than 20 a second, and what is left out is counted', async () => {
  const metrics = openMetrics();
  let second = 0;
  const log = openRequestLog({ db: world.ctx.db, metrics }, () => second * 1000);
  const stranger = { client_id: null, account_id: null, method: 'GET', status: 401, duration_ms: 1, code: null };
  for (second = 1; second <= 2; second++) {
    for (let n = 0; n < 50; n++) log.add({ ...stranger, id: newId(), endpoint: 'test.strangers' });
  }
  await log.close();
  await list('endpoint=test.strangers', 40);
  const { values } = await metrics.requests_unlogged.get();
  expect(values[0]?.value).toBe(60);
});

test('without its table requests are answered all the same, and the loss is counted', async () => {
  await world.owner`REVOKE INSERT ON requests FROM chartwire_system`;
  const lost = async () => (await world.ctx.metrics.requests_unlogged.get()).values[0]?.value ?? 0;
  const before = await lost();
  try {
    expect((await world.api.call('GET', '/v1/staff')).status).toBe(200);
    await expect.poll(lost).toBe(before + 1);
  } finally {
    await world.owner`GRANT INSERT ON requests TO chartwire_system`;
  }
});
