import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../src/http/endpoint.ts';
import { setClients } from '../../src/operators/operatorClients.ts';
import { newOperator, type TestOperator } from '../harness/operator.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { openCharts } from '../spec/patients/charts.ts';
import { startEventsFixture } from './eventsFixture.ts';
import { finishedCall, lostCall, rejectedCall } from './finishedCalls.ts';
import { callEndpoint, operator_endpoints, pathsOf, type Records, recordsOf, textOf } from './walkEndpoints.ts';

let fixture: TestSandbox & { operator: TestOperator };
let support: TestOperator & { email: string };
let records: Records;
/** What the responses must not contain: MRNs, names, birth dates and phone numbers. */
let known: string[];
let job_id: number;

const new_patient = { first_name: 'Zephyrine', last_name: 'Quillfeather', dob: '1961-07-23', phone: '518-555-7733' };

beforeAll(async () => {
  fixture = await startEventsFixture();
  await fixture.operator.post('clients/{client}/receiver');
  const charts = openCharts(fixture);
  const created = await charts.created(new_patient);
  await charts.updated(created, { phone: '518-555-7744' });
  await rejectedCall(fixture);
  ({ job_id } = await finishedCall(fixture, { patient_mrn: created.mrn, refill_medication_name: 'Nosuchmedicine' }));
  // As if the application's response quoted the event.
  await fixture.owner`UPDATE delivery_attempts SET snippet = 'Quillfeather'`;
  const lost = await lostCall(fixture);
  const review = { outcome: 'done', note: 'Saved for Zephyrine Quillfeather' };
  expect((await fixture.operator.post(`clients/{client}/jobs/${lost.job_id}/review`, review)).status).toBe(200);
  await until('the events to be received', async () => {
    const { body } = await fixture.operator.get('clients/{client}/receiver/requests');
    return body.rows.length > 3;
  });
  await fixture.owner`INSERT INTO connection_reports (id, client_id, account_id, report)
    SELECT gen_random_uuid(), client_id, id, '{}' FROM accounts ON CONFLICT DO NOTHING`;
  support = await newOperator(fixture, 'support');
  records = await recordsOf(fixture, fixture.sandbox.client_id);
  const patients = await fixture.owner<Record<'mrn' | 'last' | 'dob' | 'phone' | 'cell_phone', string | null>[]>`
    SELECT mrn, doc ->> 'last_name' AS last, doc ->> 'dob' AS dob, doc ->> 'phone' AS phone, cell_phone FROM patients`;
  const staff = (
    await fixture.owner<{ name: string }[]>`
    SELECT doc ->> 'name' AS name FROM staff UNION SELECT doc ->> 'name' FROM providers`
  ).flatMap(({ name }) => (name ?? '').split(/[\s,]+/));
  const values = patients.flatMap(({ last, ...rest }) => [
    ...Object.values(rest),
    last && !staff.includes(last) ? last : null,
  ]);
  known = [...new Set([...Object.values(new_patient), '518-555-7744', ...values])].filter((each) => each !== null);
  expect(known.length).toBeGreaterThan(100);
});
afterAll(() => fixture.close());

/** The first known detail in a text. Words, so that a short name within a longer word does not count. */
function detailIn(text: string): string | undefined {
  const quoted = (detail: string) => detail.replace(/[^\w\s]/g, '\\$&');
  return known.find((each) => text.includes(each) && new RegExp(`(?<!\\w)${quoted(each)}(?!\\w)`).test(text));
}

const bodies: Record<string, () => unknown> = {
  'dashboard.jobs.patients': () => ({ job_ids: (records.jobs ?? []).map(Number) }),
  'dashboard.reveals.create': () => ({ kind: 'job', id: String(job_id), reason: 'Looking at a failed job' }),
};

describe('the role support', () => {
  test('sees no detail of a patient in the response of any endpoint', async () => {
    const shown: string[] = [];
    for (const endpoint of operator_endpoints.filter((each) => !changesOwnAccount(each))) {
      for (const path of pathsOf(endpoint, records)) {
        const response = await callEndpoint(fixture, support, endpoint, path, bodies[endpoint.id]?.());
        const text = textOf(response);
        expect(detailIn(text), `${endpoint.id} ${path}: ${text.slice(0, 2000)}`).toBeUndefined();
        if (response.status === 200) shown.push(endpoint.id);
        else expect([403, 404], `${endpoint.id} ${path} ${text}`).toContain(response.status);
      }
    }
    expect([...new Set(shown)].sort()).toStrictEqual(shown_to_support);
  });

  test('the same requests of an owner show them', async () => {
    const shows = async (id: string) => {
      const endpoint = operator_endpoints.find((each) => each.id === id);
      if (!endpoint) throw new Error(`There is no endpoint ${id}.`);
      for (const path of pathsOf(endpoint, records)) {
        const response = await callEndpoint(fixture, fixture.operator, endpoint, path, bodies[id]?.());
        if (detailIn(textOf(response)) !== undefined) return true;
      }
      return false;
    };
    for (const id of ['jobs.get', 'jobs.patients', 'events.get', 'received.get', 'records.get']) {
      expect(await shows(`dashboard.${id}`), id).toBe(true);
    }
  });

  test('in one client applies there, whatever the operator’s other role is', async () => {
    const mixed = await newOperator(fixture, 'read_only');
    const [row] = await fixture.owner<{ id: string; client: string }[]>`
      SELECT operators.id, clients.id AS client FROM operators, clients
       WHERE email = ${mixed.email} AND public_id = ${fixture.sandbox.client_id}`;
    const access = [{ id: row?.client ?? '', role: 'support' as const }];
    await fixture.ctx.db.system.begin((tx) => setClients(tx, row?.id ?? '', access));
    await fixture.owner`UPDATE operators SET all_clients = false WHERE email = ${mixed.email}`;
    const hidden = (await mixed.get(`clients/{client}/jobs/${job_id}`)).body;
    expect(hidden).toMatchObject({ details_hidden: true, job: { patient_mrn: '•••', input: {} } });
  });
});

describe('revealing patient details', () => {
  const reveal = (operator: TestOperator, fields: object = {}) =>
    operator.post('clients/{client}/reveals', {
      kind: 'job',
      id: String(job_id),
      reason: 'The practice called about it',
      ...fields,
    });

  test('requires the right to do so and a reason of 10 characters', async () => {
    expect((await reveal(support)).body.code).toBe('reveal_not_allowed');
    await fixture.owner`UPDATE operators SET may_reveal = true WHERE email = ${support.email}`;
    expect((await reveal(support, { reason: '  short   ' })).body).toMatchObject({
      field: 'reason',
      message: 'Give a reason of at least 10 characters',
    });
    expect((await reveal(support, { id: '999999999' })).status).toBe(404);
    expect((await support.get(`clients/{client}/jobs/${job_id}`)).body.details_hidden).toBe(true);
  });

  test('shows one record to one session for 15 minutes, and is recorded first', async () => {
    const [elsewhere, there] = [await newOperator(fixture, 'support'), await newOperator(fixture, 'support')];
    await fixture.owner`UPDATE operators SET may_reveal = true WHERE email IN (${elsewhere.email}, ${there.email})`;
    expect((await reveal(elsewhere)).status).toBe(200);
    const [record] = await fixture.owner`SELECT actor, job_id, detail, address, cardinality(patients) AS patients
      FROM audit_records WHERE action = 'dashboard.reveals.create' AND outcome = '200' ORDER BY id DESC LIMIT 1`;
    expect(record).toStrictEqual({
      actor: elsewhere.email,
      job_id,
      detail: { kind: 'job', reason: 'The practice called about it' },
      address: '127.0.0.1',
      patients: 1,
    });
    const shown = (await elsewhere.get(`clients/{client}/jobs/${job_id}`)).body;
    expect(shown.details_hidden).toBeUndefined();
    expect(detailIn(JSON.stringify(shown))).toBeDefined();
    expect((await there.get(`clients/{client}/jobs/${job_id}`)).body.details_hidden).toBe(true);
    const other = records.jobs?.find((each) => each !== String(job_id));
    expect((await elsewhere.get(`clients/{client}/jobs/${other}`)).body.details_hidden).toBe(true);
    await fixture.owner`UPDATE operator_reveals SET expires_at = expires_at - interval '15 minutes'`;
    expect((await elsewhere.get(`clients/{client}/jobs/${job_id}`)).body.details_hidden).toBe(true);
  });

  test('works for events and received requests', async () => {
    const operator = await newOperator(fixture, 'support');
    await fixture.owner`UPDATE operators SET may_reveal = true WHERE email = ${operator.email}`;
    for (const [kind, id, path] of [
      ['event', records.events?.[0], 'events'],
      ['received_request', records.requests?.[0], 'receiver/requests'],
    ]) {
      expect((await operator.get(`clients/{client}/${path}/${id}`)).body.details_hidden).toBe(true);
      expect((await reveal(operator, { kind, id })).status).toBe(200);
      const { body } = await operator.get(`clients/{client}/${path}/${id}`);
      expect(body.details_hidden).toBeUndefined();
      expect(detailIn(JSON.stringify(body)), path).toBeDefined();
    }
  });
});

/** It could sign the operator out or change the password. */
function changesOwnAccount({ reach, method }: Endpoint): boolean {
  return reach === 'own' && method !== 'GET';
}

const shown_to_support = [
  'dashboard.accounts.list',
  'dashboard.clients.get',
  'dashboard.clients.list',
  'dashboard.connection-reports.get',
  'dashboard.connection-reports.list',
  'dashboard.emr-apps.list',
  'dashboard.eventTypes.list',
  'dashboard.events.get',
  'dashboard.events.list',
  'dashboard.failedEvents.count',
  'dashboard.jobs.get',
  'dashboard.jobs.list',
  'dashboard.jobs.patients',
  'dashboard.live.get',
  'dashboard.me.passkeys.list',
  'dashboard.me.sessions.list',
  'dashboard.organizations.list',
  'dashboard.overview.get',
  'dashboard.overview.history',
  'dashboard.received.get',
  'dashboard.received.list',
  'dashboard.receiver.get',
  'dashboard.requests.list',
  'dashboard.webhooks.get',
  'dashboard.webhooks.last-error',
  'dashboard.webhooks.list',
];
