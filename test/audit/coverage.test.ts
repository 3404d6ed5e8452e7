import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import type { Endpoint } from '../../src/http/endpoint.ts';
import { composeExamples } from '../../src/http/openapi/describeOperation.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { dashboardEndpoints } from '../../src/surfaces/dashboard/endpoints.ts';
import { link_endpoints } from '../../src/surfaces/linkpage/endpoints.ts';
import { practice_endpoints } from '../../src/surfaces/linkpage/practiceEndpoints.ts';
import { tryItValues } from '../../src/surfaces/sandbox/banner.ts';
import { rejectedCall } from '../dashboard/finishedCalls.ts';
import type { ApiResponse } from '../harness/api.ts';
import { appFor } from '../harness/fhir/registrations.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from '../linking/linkSteps.ts';
import { completeBooking, free_day } from '../spec/support/completedJobs.ts';
import { readOperations } from '../spec/support/publishedOperations.ts';
import { queuedCall } from '../spec/support/queuedCall.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';

let fixture: TestSandbox;
let steps: LinkSteps;
let operator: TestOperator;
const covered = new Set<string>();

beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  steps = linkSteps(fixture);
  operator = await signInOperator(fixture);
  const hook = { body: { webhook_url: 'http://127.0.0.1:9/hook' }, headers: { access_token: null } };
  await fixture.api.call('POST', '/v1/webhook', hook);
  const { body } = await fixture.api.callIn();
  await fixture.api.untilEvent(body.job_id);
});
afterAll(() => fixture.close());

// Only the declarations are used, so the dependencies of a running service are stubs.
const dashboard = dashboardEndpoints({ live: { open: () => never() }, findSandboxEmr: () => undefined });
/** A stream has no end: test/webhooks/eventStream.test.ts checks its records. */
const requests = endpoints.filter((each) => !each.stream);
const all = [...endpoints, ...link_endpoints, ...dashboard];

/** Endpoints that show no health data and change nothing. Every other endpoint is audited. */
const exempt = [
  'account.connection-report',
  'accounts.list',
  'dashboard.accounts.list',
  'dashboard.alerts.list',
  'dashboard.approvals.list',
  'dashboard.availability.list',
  'dashboard.clients.list',
  'dashboard.connection-reports.get',
  'dashboard.connection-reports.list',
  'dashboard.default-hours.get',
  'dashboard.encryption.get',
  'dashboard.eventTypes.list',
  'dashboard.events.list',
  'dashboard.failedEvents.count',
  'dashboard.insurance-providers.search',
  'dashboard.jobs.edit.choices',
  'dashboard.jobs.list',
  'dashboard.live.get',
  'dashboard.me.passkeys.list',
  'dashboard.me.sessions.list',
  'dashboard.organizations.list',
  'dashboard.overview.get',
  'dashboard.overview.history',
  'dashboard.overview.repeatable',
  'dashboard.providers.get',
  'dashboard.received.list',
  'dashboard.receiver.get',
  'dashboard.records.count',
  'dashboard.records.list',
  'dashboard.referring-providers.search',
  'dashboard.requests.list',
  'dashboard.retention.get',
  'dashboard.sandbox.get',
  'dashboard.sign-in-policy.get',
  'dashboard.webhooks.get',
  'dashboard.webhooks.list',
  'insurance-providers.list',
  'link.directory.search',
  'link.emrs.list',
  'link.page-sign-in.get',
  'link.practices.list',
  'locations.list',
  'pharmacies.list',
  'providers.list',
  'referring-providers.list',
  'requests.list',
  'settings.get',
  'staff.list',
  'visit-statuses.list',
  'visit-types.list',
];
/** Without authentication there is no caller to record; sign-ins and accepted invitations are recorded with the operator. */
const open = [
  'link.page-sign-in.finish',
  'practice.session.create',
  'practice.entry.create',
  'dashboard.session.create',
  'dashboard.session.get',
  'dashboard.session.passkey-options',
  'dashboard.session.passkey',
  'dashboard.sign-in.get',
  'dashboard.single-sign-on.start',
  'dashboard.invitations.find',
  'dashboard.invitations.accept',
  'dashboard.single-sign-on.logout',
];

test('exactly these endpoints are exempt', () => {
  const unaudited = all.filter((each) => each.audited === false).map((each) => each.id);
  expect(unaudited.sort()).toStrictEqual(exempt);
  expect(all.filter((each) => each.auth === 'none').map((each) => each.id)).toStrictEqual(open);
});

/** Checks that a request has one record with its status, or none if the endpoint is exempt. */
async function expectRecord(endpoint: Endpoint, response: ApiResponse): Promise<void> {
  const request_id = response.headers.get('x-request-id');
  const rows = await fixture.owner<{ action: string; outcome: string }[]>`
    SELECT action, outcome FROM audit_records WHERE request_id = ${request_id}`;
  const expected = exempt.includes(endpoint.id) ? [] : [{ action: endpoint.id, outcome: String(response.status) }];
  expect([...rows], `${endpoint.id} ${JSON.stringify(response.body)?.slice(0, 300)}`).toStrictEqual(expected);
}

describe('a successful request', () => {
  test.each(requests.map((each) => [each.id, each] as const))('%s leaves one record', async (_id, endpoint) => {
    const response = await send(endpoint);
    expect(response.status, JSON.stringify(response.body)).toBe(endpoint.accepted_status ?? 200);
    await expectRecord(endpoint, response);
    covered.add(endpoint.id);
  });

  const link_page_endpoints = link_endpoints
    .filter((each) => each.auth === 'link' && !/^(link\.(consent|practices?)|practice)\./.test(each.id))
    .map((each) => [each.id, each] as const);
  test.each(link_page_endpoints)('%s leaves one record', async (_id, endpoint) => {
    const person = fixture.sandbox.larkspur.staff[5];
    const link_token = await steps.linkToken();
    await steps.consent(link_token);
    const headers = { link_token };
    const credentials = { username: person?.username, password: person?.password };
    const code = 'one_time_code' in (endpoint.body?.properties ?? {}) ? { one_time_code: fixture.api.code(5) } : {};
    const body = endpoint.body && { body: { credentials, ...code } };
    const response = await fixture.api.call(endpoint.method, endpoint.path, { headers, ...body });
    // Larkspur has no sign-in page.
    const expected = endpoint.id === 'link.page-sign-in.create' ? 400 : 200;
    expect(response.status, JSON.stringify(response.body)).toBe(expected);
    await expectRecord(endpoint, response);
    covered.add(endpoint.id);
  });

  test('a search for a practice leaves none, and its choice one record', async () => {
    const [source_id, id] = [newId(), newId()];
    await fixture.owner`INSERT INTO directory_sources (id, name) VALUES (${source_id}, 'list')`;
    const url = 'https://practice.example.org';
    await fixture.owner`INSERT INTO practices (id, source_id, source_key, name, aliases, connector, address, address_key,
        name_key, content_hash, seen_in, last_seen)
      VALUES (${id}, ${source_id}, '1', 'Practice', '{}', 'fhir', ${url}, ${url}, 'practice', 'x', 1, now())`;
    const app = appFor(url, { way: 'client_secret', client_id: 'practice', client_secret: 'secret' });
    expect((await operator.post('clients/{client}/emr-apps', app)).status).toBe(200);
    const headers = { link_token: await steps.linkToken({ emr_name: undefined, emr_instance_domain: undefined }) };
    for (const [name, path, body] of [
      ['link.practices.list', '?query=practice', undefined],
      ['link.practice.choose', '', { practice_id: id }],
    ] as const) {
      const endpoint = link_endpoints.find((each) => each.id === name) ?? never();
      const options = { headers, ...(body && { body }) };
      const response = await fixture.api.call(endpoint.method, `${endpoint.path}${path}`, options);
      expect(response.status, JSON.stringify(response.body)).toBe(200);
      await expectRecord(endpoint, response);
      covered.add(endpoint.id);
    }
  });

  test('each request of the practice page leaves one record', async () => {
    const consented = await steps.linkToken({ user_id: 'practice-page' });
    await steps.consent(consented);
    const person = fixture.sandbox.larkspur.staff[5];
    const signIn = () => ({
      credentials: { username: person?.username, password: person?.password },
      one_time_code: fixture.api.code(5),
    });
    const call = (path: string, headers: Record<string, string>, body?: object) =>
      fixture.api.call(body ? 'POST' : 'GET', path, { headers, ...(body && { body }) });
    const linked = await call('/link/v1/sign-in', { link_token: consented }, signIn());
    const { account_id, pass } = linked.body.practice;
    await call('/practice/v1/session', {}, { pass });
    const { body: entry } = await call('/practice/v1/entry', {}, { account: account_id });
    const headers = { link_token: entry.token, practice_session: '' };
    for (const endpoint of practice_endpoints.filter(({ auth }) => auth !== 'none')) {
      const body = endpoint.method === 'GET' ? undefined : endpoint.id === 'practice.sign-in.create' ? signIn() : {};
      const response = await call(endpoint.path, headers, body);
      expect(response.status, `${endpoint.id} ${JSON.stringify(response.body)}`).toBe(200);
      await expectRecord(endpoint, response);
      covered.add(endpoint.id);
      headers.practice_session ||= response.body.session ?? '';
    }
  });

  test('link.consent.create leaves one record', async () => {
    const consent = link_endpoints.find(({ id }) => id === 'link.consent.create') ?? never();
    await expectRecord(consent, await steps.consent(await steps.linkToken()));
    covered.add(consent.id);
  });
});

describe('a rejected request of an authenticated caller', () => {
  test.each(requests.map((each) => [each.id, each] as const))('%s leaves one record', async (_id, endpoint) => {
    const path = endpoint.path.replaceAll(/\{\w+\}/g, 'unknown');
    const body = endpoint.body && { body: { nonsense: true } };
    const response = await fixture.api.call(endpoint.method, `${path}?nonsense=1`, body);
    expect(response.status).toBeGreaterThanOrEqual(400);
    await expectRecord(endpoint, response);
  });
});

describe('an operator request', () => {
  // Sorted so that signing out is last.
  const operator_endpoints = dashboard.filter((each) => each.auth !== 'none').sort((a, b) => order(a) - order(b));
  test.each(operator_endpoints.map((each) => [each.id, each] as const))(
    '%s leaves one record',
    async (_id, endpoint) => {
      const path_values: Record<string, string> = { client_id: fixture.sandbox.client_id };
      const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => path_values[name] ?? '0'.repeat(32));
      const response = await sendAsOperator(endpoint, path);
      expect(response.status, JSON.stringify(response.body)).not.toBe(401);
      await expectRecord(endpoint, response);
      covered.add(endpoint.id);
    },
  );
});

test('promise 25: every endpoint that shows or changes data leaves a record', async () => {
  const published = await readOperations(fixture.api, '/');
  const declared = new Set(endpoints.map((each) => `${each.method} ${each.path}`));
  expect(published.filter(({ method, path }) => !declared.has(`${method} ${path}`))).toStrictEqual([]);
  const audited = all.filter((each) => each.auth !== 'none' && !each.stream);
  const missing = audited.filter((each) => !covered.has(each.id)).map((each) => each.id);
  expect(missing).toStrictEqual([]);
  const share = Math.round(((audited.length - missing.length) / audited.length) * 100);
  process.stdout.write(
    `promise 25: audit coverage ${share} % of ${audited.length} routes, ${exempt.length} of them exempt by name\n`,
  );
});

/** Sends the example request of the reference, with ids of this installation. */
async function send(endpoint: Endpoint): Promise<ApiResponse> {
  if (endpoint.file_field) return sendDocument(fixture);
  if (endpoint.id === 'link.token.create') {
    const { example: _example, larkspur } = fixture.sandbox;
    const body = { user_id: 'someone', org_id: 'somewhere', emr_name: 'larkspur', emr_instance_domain: larkspur.url };
    return fixture.api.call('POST', endpoint.path, { body, headers: { access_token: null } });
  }
  if (endpoint.id === 'sandbox.public_token.create') return steps.signIn(await steps.linkToken(), 6);
  if (endpoint.id === 'link.token.exchange') {
    return steps.exchange((await steps.signIn(await steps.linkToken(), 7)).body.public_token);
  }
  if (endpoint.id === 'jobs.run-again') {
    const { job_id } = await rejectedCall(fixture);
    return fixture.api.call('POST', `/v1/jobs/${job_id}/run-again`, { body: {} });
  }
  if (endpoint.id === 'jobs.cancel') {
    return fixture.api.call('POST', `/v1/jobs/${await queuedCall(fixture)}/cancel`, { body: {} });
  }
  if (endpoint.id === 'documents.get') {
    return fixture.api.call('GET', `/v1/documents/${(await sendDocument(fixture)).body.document_id}`);
  }
  if (endpoint.id.startsWith('account.')) {
    const access_token = await fixture.api.link({ user_id: endpoint.id, staff: 3 });
    const body = endpoint.body && { body: {} };
    return fixture.api.call(endpoint.method, endpoint.path, { headers: { access_token }, ...body });
  }
  const { params, query, body } = composeExamples(endpoint);
  const required: readonly string[] = endpoint.query?.required ?? [];
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (required.includes(name)) search.set(name, String(value));
  for (const [name, source] of Object.entries(endpoint.found_in ?? {})) {
    if (endpoint.params?.properties && name in endpoint.params.properties) params[name] = await lookUp(source);
  }
  if (body?.appointment_id) body.appointment_id = await bookedAppointment();
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(params[name])));
  // The URL of the example is not reachable from tests.
  const url = `http://127.0.0.1:9/${endpoint.id}`;
  const sent_body = body && 'webhook_url' in body ? { ...body, webhook_url: url } : body;
  return fixture.api.call(endpoint.method, `${path}?${search}`, sent_body === undefined ? {} : { body: sent_body });
}

/** The ID of an appointment in the EMR, each with a time of its own. */
async function bookedAppointment(): Promise<string> {
  const datetime = `${free_day}T${10 + bookings++}:30:00-04:00`;
  return (await completeBooking(fixture, { datetime })).event.data.appointment_id;
}

let bookings = 0;

async function lookUp(source: string): Promise<unknown> {
  const [origin = '', pointer = ''] = source.split('#');
  const body =
    origin === 'sandbox'
      ? await tryItValues(fixture.ctx, fixture.sandbox)
      : (await fixture.api.call('GET', origin.replace('GET ', ''))).body;
  return pointer
    .split('/')
    .slice(1)
    .reduce((at, part) => at?.[part], body);
}

/** Some responses are streams, of which only the headers are read. */
async function sendAsOperator({ method, body }: Endpoint, path: string): Promise<ApiResponse> {
  const headers = { cookie: operator.cookie, 'x-csrf-token': operator.csrf_token, origin: fixture.sandbox.base_url };
  const sent = body && { body: '{}', headers: { ...headers, 'content-type': 'application/json' } };
  const response = await fetch(fixture.sandbox.base_url + path, { method, headers, ...sent });
  await response.body?.cancel();
  return { status: response.status, headers: response.headers, body: undefined };
}

const order = (endpoint: Endpoint) => Number(endpoint.id === 'dashboard.session.delete');

function never(): never {
  throw new Error('Not called in this test.');
}
