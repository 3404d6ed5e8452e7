import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiOf, expectApiError, newClient, type OtherClient } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/journey.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';
import { isWebhookRegistration, no_credentials, type Operation, operationsOf } from '../support/publishedOperations.ts';

let fixture: TestSandbox;
let other: OtherClient;
let foreign_token: string;
let v1: Operation[];
let link: Operation[];
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await pauseSyncs(fixture);
  other = await newClient(fixture);
  foreign_token = await other.api.link({ user_id: 'foreign-user', org_id: 'foreign-org', staff: 1 });
  v1 = await operationsOf(fixture.api, '/v1/');
  link = await operationsOf(fixture.api, '/link/');
});
afterAll(() => fixture.close());

type Headers = Record<string, string | null>;
const send = ({ method, url }: Operation, headers: Headers = {}) => fixture.api.call(method, url, { headers });
const registration = () => v1.filter(isWebhookRegistration);
const ofAccounts = () => v1.filter((each) => !isWebhookRegistration(each));

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
      expectApiError(await send(operation, { access_token }), 401, 'Missing access_token header.');
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
  const api = apiOf(fixture, { access_token });
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
  const made = await fixture.api.call('POST', '/v1/webhook', { body, headers });
  expect(made.status).toBe(200);
  for (const { method, path, takes_body } of registration()) {
    const url = path.replace(/\{\w+\}/, made.body.webhook_id);
    if (method === 'DELETE') continue;
    const sent = method === 'POST' && path === '/v1/webhook' ? { body } : takes_body ? { body: {} } : {};
    expect((await fixture.api.call(method, url, { ...sent, headers })).status, `${method} ${path}`).toBe(200);
  }
  const gone = await fixture.api.call('DELETE', `/v1/webhook/${made.body.webhook_id}`, { headers });
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
