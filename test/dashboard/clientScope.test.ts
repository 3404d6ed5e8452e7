import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiAs, newClient, type OtherClient } from '../api/support.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { createAuthority } from '../harness/servers/issuer.ts';
import { insertRows } from '../tenancy/insertRows.ts';
import {
  callEndpoint,
  endpoints_in_client,
  findRecords,
  listPaths,
  operator_endpoints,
  type Records,
  toText,
} from './walkEndpoints.ts';

const foreign_word = 'FOREIGNPRACTICE';

let fixture: TestSandbox;
let owner: TestOperator;
let other: OtherClient;
let scoped: TestOperator & { email: string; id: string };
let [own_records, foreign_records]: [Records, Records] = [{}, {}];

beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  owner = await signInOperator(fixture);
  other = await newClient(fixture);
  await fixture.owner`UPDATE clients SET name = ${foreign_word} WHERE id = ${other.id}`;
  const access_token = await other.api.link({ user_id: foreign_word, org_id: foreign_word, staff: 1 });
  const api = apiAs(fixture, { ...other, access_token });
  await insertRows(api, {}, { reason: foreign_word });
  await fixture.owner`INSERT INTO emr_apps (id, client_id, name, connector, hosts, token_endpoint, registered,
      credentials_sealed)
    VALUES (gen_random_uuid(), ${other.id}, ${foreign_word}, 'fhir', '{}', 'same_host', true, 'x')`;
  await fixture.owner`INSERT INTO connection_reports (id, client_id, account_id, report)
    SELECT gen_random_uuid(), client_id, id, '{}' FROM accounts WHERE client_id = ${other.id} ON CONFLICT DO NOTHING`;
  await insertRows(fixture.api);
  await owner.post(`clients/${other.client_id}/webhooks`, { webhook_url: `http://127.0.0.1:9/${foreign_word}` });
  own_records = await findRecords(fixture, fixture.sandbox.client_id);
  foreign_records = await findRecords(fixture, other.client_id);
  scoped = await newScoped('operator');
});
afterAll(() => fixture.close());

/** An operator with this role in the sandbox's client and in no other. */
function newScoped(role: 'operator' | 'read_only' | 'support') {
  return newOperator(fixture, 'operator', { clients: [{ client_id: fixture.sandbox.client_id, role }] });
}

/** Whether a text names something of the other client: its name, its public id, the id of a record of its own. */
function isForeign(text: string): boolean {
  const { accounts = [], organizations = [], events = [], webhooks = [] } = foreign_records;
  return [foreign_word, other.client_id, other.id, ...accounts, ...organizations, ...events, ...webhooks].some((each) =>
    text.includes(each),
  );
}

/** A hash of everything that operators could change in the other client. */
async function foreignState(): Promise<Record<string, unknown>> {
  const tables = [
    ...['accounts', 'client_secrets', 'emr_apps', 'events', 'jobs', 'link_tokens', 'locations', 'operator_clients'],
    ...['operator_reveals', 'patients', 'providers', 'receivers', 'webhook_endpoints', 'webhook_secrets'],
  ];
  const hashes = tables.map(async (table) => {
    const [row] = await fixture.owner<{ hash: string }[]>`
      SELECT md5(string_agg(each::text, '|' ORDER BY each::text)) AS hash FROM ${fixture.owner(table)} AS each
       WHERE client_id = ${other.id}`;
    return [table, row?.hash] as const;
  });
  return Object.fromEntries(await Promise.all(hashes));
}

/** Bodies that pass validation, so that a request gets to the record that its path names. */
const bodies: Record<string, (records: Records) => unknown> = {
  'dashboard.accounts.link': () => ({ org_id: 'own-org', user_id: 'own-user' }),
  'dashboard.emr-settings.update': () => ({ parallel_writes_max: null, mrn_type: null }),
  'dashboard.events.resend': () => ({}),
  'dashboard.failedEvents.resend': ({ webhooks = [] }) => ({
    since: '2026-01-01T00:00:00Z',
    until: '2036-01-01T00:00:00Z',
    webhook_id: webhooks[0],
  }),
  'dashboard.jobs.edit.choices': () => ({ field: 'provider_id' }),
  'dashboard.jobs.edit.create': () => ({ request: {}, key: 'b2a1c6f0-0000-4000-8000-000000000000' }),
  'dashboard.jobs.edit.dry-run': () => ({ request: {} }),
  'dashboard.jobs.patients': ({ jobs = [] }) => ({ job_ids: jobs.map(Number) }),
  'dashboard.jobs.review': () => ({ outcome: 'done', note: 'Checked' }),
  'dashboard.jobs.search': () => ({ mrn: fixture.sandbox.example.patient_mrn }),
  'dashboard.locations.update': () => ({ status: 'inactive' }),
  'dashboard.patients.find': () => ({ text: fixture.sandbox.example.patient_mrn }),
  'dashboard.providers.update': () => ({ status: 'inactive' }),
  'dashboard.reveals.create': ({ jobs = [] }) => ({ kind: 'job', id: jobs[0], reason: 'Looking at a failed job' }),
  'dashboard.webhooks.create': () => ({ webhook_url: 'http://127.0.0.1:9/own' }),
  'dashboard.webhooks.set-certificate': () => {
    const { certificate, private_key } = createAuthority('Test authority').issue({ name: 'own-service' });
    return { certificate, private_key };
  },
  'dashboard.webhooks.update': () => ({ webhook_url: 'http://127.0.0.1:9/changed' }),
};

describe('an operator of one client', () => {
  test("cannot tell another client's paths from ones that do not exist", async () => {
    const before = await foreignState();
    for (const endpoint of endpoints_in_client) {
      for (const path of listPaths(endpoint, foreign_records).slice(0, 2)) {
        const response = await callEndpoint(fixture, scoped, endpoint, path, bodies[endpoint.id]?.(foreign_records));
        const { status, body } = response;
        const message = `Client with ID '${other.client_id}' not found.`;
        expect({ status, ...body }, path).toMatchObject({ status: 404, code: 'record_not_found', message });
      }
    }
    const unknown = await scoped.get('clients/ci_test_unknown/jobs');
    expect(unknown).toMatchObject({ status: 404, body: { message: "Client with ID 'ci_test_unknown' not found." } });
    expect(await foreignState()).toStrictEqual(before);
  });

  test('sees nothing of another client in any response', async () => {
    const before = await foreignState();
    for (const endpoint of operator_endpoints.filter(({ id }) => !unrelated.includes(id))) {
      for (const path of listPaths(endpoint, own_records).slice(0, 5)) {
        const response = await callEndpoint(fixture, scoped, endpoint, path, bodies[endpoint.id]?.(own_records));
        expect(response.status, `${endpoint.id} ${toText(response)}`).toBeLessThan(500);
        expect(isForeign(toText(response)), `${endpoint.id} ${path}: ${toText(response).slice(0, 3000)}`).toBe(false);
      }
    }
    expect(await foreignState()).toStrictEqual(before);
  });

  test('the same lists show an owner both clients', async () => {
    for (const path of ['clients', 'clients/{client}/overview', 'requests?page_size=200', 'audit?page_size=200']) {
      expect(isForeign(toText(await owner.get(path))), path).toBe(true);
      expect(isForeign(toText(await scoped.get(path))), path).toBe(false);
    }
    expect(isForeign(toText(await owner.get('audit.csv')))).toBe(true);
    const query = `?client_id=${other.client_id}`;
    expect((await scoped.get(`requests${query}`)).body.rows).toStrictEqual([]);
    expect((await scoped.get(`audit${query}`)).body.rows).toStrictEqual([]);
    const [request] = (await owner.get(`requests${query}`)).body.rows;
    expect((await scoped.get(`requests?id=${request.id}`)).body.rows).toStrictEqual([]);
  });

  test("sees and changes nothing of another client under its own client's paths", async () => {
    const before = await foreignState();
    const mixed = { ...foreign_records, clients: [fixture.sandbox.client_id] };
    for (const endpoint of endpoints_in_client.filter(({ path }) => path.match(/\{/g)?.length !== 1)) {
      for (const path of listPaths(endpoint, mixed).slice(0, 3)) {
        const response = await callEndpoint(fixture, scoped, endpoint, path, bodies[endpoint.id]?.(foreign_records));
        const expected = no_record.includes(endpoint.id) ? [200, 404] : [403, 404];
        expect(expected, `${endpoint.id} ${path} ${toText(response)}`).toContain(response.status);
      }
    }
    expect(await foreignState()).toStrictEqual(before);
  });

  test('cannot open pages of the installation', async () => {
    const installation = operator_endpoints.filter(({ auth, reach }) => auth === 'operator' && reach === undefined);
    expect(installation.map(({ id }) => id)).toContain('dashboard.clients.create');
    for (const endpoint of installation) {
      const [path = ''] = listPaths(endpoint, own_records);
      const { status, body } = await callEndpoint(fixture, scoped, endpoint, path);
      expect({ status, code: body.code }, endpoint.id).toMatchObject({
        status: 403,
        code: expect.stringMatching(/^operator_(role|clients)_lacking$/),
      });
    }
  });

  test('has the role of the client, whatever the role in the operator’s own row', async () => {
    const reader = await newScoped('read_only');
    expect((await reader.post('clients/{client}/receiver')).body.code).toBe('operator_role_lacking');
    expect((await reader.get('audit')).status).toBe(200);
    const support = await newScoped('support');
    expect((await support.get('audit')).body.code).toBe('operator_role_lacking');
    expect((await support.get('clients')).body.clients).toHaveLength(1);
  });

  test('loses access at once when an owner changes it', async () => {
    const leaving = await newScoped('operator');
    expect((await owner.patch(`operators/${leaving.id}`, { role: 'support' })).status).toBe(200);
    expect((await leaving.get('clients')).body.code).toBe('operator_session_over');
  });
});

test('every endpoint about the caller is open to every operator', () => {
  const own = operator_endpoints.filter(({ path }) => /^\/dashboard\/api\/(me|session)\b/.test(path));
  expect(own.length).toBeGreaterThan(3);
  for (const { id, reach } of own) expect([id, reach]).toStrictEqual([id, 'own']);
});

describe('an owner', () => {
  test('always has all clients', async () => {
    const clients = [{ client_id: fixture.sandbox.client_id, role: 'operator' }];
    const refused = await owner.patch(`operators/${scoped.id}`, { role: 'owner', clients });
    expect(refused.body).toMatchObject({ code: 'invalid_field', field: 'clients' });
    const me = (await owner.get('session')).body.session.operator;
    expect((await owner.patch(`operators/${me.id}`, { clients })).body).toMatchObject({ field: 'clients' });
    const unknown = [{ client_id: 'ci_test_unknown', role: 'operator' }];
    expect((await owner.patch(`operators/${scoped.id}`, { clients: unknown })).status).toBe(404);
    expect((await owner.patch(`operators/${scoped.id}`, { clients: [...clients, ...clients] })).status).toBe(400);
    const promoted = await newScoped('support');
    expect((await owner.patch(`operators/${promoted.id}`, { role: 'owner' })).status).toBe(200);
    const again = await signInOperator(fixture, promoted);
    expect((await again.get('session')).body.session.operator).toMatchObject({ all_clients: true, clients: [] });
  });
});

/** They respond for records that do not exist, too. */
const no_record = ['dashboard.webhooks.last-error', 'dashboard.records.list'];

/** They change the operator's own account, or need the EMR for seconds. */
const unrelated = [
  'dashboard.session.delete',
  'dashboard.accounts.check',
  'dashboard.accounts.identifiers',
  'dashboard.accounts.revoke',
];
