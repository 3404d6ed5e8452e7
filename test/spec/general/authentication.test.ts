import { beforeAll, expect, test } from 'vitest';
import { apiAs, expectApiError, newClient, type OtherClient } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { signInToLarkspur } from '../../journeys/support.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { needsClientOnly, type Operation, readOperations } from '../support/publishedOperations.ts';

let fixture: TestSandbox;
let other: OtherClient;
let v1: Operation[];
beforeAll(async () => {
  fixture = await sharedSandbox();
  other = await newClient(fixture);
  v1 = await readOperations(fixture.api, '/v1/');
});

type Headers = Record<string, string | null>;
const no_client = 'Invalid client credentials.';
const no_token = 'Missing access_token header.';
const no_user = 'User not found.';
/** Sends an operation without a body. */
const send = ({ method, url }: Operation, headers: Headers = {}) => fixture.api.call(method, url, { headers });
async function expectAllRefused(operations: Operation[], headers: Headers, message: string): Promise<void> {
  const before = await countAcceptedWork(fixture);
  for (const operation of operations) expectApiError(await send(operation, headers), 401, message);
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
}

test(row('AUT-01'), async () => {
  await expectAllRefused(v1, { client_id: null }, no_client);
  const hyphenated = { client_id: null, 'client-id': fixture.sandbox.client_id };
  expect((await fixture.api.call('GET', '/v1/providers', { headers: hyphenated })).status).toBe(200);
});

test(row('AUT-02'), async () => {
  for (const client_secret of [null, '', 'cs_test_wrong', other.client_secret]) {
    await expectAllRefused(v1, { client_secret }, no_client);
  }
  await expectAllRefused(v1, { client_secret: null, 'client-secret': 'cs_test_wrong' }, no_client);
  const hyphenated = { client_secret: null, 'client-secret': fixture.sandbox.client_secret };
  expect((await fixture.api.call('GET', '/v1/providers', { headers: hyphenated })).status).toBe(200);
});

test(row('AUT-03'), async () => {
  const others = v1.filter((each) => !needsClientOnly(each));
  await expectAllRefused(others, { access_token: null }, no_token);
  const hyphenated = { access_token: null, 'access-token': fixture.sandbox.access_token };
  expect((await fixture.api.call('GET', '/v1/providers', { headers: hyphenated })).status).toBe(200);
  const headers = { access_token: null };
  const body = { webhook_url: 'http://127.0.0.1:9/hook' };
  const { webhook_id } = (await fixture.api.call('POST', '/v1/webhook', { body, headers })).body;
  for (const [method, path] of [
    ['GET', '/v1/webhook'],
    ['POST', '/v1/webhook/rotate-secret'],
    ['POST', `/v1/webhook/${webhook_id}/rotate-secret`],
    ['DELETE', `/v1/webhook/${webhook_id}`],
  ] as const) {
    expect((await fixture.api.call(method, path, { headers })).status, `${method} ${path}`).toBe(200);
  }
});

test(row('AUT-04'), async () => {
  for (const operation of v1) {
    const { status } = await send(operation);
    // Records may be unknown and bodies incomplete, but the credentials are accepted.
    expect([200, 400, 404, 415], `${operation.method} ${operation.path}`).toContain(status);
  }
  const { status, body } = await fixture.api.call('GET', '/v1/providers');
  expect([status, body.success]).toStrictEqual([200, true]);
  expect((await fixture.api.callIn()).status).toBe(200);
});

test(row('AUT-05'), async () => {
  const chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  const names = [];
  for (const [user_id, staff] of [
    ['first-user', 1],
    ['second-user', 2],
  ] as const) {
    const api = apiAs(fixture, { access_token: await fixture.api.link({ user_id, staff }) });
    const event = await api.untilEvent((await api.callIn()).body.job_id);
    const { createdBy } = await chart.encounter(event.data.emr_encounter_id);
    // User names in Larkspur are first names.
    const { username = '' } = fixture.sandbox.larkspur.staff[staff] ?? {};
    expect(createdBy.split(' ')[0].toLowerCase()).toBe(username);
    names.push(createdBy);
  }
  expect(new Set(names).size).toBe(2);
});

test(row('DEC-022'), async () => {
  const { client_id, client_secret, access_token } = fixture.sandbox;
  const own = { client_id: null, client_secret: null, access_token: null };
  const hyphenated_headers = { 'client-id': client_id, 'client-secret': client_secret, 'access-token': access_token };
  const response = await fixture.api.call('GET', '/v1/providers', { headers: { ...own, ...hyphenated_headers } });
  expect(response.status).toBe(200);
  expect(response.body).toStrictEqual((await fixture.api.call('GET', '/v1/providers')).body);
  for (const [hyphenated, message] of [
    ['client-id', no_client],
    ['client-secret', no_client],
    ['access-token', no_user],
  ] as const) {
    const headers = { ...own, ...hyphenated_headers, [hyphenated]: 'wrong' };
    expectApiError(await fixture.api.call('GET', '/v1/providers', { headers }), 401, message);
  }
});
