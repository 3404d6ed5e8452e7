import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Endpoint, isRead } from '../../../src/http/endpoint.ts';
import { composeExamples } from '../../../src/http/openapi/describeOperation.ts';
import { evaluateAlerts } from '../../../src/product/alerts/evaluateAlerts.ts';
import { endpoints } from '../../../src/surfaces/api/endpoints.ts';
import { apiAs, newClient, type OtherClient } from '../../api/support.ts';
import type { Api, ApiResponse } from '../../harness/api.ts';
import { signInOperator, type TestOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';
import { countAcceptedWork } from '../support/databaseState.ts';

let fixture: TestSandbox;
let owner: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox();
  owner = await signInOperator(fixture);
});
afterAll(() => fixture?.close());

type Limits = { access?: 'read_write' | 'read_only'; org_id?: string; expires_at?: string; label?: string };

const createSecret = (limits: Limits, client_id = fixture.sandbox.client_id) =>
  owner.post(`clients/${client_id}/keys`, limits);

/** The API with a limited secret and, unless told otherwise, the access token of the sandbox. */
async function apiWith(limits: Limits, access_token = fixture.sandbox.access_token): Promise<Api> {
  const { status, body } = await createSecret(limits);
  expect(status, JSON.stringify(body)).toBe(200);
  return apiAs(fixture, { client_secret: body.client_secret, access_token });
}

/** Sends the example of the reference: the secret is checked before everything that the request names. */
function send(api: Api, endpoint: Endpoint): Promise<ApiResponse> {
  const { params, query, body } = composeExamples(endpoint);
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(params[name])));
  const search = Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query as Record<string, string>)}`;
  return api.call(endpoint.method, path + search, body && !endpoint.file_field ? { body } : {});
}

const isRefused = ({ status, body }: ApiResponse) => status === 403 && body.code === 'secret_not_permitted';
const unlimited = endpoints.filter(({ stream }) => !stream);
const live_fetches = ['patients.fetch', 'appointments.fetch', 'availability.fetch'];

/** What the specification permits a read-only secret. */
function readable(endpoint: Endpoint): boolean {
  if (live_fetches.includes(endpoint.id)) return true;
  const of_webhooks = endpoint.path === '/v1/webhook' || endpoint.path.startsWith('/v1/webhook/');
  return endpoint.path.startsWith('/v1/') && isRead(endpoint) && !endpoint.returns_secret && !of_webhooks;
}

test(row('SCS-01'), async () => {
  const api = await apiWith({ access: 'read_only' });
  const before = await countAcceptedWork(fixture);
  for (const each of unlimited.filter((each) => !readable(each))) {
    expect(isRefused(await send(api, each)), each.id).toBe(true);
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  for (const each of unlimited.filter(readable)) {
    const { status, body } = await send(api, each);
    expect([200, 202, 400, 404], `${each.id} ${JSON.stringify(body)}`).toContain(status);
  }
  expect((await api.call('GET', '/v1/patients')).body.patients.length).toBeGreaterThan(0);
  const search = await api.call('POST', '/v1/patients/search', { body: { mrn: fixture.sandbox.example.patient_mrn } });
  expect(search.body.patients).toHaveLength(1);
  const { body } = await api.call('POST', '/v1/patients', { body: {} });
  expect(body).toMatchObject({
    code: 'secret_not_permitted',
    message: 'This client secret does not permit the request: it is read-only.',
  });
  expect((await (await apiWith({})).callIn()).status).toBe(200);
});

test(row('SCS-02'), async () => {
  const { org_id } = fixture.sandbox;
  const other_token = await fixture.api.link({ user_id: 'elsewhere', org_id: 'elsewhere', staff: 2 });
  const colleague = await fixture.api.link({ user_id: 'colleague', org_id, staff: 3 });
  const { client_secret } = (await createSecret({ org_id })).body;
  const { access_token: own_token, client_id, base_url } = fixture.sandbox;
  const api = apiAs(fixture, { client_secret, access_token: own_token });
  expect((await api.callIn()).status).toBe(200);
  expect((await api.call('GET', '/v1/jobs')).body.jobs.length).toBeGreaterThan(0);
  expect((await api.call('GET', '/v1/jobs', { headers: { access_token: colleague } })).status).toBe(200);
  const before = await countAcceptedWork(fixture);
  for (const access_token of [other_token, null]) {
    const limited = apiAs(fixture, { client_secret, access_token: access_token ?? '' });
    for (const each of unlimited.filter(({ path }) => path.startsWith('/v1/'))) {
      const response = await send(limited, each);
      if (access_token === null && each.auth === 'account') expect(response.status, each.id).toBe(401);
      else expect(isRefused(response), `${each.id} ${response.status}`).toBe(true);
    }
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  // With a valid token, endpoints of webhooks are still those of the whole client.
  expect(isRefused(await api.call('GET', '/v1/webhook'))).toBe(true);
  const created = await api.call('POST', '/v1/webhook', { body: { webhook_url: 'https://example.org/hook' } });
  expect(isRefused(created)).toBe(true);
  const reader = await apiWith({ org_id, access: 'read_only' });
  expect((await reader.call('GET', '/v1/patients')).status).toBe(200);
  expect(isRefused(await reader.callIn())).toBe(true);
  // The stream of events checks it as well.
  const stream = await fetch(`${base_url}/v1/webhook-events/stream`, { headers: { client_id, client_secret } });
  expect(stream.status).toBe(403);
  await stream.body?.cancel();
});

test(row('SCS-03'), async () => {
  const { org_id, larkspur } = fixture.sandbox;
  const api = await apiWith({ org_id: 'new-practice' }, '');
  const request = { user_id: 'first', emr_name: 'larkspur', emr_instance_domain: larkspur.url };
  const create = (org: string) => api.call('POST', '/link/token/create', { body: { ...request, org_id: org } });
  expect((await create('new-practice')).status).toBe(200);
  expect(isRefused(await create(org_id))).toBe(true);
  // The answer to an earlier request with the same key is not shown either.
  const headers = { 'idempotency-key': 'of-another-organization' };
  const body = { ...request, org_id: 'third-practice' };
  expect((await fixture.api.call('POST', '/link/token/create', { headers, body })).status).toBe(200);
  expect(isRefused(await api.call('POST', '/link/token/create', { headers, body }))).toBe(true);
  const newToken = async (org: string, staff: number) => {
    const { body } = await fixture.api.call('POST', '/link/token/create', { body: { ...request, org_id: org } });
    const { username, password } = larkspur.staff[staff] ?? {};
    const sign_in = { credentials: { username, password }, one_time_code: fixture.api.code(staff) };
    const made = await fixture.api.call('POST', '/sandbox/public_token/create', {
      body: { link_token: body.token, ...sign_in },
    });
    expect(made.status, JSON.stringify(made.body)).toBe(200);
    return `/link/token/exchange?public_token=${made.body.public_token}`;
  };
  const own = await api.call('GET', await newToken('new-practice', 1));
  expect(own).toMatchObject({ status: 200, body: { token: expect.any(String) } });
  const foreign = await newToken('third-practice', 4);
  expect(isRefused(await api.call('GET', foreign))).toBe(true);
  expect((await fixture.api.call('GET', foreign)).status).toBe(200);
  for (const each of unlimited.filter(({ auth, path }) => auth === 'client' && !path.startsWith('/link/token/'))) {
    expect(isRefused(await send(api, each)), each.id).toBe(true);
  }
});

test(row('SCS-04'), () => {
  const declared = (limited: (each: NonNullable<Endpoint['limited_secrets']>) => unknown) =>
    endpoints.filter(({ limited_secrets }) => limited_secrets && limited(limited_secrets)).map(({ id }) => id);
  expect(declared((each) => each.read_only)).toStrictEqual(endpoints.filter(readable).map(({ id }) => id));
  expect(declared((each) => each.organization === 'checked_by_handler')).toStrictEqual([
    'link.token.create',
    'link.token.exchange',
  ]);
  const by_token = endpoints.filter(({ auth, account_optional }) => auth === 'account' || account_optional);
  expect(declared((each) => each.organization === 'by_access_token')).toStrictEqual(by_token.map(({ id }) => id));
});

/** Moves the expiry of a secret, as if time had passed. */
const setExpiry = (from: string, to: string) =>
  fixture.owner.begin(async (tx) => {
    await tx`UPDATE client_secrets SET expires_at = ${to}::text::timestamptz
      WHERE expires_at = ${from}::text::timestamptz`;
    await tx`SELECT pg_notify('chartwire_access', id::text) FROM clients`;
  });

test(row('SCS-05'), async () => {
  const past = await createSecret({ expires_at: '2026-01-01T00:00:00Z' });
  expect(past).toMatchObject({ status: 400, body: { field: 'expires_at' } });
  const api = await apiWith({ access: 'read_only', expires_at: '2099-01-01T00:00:00Z' });
  expect((await api.call('GET', '/v1/patients')).status).toBe(200);
  const expires_at = new Date(Date.now() + 1000).toISOString();
  await setExpiry('2099-01-01T00:00:00Z', expires_at);
  await until('the secret to expire', async () => (await api.call('GET', '/v1/patients')).status === 401);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires_at));
  expect((await api.call('GET', '/v1/patients')).body).toMatchObject({
    code: 'client_secret_expired',
    message: `This client secret expired at ${expires_at}.`,
  });
});

test(row('SCS-08'), async () => {
  const client = await newClient(fixture);
  const add = (limits: Limits) => createSecret(limits, client.client_id);
  await add({ expires_at: '2099-02-01T00:00:00Z' });
  const countListed = async () => (await owner.get(`clients/${client.client_id}`)).body.client.keys.length;
  expect(await countListed()).toBe(2);
  await setExpiry('2099-02-01T00:00:00Z', new Date(Date.now() - 1000).toISOString());
  await add({});
  expect(await countListed()).toBe(2);
  expect((await client.api.call('GET', '/link/emrs', { headers: { access_token: null } })).status).toBe(200);
});

test(row('SCS-09'), async () => {
  const client = await newClient(fixture);
  const blank = ['', '   ', null];
  for (const field of ['access', 'org_id', 'expires_at']) {
    for (const value of blank) {
      const response = await owner.post(`clients/${client.client_id}/keys`, { [field]: value });
      expect(response, `${field} ${value}`).toMatchObject({ status: 400, body: { field } });
    }
  }
  expect((await owner.get(`clients/${client.client_id}`)).body.client.keys).toHaveLength(1);
});

test(row('SCS-07'), async () => {
  const client: OtherClient = await newClient(fixture);
  const listEmrs = (client_secret: string) =>
    fetch(`${fixture.sandbox.base_url}/link/emrs`, {
      headers: { client_id: client.client_id, client_secret },
    });
  const add = async (limits: Limits) => (await createSecret(limits, client.client_id)).body.client_secret as string;
  const readers = [
    await add({ access: 'read_only' }),
    await add({ access: 'read_only' }),
    await add({ access: 'read_only' }),
  ];
  const limited = await add({ org_id: 'one' });
  const { keys } = (await owner.get(`clients/${client.client_id}`)).body.client;
  expect(keys.map(({ access, org_id }: Limits) => [access, org_id])).toStrictEqual([
    ['read_write', null],
    ['read_only', null],
    ['read_only', null],
    ['read_write', 'one'],
  ]);
  const statuses = async () =>
    Promise.all([client.client_secret, ...readers, limited].map(async (each) => (await listEmrs(each)).status));
  await until('the oldest to be revoked', async () => (await statuses())[1] === 401);
  expect(await statuses()).toStrictEqual([200, 401, 403, 403, 403]);
});

test(row('SCS-06'), async () => {
  const awaitAlerts = (count: number) =>
    until(`${count} open alerts`, async () => {
      await evaluateAlerts(fixture.ctx);
      const { open } = (await owner.get('alerts')).body.alerts;
      const matches = open.filter(({ code }: { code: string }) => code === 'secret_expiring');
      return matches.length === count && matches;
    });

  const { client_id } = fixture.sandbox;
  const create = (days: number) =>
    owner.post(`clients/${client_id}/keys`, {
      access: 'read_only',
      expires_at: new Date(Date.now() + days * 86_400_000).toISOString(),
    });
  const expiring = (await create(15)).body.client_secret;
  await awaitAlerts(0);
  await fixture.owner`UPDATE client_secrets SET expires_at = now() + interval '13 days' WHERE expires_at IS NOT NULL`;
  const [alert] = await awaitAlerts(1);
  expect(alert).toMatchObject({
    summary: expect.stringMatching(
      `^The secret that ends with ${expiring.slice(-4)} expires on \\d{4}-\\d\\d-\\d\\d\\. Client: Sandbox\\.$`,
    ),
    page: `/settings/clients/${client_id}`,
  });
  // A new one ends it as soon as it is in use.
  const client_secret = (await create(90)).body.client_secret;
  await awaitAlerts(1);
  await apiAs(fixture, { client_secret }).call('GET', '/v1/accounts', { headers: { access_token: null } });
  await awaitAlerts(0);
});
