import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { rateLimiter } from '../../../src/http/limits/rateLimit.ts';
import { startService } from '../../../src/main.ts';
import { apiAs, expectApiError, newClient, raw } from '../../api/support.ts';
import type { Api, ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';
import { readOperations } from '../support/publishedOperations.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  // The default limits.
  fixture = await startSandbox({ env: { RATE_LIMIT: '', RATE_BURST: '' } });
  await pauseSyncs(fixture);
});
afterAll(() => fixture.close());

const send = (api: Api) => api.call('GET', '/link/emrs', { headers: { access_token: null } });

/** Starts a process with its own limits; one client sends `times` requests at once, and another client one. */
async function flood(
  env: Record<string, string>,
  times: number,
): Promise<{ responses: ApiResponse[]; other: ApiResponse }> {
  const config = loadConfig({ ...fixture.env, PORT: '0', ...env });
  const { base_url, close } = await startService(config, { role: 'api', print: () => {} });
  try {
    const there = { ...fixture, sandbox: { ...fixture.sandbox, base_url } };
    const [client, another] = [await newClient(fixture), await newClient(fixture)];
    const responses = await Promise.all(Array.from({ length: times }, () => send(apiAs(there, client))));
    return { responses, other: await send(apiAs(there, another)) };
  } finally {
    await close();
  }
}

test(row('LIM-07'), async () => {
  for (const page_size of [999, 1000]) {
    const { status, body } = await fixture.api.call('GET', `/v1/claims?page_size=${page_size}`);
    expect(status).toBe(200);
    expect(body.claims).toHaveLength(page_size);
    expect(body.pagination.page_size).toBe(page_size);
  }
  const response = await fixture.api.call('GET', '/v1/claims?page_size=1001');
  expectApiError(response, 400, 'page_size must be at most 1000', 'page_size');
});

test(row('DEC-061'), async () => {
  const { responses, other } = await flood({ RATE_LIMIT: '1', RATE_BURST: '2' }, 12);
  const refused = responses.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, headers } of refused) {
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  }
  expect(responses.length - refused.length).toBeGreaterThanOrEqual(2);
  expect(other.status).toBe(200);
});

test(row('DEC-062'), async () => {
  const { responses } = await flood({ RATE_LIMIT: '1', RATE_BURST: '1' }, 8);
  const refused = responses.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const response of refused) expectApiError(response, 429, 'Rate limit exceeded.');
});

test(row('DEC-358'), async () => {
  const { client_id, client_secret, access_token, base_url, example } = fixture.sandbox;
  const { patient_mrn, provider_id, location_id, assigned_to_id } = example;
  const written = JSON.stringify({ patient_mrn, provider_id, location_id, assigned_to_id });
  const before = await countAcceptedWork(fixture);
  for (const [bytes, status] of [
    [1_048_575, 200],
    [1_048_576, 200],
    [1_048_577, 413],
  ] as const) {
    const body = written.replace('{', `{${' '.repeat(bytes - written.length)}`);
    expect(Buffer.byteLength(body)).toBe(bytes);
    const json = { 'content-type': 'application/json', 'content-length': `${bytes}` };
    const headers = { client_id, client_secret, access_token, ...json };
    const response = await raw(base_url, { method: 'POST', path: '/v1/telephone-encounters', headers, body });
    expect(response.status, `${bytes}`).toBe(status);
    if (status === 413) expect(JSON.parse(response.text).message).toBe('Request body exceeds 1 MB.');
  }
  expect((await countAcceptedWork(fixture)).jobs).toBe((before.jobs ?? 0) + 2);
});

test(row('DEC-359'), async () => {
  const client = await newClient(fixture);
  const { headers } = await send(client.api);
  expect([headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toStrictEqual(['200', '199']);
  // Limits are per client.
  const other = await send((await newClient(fixture)).api);
  expect(other.headers.get('ratelimit-remaining')).toBe('199');
  // The same limiter with a fake clock: how many requests it allows so long after the burst was used up.
  const { rate_limit, rate_burst } = fixture.ctx.config;
  const grantedAfter = (ms: number) => {
    let now = 0;
    const limit = rateLimiter(rate_limit, rate_burst, () => now);
    const granted = () => Array.from({ length: 300 }, () => limit('a').allowed).filter(Boolean).length;
    expect(granted()).toBe(200);
    expect(limit('b').remaining).toBe(199);
    now = ms;
    return granted();
  };
  expect([0, 9, 10, 1000, 2000, 3_600_000].map(grantedAfter)).toStrictEqual([0, 0, 1, 100, 200, 200]);
});

test(row('DEC-360'), async () => {
  const { responses } = await flood({ RATE_LIMIT: '3', RATE_BURST: '7' }, 1);
  const [headers] = responses.map((response) => response.headers);
  expect([headers?.get('ratelimit-limit'), headers?.get('ratelimit-remaining')]).toStrictEqual(['7', '6']);
});

test(row('DEC-361'), async () => {
  for (const { method, url } of await readOperations(fixture.api, '/v1/', '/link/')) {
    const { headers } = await fixture.api.call(method, url);
    for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']) {
      expect(headers.get(name), `${method} ${url} ${name}`).toMatch(/^\d+$/);
    }
    const [limit, remaining] = ['limit', 'remaining'].map((name) => Number(headers.get(`ratelimit-${name}`)));
    expect(remaining).toBeLessThanOrEqual(limit ?? 0);
  }
});

test(row('DEC-362'), async () => {
  const { org_id } = fixture.sandbox;
  const rule = (field: string) => `${field} exceeds maximum length of 32000 characters`;
  for (const [path, field, body] of [
    ['/v1/telephone-encounters', 'message', fixture.sandbox.example],
    ['/v1/telephone-encounters', 'patient_mrn', fixture.sandbox.example],
    ['/v1/telephone-encounters', 'template_name', fixture.sandbox.example],
    ['/v1/telephone-encounters/actions', 'text', { emr_appointment_id: '30001' }],
    ['/v1/patients/fetch', 'mrn', { search_by: 'mrn' }],
    ['/link/token/create', 'emr_name', { org_id, user_id: 'u' }],
  ] as const) {
    for (const letter of ['x', 'é', '€']) {
      for (const length of [31_999, 32_000]) {
        const sent = { ...body, [field]: letter.repeat(length) };
        const { status, body: response } = await fixture.api.call('POST', path, { body: sent });
        if (field === 'emr_name') expect(response.message).toContain('is not supported');
        else expect(status, `${path} ${field}`).toBe(200);
      }
      const before = await countAcceptedWork(fixture);
      const sent = { ...body, [field]: letter.repeat(32_001) };
      expectApiError(await fixture.api.call('POST', path, { body: sent }), 400, rule(field), field);
      expect(await countAcceptedWork(fixture)).toStrictEqual(before);
    }
  }
});
