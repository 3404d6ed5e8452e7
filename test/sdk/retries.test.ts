import { inspect } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import { Chartwire } from '../../sdk/src/client.ts';
import { ConnectionError, RateLimitError, TimeoutError } from '../../sdk/src/errors.ts';
import { type ReceivedResponse, readResponse, type SentRequest } from '../../sdk/src/transport.ts';
import { startFlakyServer } from './flakyServer.ts';

afterEach(() => vi.unstubAllEnvs());

const credentials = { clientId: 'ci_test_a', clientSecret: 'cs_test_b', accessToken: 'c' };
const accepted = { status: 200, body: { success: true, message: 'Queued.', job_id: 7 } };

test('a write is sent again after 503, 502 and a lost connection, with the same idempotency key', async () => {
  const { baseUrl, requests } = await startFlakyServer([{ status: 503 }, { status: 502 }, 'hang up', accepted]);
  const client = new Chartwire({ ...credentials, baseUrl });
  await expect(client.sync.create()).resolves.toMatchObject({ job_id: 7 });
  expect(requests).toHaveLength(4);
  const keys = new Set(requests.map(({ headers }) => headers['idempotency-key']));
  expect(keys.size).toBe(1);
  expect([...keys][0]).toMatch(/^[0-9a-f]{32}$/);
  await client.sync.create();
  expect(requests[4]?.headers['idempotency-key']).not.toBe(requests[0]?.headers['idempotency-key']);
});

test('a search is sent again too, without an idempotency key, and with nothing in its URL', async () => {
  const page = { success: true, patients: [], pagination: { page: 1, total_pages: 1 } };
  const { baseUrl, requests } = await startFlakyServer([{ status: 503 }, 'hang up', { status: 200, body: page }]);
  await new Chartwire({ ...credentials, baseUrl }).patients.search({ last_name: 'Testpatient' });
  expect(requests).toHaveLength(3);
  for (const { method, url, headers, body } of requests) {
    expect([method, url, headers['idempotency-key']]).toStrictEqual(['POST', '/v1/patients/search', undefined]);
    expect(JSON.parse(body)).toStrictEqual({ last_name: 'Testpatient' });
  }
});

test('what is not given comes from the environment, and its token only with its client', async () => {
  const { baseUrl, requests } = await startFlakyServer([accepted]);
  expect(() => new Chartwire()).toThrow(/needs baseUrl, or the variable CHARTWIRE_BASE_URL\.$/);
  vi.stubEnv('CHARTWIRE_BASE_URL', baseUrl);
  vi.stubEnv('CHARTWIRE_CLIENT_ID', 'ci_env');
  vi.stubEnv('CHARTWIRE_CLIENT_SECRET', 'cs_env');
  vi.stubEnv('CHARTWIRE_ACCESS_TOKEN', 'at_env');
  await new Chartwire().sync.create();
  await new Chartwire({ clientId: 'ci_other', clientSecret: 'cs_other' }).sync.create();
  expect(requests.map(({ headers }) => [headers['client-id'], headers['access-token']])).toStrictEqual([
    ['ci_env', 'at_env'],
    ['ci_other', undefined],
  ]);
  const shown = inspect(new Chartwire());
  expect(shown).toBe(`Chartwire { baseUrl: '${baseUrl}', clientId: 'ci_env', hasAccessToken: true }`);
});

test('hooks and a logger see each attempt, without MRNs, bodies and credentials, and cannot break a request', async () => {
  const { baseUrl } = await startFlakyServer([{ status: 503 }, { ...accepted, headers: { 'x-request-id': 'r2' } }]);
  const lines: string[] = [];
  const seen: (SentRequest | ReceivedResponse)[] = [];
  const client = new Chartwire({
    ...credentials,
    baseUrl,
    logger: { debug: (line) => lines.push(line), warn: (line) => lines.push(line) },
    onRequest: (request) => {
      seen.push(request);
      throw new Error('LK100001');
    },
    onResponse: (response) => seen.push(response),
  });
  const created = await client.patients.insurances.create('LK100001', { member_id: 'M1', insurance_name: 'Gold' });
  const route = '/v1/patients/{patient_mrn}/insurances';
  expect(seen).toMatchObject([
    { method: 'POST', route, attempt: 1 },
    { attempt: 1, status: 503 },
    { attempt: 2 },
    { attempt: 2, status: 200, requestId: 'r2' },
  ]);
  expect(readResponse(created)).toMatchObject({ status: 200, requestId: 'r2' });
  expect(client.lastResponse?.headers.get('x-request-id')).toBe('r2');
  expect(lines).toContainEqual(expect.stringMatching(/^POST .*: 503\. Sent again in \d+ ms\.$/));
  expect(lines).toContainEqual(expect.stringMatching(/: 200 in \d+ ms, request r2$/));
  expect(lines).toContainEqual('A hook has thrown Error.');
  expect(lines.join()).not.toMatch(/LK100001|M1|Gold|cs_test_b|at_/);
});

test('retry-after is honored', async () => {
  const { baseUrl, requests } = await startFlakyServer([{ status: 429, headers: { 'retry-after': '2' } }, accepted]);
  const started = Date.now();
  await new Chartwire({ ...credentials, baseUrl }).sync.create();
  expect(requests).toHaveLength(2);
  // Node's timers may fire a millisecond early.
  expect(Date.now() - started).toBeGreaterThanOrEqual(1998);
});

test('a retry-after beyond the timeout is thrown at once, with its seconds', async () => {
  const { baseUrl, requests } = await startFlakyServer([{ status: 429, headers: { 'retry-after': '3600' } }]);
  const error = await new Chartwire({ ...credentials, baseUrl }).sync.create().catch((each: unknown) => each);
  expect(error).toBeInstanceOf(RateLimitError);
  expect(error).toMatchObject({ status: 429, retryAfterSeconds: 3600, code: 'some_code' });
  expect(requests).toHaveLength(1);
});

test('an error of the request is not sent again', async () => {
  const { baseUrl, requests } = await startFlakyServer([{ status: 400 }]);
  await expect(new Chartwire({ ...credentials, baseUrl }).sync.create()).rejects.toThrow('Not now.');
  expect(requests).toHaveLength(1);
});

test('a write whose earlier attempt is still running waits for it', async () => {
  const running = { status: 409, body: { success: false, message: 'Running.', code: 'idempotency_key_running' } };
  const { baseUrl, requests } = await startFlakyServer(['hang up', running, accepted]);
  await new Chartwire({ ...credentials, baseUrl }).sync.create();
  expect(requests).toHaveLength(3);
});

test('a deletion with an unknown outcome is not sent again', async () => {
  const { baseUrl, requests } = await startFlakyServer(['hang up']);
  await expect(new Chartwire({ ...credentials, baseUrl }).account.delete()).rejects.toBeInstanceOf(ConnectionError);
  expect(requests).toHaveLength(1);
});

test('a service that does not respond ends in a TimeoutError, and a signal in its reason', async () => {
  const { baseUrl } = await startFlakyServer(['wait']);
  const client = new Chartwire({ ...credentials, baseUrl });
  await expect(client.settings.get({ timeoutMs: 50 })).rejects.toBeInstanceOf(TimeoutError);
  const controller = new AbortController();
  const request = client.settings.get({ signal: controller.signal });
  controller.abort(new Error('The user left.'));
  await expect(request).rejects.toThrow('The user left.');
});

test('an unreachable service and one that is not Chartwire are named with a remedy, without credentials', async () => {
  const gone = new Chartwire({ ...credentials, baseUrl: 'http://127.0.0.1:1', retriesMax: 0 });
  const error = await gone.settings.get().catch((each: Error) => each);
  expect(String(error)).toBe(
    'ConnectionError: Chartwire cannot be reached at http://127.0.0.1:1. Check baseUrl and the network.',
  );
  const { baseUrl } = await startFlakyServer([{ status: 404, body: 'Not here' }]);
  await expect(new Chartwire({ ...credentials, baseUrl }).settings.get()).rejects.toThrow(
    'GET /v1/settings returned status 404, but the error is not from Chartwire. Check baseUrl, and any proxy in between.',
  );
});

test('a redirect is not followed, because it would send the credentials to another place', async () => {
  const other = await startFlakyServer([accepted]);
  const { baseUrl } = await startFlakyServer([{ status: 307, headers: { location: `${other.baseUrl}/v1/sync` } }]);
  await expect(new Chartwire({ ...credentials, baseUrl }).sync.create()).rejects.toMatchObject({ status: 307 });
  expect(other.requests).toStrictEqual([]);
});
