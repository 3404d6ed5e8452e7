import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/endpoints.ts';
import { dashboardEndpoints } from '../../src/dashboard/endpoints.ts';
import type { Endpoint } from '../../src/http/endpoint.ts';
import { link_endpoints } from '../../src/linkpage/endpoints.ts';
import { examplesOf } from '../../src/openapi/describeOperation.ts';
import { tryItValues } from '../../src/sandbox/tryItValues.ts';
import { type LinkSteps, linkSteps } from '../api/linkSteps.ts';
import type { Answer } from '../harness/api.ts';
import { openOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { operationsOf } from '../spec/support/publishedOperations.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';

let world: TestSandbox;
let steps: LinkSteps;
let operator: TestOperator;
const covered = new Set<string>();

beforeAll(async () => {
  world = await startSandbox({ small: true });
  steps = linkSteps(world);
  operator = await openOperator(world);
  const hook = { body: { webhook_url: 'http://127.0.0.1:9/hook' }, headers: { access_token: null } };
  await world.api.call('POST', '/v1/webhook', hook);
  const { body } = await world.api.callIn();
  await world.api.untilEvent(body.job_id);
});
afterAll(() => world.close());

// Of the two that need what only a running service has, the declarations are all that is looked at.
const dashboard = dashboardEndpoints({ live: { open: () => never(), close: () => {} }, clinic: () => undefined });
const all = [...endpoints, ...link_endpoints, ...dashboard];

/** Neither health data nor a change: everything else leaves a record. A new route does, unless it is added here too. */
const exempt = [
  'dashboard.accounts.list',
  'dashboard.availability.list',
  'dashboard.clients.list',
  'dashboard.default-hours.get',
  'dashboard.encryption.get',
  'dashboard.eventTypes.list',
  'dashboard.events.list',
  'dashboard.failedEvents.count',
  'dashboard.insurance-providers.search',
  'dashboard.jobs.list',
  'dashboard.live.get',
  'dashboard.organizations.list',
  'dashboard.overview.get',
  'dashboard.overview.history',
  'dashboard.providers.get',
  'dashboard.received.list',
  'dashboard.receiver.get',
  'dashboard.records.count',
  'dashboard.records.list',
  'dashboard.referring-providers.search',
  'dashboard.requests.list',
  'dashboard.retention.get',
  'dashboard.sandbox.get',
  'dashboard.webhooks.list',
  'insurance-providers.list',
  'link.emrs.list',
  'link.page-sign-in.get',
  'locations.list',
  'pharmacies.list',
  'providers.list',
  'referring-providers.list',
  'settings.get',
  'staff.list',
  'visit-statuses.list',
  'visit-types.list',
];
/** Open to everybody, so there is nobody to record; a sign-in is recorded by whoever was signed in. */
const open = ['link.page-sign-in.finish', 'dashboard.session.create', 'dashboard.session.get'];

test('exactly these endpoints are exempt', () => {
  const unaudited = all.filter((each) => each.audited === false).map((each) => each.id);
  expect(unaudited.sort()).toStrictEqual(exempt);
  expect(all.filter((each) => each.auth === 'none').map((each) => each.id)).toStrictEqual(open);
});

/** The one record of a request, with the outcome that was answered; none for an exempt endpoint. */
async function expectRecord(endpoint: Endpoint, answer: Answer): Promise<void> {
  const request_id = answer.headers.get('x-request-id');
  const rows = await world.owner<{ action: string; outcome: string }[]>`
    SELECT action, outcome FROM audit_records WHERE request_id = ${request_id}`;
  const expected = exempt.includes(endpoint.id) ? [] : [{ action: endpoint.id, outcome: String(answer.status) }];
  expect([...rows], `${endpoint.id} ${JSON.stringify(answer.body)?.slice(0, 300)}`).toStrictEqual(expected);
}

describe('what is accepted or shown', () => {
  test.each(endpoints.map((each) => [each.id, each] as const))('%s leaves one record', async (_id, endpoint) => {
    const answer = await send(endpoint);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    await expectRecord(endpoint, answer);
    covered.add(endpoint.id);
  });

  const for_people = link_endpoints.filter((each) => each.auth === 'link').map((each) => [each.id, each] as const);
  test.each(for_people)('%s leaves one record', async (_id, endpoint) => {
    const person = world.sandbox.larkspur.staff[5];
    const headers = { link_token: await steps.linkToken() };
    const credentials = { username: person?.username, password: person?.password };
    const code = 'one_time_code' in (endpoint.body?.properties ?? {}) ? { one_time_code: world.api.code(5) } : {};
    const body = endpoint.body && { body: { credentials, ...code } };
    const answer = await world.api.call(endpoint.method, endpoint.path, { headers, ...body });
    // Larkspur has no page of its own to sign in on.
    const expected = endpoint.id === 'link.page-sign-in.create' ? 400 : 200;
    expect(answer.status, JSON.stringify(answer.body)).toBe(expected);
    await expectRecord(endpoint, answer);
    covered.add(endpoint.id);
  });
});

describe('what is refused to a known caller', () => {
  test.each(endpoints.map((each) => [each.id, each] as const))('%s leaves one record too', async (_id, endpoint) => {
    const path = endpoint.path.replaceAll(/\{\w+\}/g, 'unknown');
    const body = endpoint.body && { body: { nonsense: true } };
    const answer = await world.api.call(endpoint.method, `${path}?nonsense=1`, body);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    await expectRecord(endpoint, answer);
  });
});

describe('what an operator does', () => {
  // Signing out comes last.
  const theirs = dashboard.filter((each) => each.auth !== 'none').sort((a, b) => order(a) - order(b));
  test.each(theirs.map((each) => [each.id, each] as const))('%s leaves one record', async (_id, endpoint) => {
    const known: Record<string, string> = { client_id: world.sandbox.client_id };
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => known[name] ?? '0'.repeat(32));
    const answer = await askAsOperator(endpoint, path);
    expect(answer.status, JSON.stringify(answer.body)).not.toBe(401);
    await expectRecord(endpoint, answer);
    covered.add(endpoint.id);
  });
});

test('promise 25: every route that shows or changes something leaves a record', async () => {
  const published = await operationsOf(world.api, '/');
  const declared = new Set(endpoints.map((each) => `${each.method} ${each.path}`));
  expect(published.filter(({ method, path }) => !declared.has(`${method} ${path}`))).toStrictEqual([]);
  const owed = all.filter((each) => each.auth !== 'none');
  const missing = owed.filter((each) => !covered.has(each.id)).map((each) => each.id);
  expect(missing).toStrictEqual([]);
  const share = Math.round(((owed.length - missing.length) / owed.length) * 100);
  process.stdout.write(
    `promise 25: audit coverage ${share} % of ${owed.length} routes, ${exempt.length} of them exempt by name\n`,
  );
});

/** Sends a request as the reference shows it, with what differs between installations looked up. */
async function send(endpoint: Endpoint): Promise<Answer> {
  if (endpoint.file_field) return sendDocument(world);
  if (endpoint.id === 'link.token.create') {
    const { example: _example, larkspur } = world.sandbox;
    const body = { user_id: 'someone', org_id: 'somewhere', emr_name: 'larkspur', emr_instance_domain: larkspur.url };
    return world.api.call('POST', endpoint.path, { body, headers: { access_token: null } });
  }
  if (endpoint.id === 'sandbox.public_token.create') return steps.signIn(await steps.linkToken(), 6);
  if (endpoint.id === 'link.token.exchange') {
    return steps.exchange((await steps.signIn(await steps.linkToken(), 7)).body.public_token);
  }
  const { params, query, body } = examplesOf(endpoint);
  const required: readonly string[] = endpoint.query?.required ?? [];
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (required.includes(name)) asked.set(name, String(value));
  for (const [name, source] of Object.entries(endpoint.found_in ?? {})) {
    if (endpoint.params?.properties && name in endpoint.params.properties) params[name] = await found(source);
  }
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(params[name])));
  // A webhook can be registered only where something may be called.
  const said = body && 'webhook_url' in body ? { ...body, webhook_url: 'http://127.0.0.1:9/other' } : body;
  return world.api.call(endpoint.method, `${path}?${asked}`, said === undefined ? {} : { body: said });
}

async function found(source: string): Promise<unknown> {
  const [place = '', pointer = ''] = source.split('#');
  const body =
    place === 'sandbox'
      ? await tryItValues(world.ctx, world.sandbox)
      : (await world.api.call('GET', place.replace('GET ', ''))).body;
  return pointer
    .split('/')
    .slice(1)
    .reduce((at, part) => at?.[part], body);
}

/** By hand, for some answers are streams: of them the beginning is enough. */
async function askAsOperator({ method, body }: Endpoint, path: string): Promise<Answer> {
  const headers = { cookie: operator.cookie, 'x-csrf-token': operator.csrf_token, origin: world.sandbox.base_url };
  const sent = body && { body: '{}', headers: { ...headers, 'content-type': 'application/json' } };
  const answer = await fetch(world.sandbox.base_url + path, { method, headers, ...sent });
  await answer.body?.cancel();
  return { status: answer.status, headers: answer.headers, body: undefined };
}

const order = (endpoint: Endpoint) => Number(endpoint.id === 'dashboard.session.delete');

function never(): never {
  throw new Error('Nothing is asked of this declaration.');
}
