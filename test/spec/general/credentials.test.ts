import { beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { startService } from '../../../src/main.ts';
import { apiAs, expectApiError, newClient, type OtherClient } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { until } from '../../journeys/support.ts';
import { needsClientOnly, no_credentials, type Operation, readOperations } from '../support/publishedOperations.ts';

let fixture: TestSandbox;
let other: OtherClient;
let foreign_token: string;
let v1: Operation[];
let link: Operation[];
beforeAll(async () => {
  fixture = await sharedSandbox();
  other = await newClient(fixture);
  foreign_token = await other.api.link({ user_id: 'foreign-user', org_id: 'foreign-org', staff: 1 });
  v1 = await readOperations(fixture.api, '/v1/');
  link = await readOperations(fixture.api, '/link/');
});

type Headers = Record<string, string | null>;
const send = ({ method, url }: Operation, headers: Headers = {}) => fixture.api.call(method, url, { headers });
const registration = () => v1.filter(needsClientOnly);
const ofAccounts = () => v1.filter((each) => !needsClientOnly(each));

test(row('DEC-039'), async () => {
  for (const headers of [
    no_credentials,
    { client_id: null },
    { client_secret: null },
    { client_id: '' },
    { client_secret: '' },
  ]) {
    for (const operation of [...v1, ...link]) {
      expectApiError(await send(operation, headers), 401, 'Invalid client credentials.');
    }
  }
});

test(row('DEC-040'), async () => {
  for (const headers of [
    { client_id: 'ci_test_000000000000000000000000' },
    { client_id: "' OR 1=1 --\u00e9" },
    { client_secret: 'cs_test_wrong' },
    { client_secret: other.client_secret },
    { client_id: other.client_id },
  ]) {
    for (const operation of [...v1, ...link]) {
      expectApiError(await send(operation, headers), 401, 'Invalid client credentials.');
    }
  }
});

test(row('DEC-041'), async () => {
  for (const access_token of [null, '']) {
    for (const operation of ofAccounts()) {
      const response = await send(operation, { access_token });
      expectApiError(response, 401, 'Missing access_token header.');
      expect(response.body.code).toBe('access_token_missing');
    }
  }
});

test(row('DEC-042'), async () => {
  for (const access_token of ['nonsense', foreign_token]) {
    for (const operation of [...registration(), ...link]) {
      expectApiError(await send(operation, { access_token }), 401, 'User not found.');
    }
  }
});

test(row('DEC-043'), async () => {
  for (const access_token of ['nonsense', foreign_token, `${fixture.sandbox.access_token}x`]) {
    for (const operation of ofAccounts()) {
      expectApiError(await send(operation, { access_token }), 401, 'User not found.');
    }
  }
});

test(row('DEC-044'), async () => {
  const access_token = await fixture.api.link({ user_id: 'revoked-user', staff: 2 });
  const api = apiAs(fixture, { access_token });
  expect((await api.call('GET', '/v1/providers')).status).toBe(200);
  await fixture.owner`UPDATE accounts SET status = 'revoked' WHERE user_id = 'revoked-user'`;
  await fixture.owner`SELECT pg_notify('chartwire_access', '')`;
  await until('the token to become invalid', async () => (await api.call('GET', '/v1/providers')).status !== 200);
  for (const { method, url } of [...v1, ...link]) {
    expectApiError(await api.call(method, url), 401, 'User not found.');
  }
});

test(row('DEC-069'), async () => {
  expect(link.map(({ path }) => path).sort()).toStrictEqual(
    expect.arrayContaining(['/link/emrs', '/link/token/create', '/link/token/exchange']),
  );
  const headers = { access_token: null };
  for (const operation of link) {
    expect([200, 400], operation.path).toContain((await send(operation, headers)).status);
    for (const missing of ['client_id', 'client_secret']) {
      expect((await send(operation, { ...headers, [missing]: null })).status).toBe(401);
    }
  }
  const body = { user_id: 'two-headers', org_id: fixture.sandbox.org_id };
  expect((await fixture.api.call('POST', '/link/token/create', { body, headers })).status).toBe(200);
  expect((await fixture.api.call('GET', '/link/emrs', { headers })).status).toBe(200);
});

test(row('DEC-070'), async () => {
  const headers = { access_token: null };
  expect(registration().length).toBeGreaterThanOrEqual(5);
  const body = { webhook_url: 'http://127.0.0.1:9/two-headers' };
  const created = await fixture.api.call('POST', '/v1/webhook', { body, headers });
  expect(created.status).toBe(200);
  for (const { method, path, takes_body } of registration()) {
    const url = path.replace(/\{\w+\}/, created.body.webhook_id);
    if (method === 'DELETE' || path.includes('{job_id}')) continue;
    const change = method === 'PATCH' ? { paused: false } : {};
    const sent = method === 'POST' && path === '/v1/webhook' ? { body } : takes_body ? { body: change } : {};
    expect((await fixture.api.call(method, url, { ...sent, headers })).status, `${method} ${path}`).toBe(200);
  }
  const gone = await fixture.api.call('DELETE', `/v1/webhook/${created.body.webhook_id}`, { headers });
  expect(gone.status).toBe(200);
  for (const operation of registration()) {
    for (const missing of ['client_id', 'client_secret']) {
      expect((await send(operation, { ...headers, [missing]: null })).status).toBe(401);
    }
  }
});

test(row('DEC-071'), async () => {
  const operations = ofAccounts();
  expect(operations.map(({ path }) => path)).toStrictEqual(
    expect.arrayContaining(['/v1/webhook-events', '/v1/jobs/{job_id}']),
  );
  for (const operation of operations) {
    for (const missing of ['client_id', 'client_secret', 'access_token']) {
      expect((await send(operation, { [missing]: null })).status, `${operation.path} ${missing}`).toBe(401);
    }
    expect((await send(operation)).status, operation.path).not.toBe(401);
  }
});

test('reports invalid client credentials before an invalid access token, query or body', async () => {
  const headers = { client_secret: 'wrong', access_token: 'wrong' };
  const message = 'Invalid client credentials.';
  expectApiError(await fixture.api.call('GET', '/v1/providers?nonsense=1', { headers }), 401, message);
  expectApiError(await fixture.api.call('POST', '/v1/sync', { headers, body: '{' }), 401, message);
});

test('reports an invalid access token before errors in the body', async () => {
  const response = await fixture.api.callIn({ patient_mrn: '' }, { access_token: 'nonsense' });
  expectApiError(response, 401, 'User not found.');
});

test('responds to an unknown access token as to one of another client', async () => {
  const bodies = new Set<string>();
  for (const access_token of ['nonsense', 'x'.repeat(5000), foreign_token]) {
    const response = await fixture.api.call('GET', '/v1/providers', { headers: { access_token } });
    expectApiError(response, 401, 'User not found.');
    bodies.add(JSON.stringify({ ...response.body, request_id: '' }));
  }
  expect(bodies.size).toBe(1);
});

test('accepts the access token where it is optional', async () => {
  for (const path of ['/link/emrs', '/v1/webhook']) expect((await fixture.api.call('GET', path)).status).toBe(200);
});

test('a revoked token is rejected by every process after the notification', async () => {
  const access_token = await fixture.api.link({ user_id: 'soon-revoked', staff: 2 });
  const second = await startService(loadConfig({ ...fixture.env, PORT: '0' }), { role: 'api', print: () => {} });
  try {
    const processes = [
      apiAs(fixture, { access_token }),
      apiAs({ ...fixture, sandbox: { ...fixture.sandbox, base_url: second.base_url } }, { access_token }),
    ];
    for (const api of processes) expect((await api.call('GET', '/v1/providers')).status).toBe(200);
    await fixture.owner`UPDATE accounts SET status = 'revoked' WHERE user_id = 'soon-revoked'`;
    await fixture.owner`SELECT pg_notify('chartwire_access', '')`;
    for (const api of processes) {
      // Without a notification, a process caches a caller for 30 s.
      await expect.poll(async () => (await api.call('GET', '/v1/providers')).status, { timeout: 20_000 }).toBe(401);
      expectApiError(await api.call('GET', '/v1/providers'), 401, 'User not found.');
      expectApiError(await api.call('GET', '/v1/webhook'), 401, 'User not found.');
    }
  } finally {
    await second.close();
  }
});
