import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../src/http/endpoint.ts';
import { newOperator, type TestOperator } from '../harness/operator.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { setFault, until } from '../journeys/support.ts';
import { createCharts } from '../spec/patients/charts.ts';
import { startEventsFixture } from './eventsFixture.ts';
import { finishedCall, lostCall } from './finishedCalls.ts';
import { callEndpoint, findRecords, listPaths, operator_endpoints, type Records, toText } from './walkEndpoints.ts';

let fixture: TestSandbox & { operator: TestOperator };
let support: TestOperator & { email: string };
let records: Records;
/** What the responses must not contain: MRNs, names, birth dates and phone numbers. */
let patient_texts: string[];
let job_id: number;

const new_patient = { first_name: 'Zephyrine', last_name: 'Quillfeather', dob: '1961-07-23', phone: '518-555-7733' };

/** Texts that quote a patient, by where they are. */
const planted = {
  account: 'Quillfeather in the reason of an account',
  failure: 'Quillfeather in the failure of a job',
  note: 'Quillfeather in a connection report',
  problem: 'Quillfeather in the problem of a delivery',
  review: 'Quillfeather in the note of a review',
  sign_in: 'Quillfeather in the error of a sign-in',
  snippet: 'Quillfeather in a response of a receiver',
};

beforeAll(async () => {
  fixture = await startEventsFixture();
  await fixture.operator.post('clients/{client}/receiver');
  const charts = createCharts(fixture);
  const created = await charts.created(new_patient);
  await charts.updated(created, { phone: '518-555-7744' });
  await fixture.operator.post('clients/{client}/webhooks', { webhook_url: 'http://127.0.0.1:9/unreachable' });
  await setFault(fixture.api, 'create_telephone_encounter', 'refuse', { reason: planted.failure });
  await finishedCall(fixture);
  ({ job_id } = await finishedCall(fixture, { patient_mrn: created.mrn, refill_medication_name: 'Nosuchmedicine' }));
  const lost = await lostCall(fixture);
  const review = { outcome: 'done', note: planted.review };
  expect((await fixture.operator.post(`clients/{client}/jobs/${lost.job_id}/review`, review)).status).toBe(200);
  await until('the events to be received', async () => {
    const { body } = await fixture.operator.get('clients/{client}/receiver/requests');
    return body.rows.length > 3;
  });
  await requestWithDetails();
  await plantTexts();
  support = await newOperator(fixture, 'support');
  records = await findRecords(fixture, fixture.sandbox.client_id);
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
  patient_texts = [...new Set([...Object.values(new_patient), '518-555-7744', ...values])].filter(
    (each) => each !== null,
  );
  expect(patient_texts.length).toBeGreaterThan(100);
});
afterAll(() => fixture.close());

/** A rejected request has details in the places that a caller can choose: names of fields, and the path. */
async function requestWithDetails(): Promise<void> {
  const body = { Quillfeather: 'x', insurances: [{ Quillfeather: 'x' }] };
  expect((await fixture.api.call('POST', '/v1/patients', { body })).status).toBe(400);
  const nested = { ...new_patient, sex: 'F', insurances: [{ Quillfeather: 'x' }] };
  expect((await fixture.api.call('POST', '/v1/patients', { body: nested })).status).toBe(400);
  expect((await fixture.api.call('GET', '/v1/Quillfeather?name=Quillfeather')).status).toBe(404);
  await until('the requests to be logged', async () => {
    const { body } = await fixture.operator.get('requests?page_size=200');
    return body.rows.some(({ code }: { code: string | null }) => code === 'route_not_found');
  });
}

/** Texts of EMRs and receivers that the sandbox's own do not quote a patient in, but that others can. */
async function plantTexts(): Promise<void> {
  const { owner } = fixture;
  await until('a delivery to fail', async () => {
    const failed = await owner`SELECT FROM delivery_attempts WHERE problem IS NOT NULL`;
    return failed.length > 0;
  });
  // No further attempt replaces the planted one.
  await owner`UPDATE deliveries SET ready_at = CASE WHEN attempts > 0 THEN now() + interval '1 day' END
    WHERE ready_at IS NOT NULL`;
  await owner`UPDATE delivery_attempts SET snippet = ${planted.snippet},
    problem = CASE WHEN problem IS NOT NULL THEN ${planted.problem} END`;
  await owner`UPDATE accounts SET status = 'login_required', status_reason = ${planted.account}`;
  const step = { stage: 'probe', request: 'GET [base]/Patient', status: 403, duration_ms: 1, outcome: 'refused' };
  const report = { address: 'https://emr.example.org', at: new Date(), steps: [{ ...step, note: planted.note }] };
  await owner`INSERT INTO connection_reports (id, client_id, account_id, error_code, error_message, report)
    SELECT gen_random_uuid(), client_id, id, 'login_refused', ${planted.sign_in}, ${owner.json(report)} FROM accounts
    ON CONFLICT (account_id) DO UPDATE SET error_message = excluded.error_message, report = excluded.report`;
}

/** The first known detail in a text. Words, so that a short name within a longer word does not count. */
function detailIn(text: string): string | undefined {
  const quoted = (detail: string) => detail.replace(/[^\w\s]/g, '\\$&');
  return patient_texts.find((each) => text.includes(each) && new RegExp(`(?<!\\w)${quoted(each)}(?!\\w)`).test(text));
}

const bodies: Record<string, () => unknown> = {
  'dashboard.audit.search': () => ({ patient_mrn: fixture.sandbox.example.patient_mrn }),
  'dashboard.audit.export-search': () => ({ patient_mrn: fixture.sandbox.example.patient_mrn }),
  'dashboard.disclosures.export': () => ({ patient_mrn: fixture.sandbox.example.patient_mrn, format: 'json' }),
  'dashboard.disclosures.search': () => ({ patient_mrn: fixture.sandbox.example.patient_mrn }),
  'dashboard.jobs.export': () => ({}),
  'dashboard.jobs.search': () => ({ mrn: fixture.sandbox.example.patient_mrn }),
  'dashboard.patients.find': () => ({ text: new_patient.last_name }),
  'dashboard.jobs.patients': () => ({ job_ids: (records.jobs ?? []).map(Number) }),
  'dashboard.reveals.create': () => ({ kind: 'job', id: String(job_id), reason: 'Looking at a failed job' }),
};

describe('the role support', () => {
  test('sees no detail of a patient in the response of any endpoint', async () => {
    const shown: string[] = [];
    for (const endpoint of operator_endpoints.filter((each) => !changesOwnAccount(each))) {
      for (const path of listPaths(endpoint, records)) {
        const response = await callEndpoint(fixture, support, endpoint, path, bodies[endpoint.id]?.());
        const text = toText(response);
        expect(detailIn(text), `${endpoint.id} ${path}: ${text.slice(0, 2000)}`).toBeUndefined();
        if (response.status === 200) shown.push(endpoint.id);
        else expect([403, 404], `${endpoint.id} ${path} ${text}`).toContain(response.status);
      }
    }
    expect([...new Set(shown)].sort()).toStrictEqual(shown_to_support);
  });

  test('the same requests of an owner show them', async () => {
    const readTexts = async (id: string) => {
      const endpoint = operator_endpoints.find((each) => each.id === `dashboard.${id}`);
      if (!endpoint) throw new Error(`There is no endpoint ${id}.`);
      const texts: string[] = [];
      for (const path of listPaths(endpoint, records)) {
        texts.push(toText(await callEndpoint(fixture, fixture.operator, endpoint, path, bodies[endpoint.id]?.())));
      }
      return texts.join();
    };
    const { account, failure, note, problem, review, sign_in, snippet } = planted;
    const shown: Record<string, string[]> = {
      'accounts.list': [account],
      'connection-reports.get': [sign_in, note],
      'connection-reports.list': [sign_in],
      'events.get': [problem, snippet, failure],
      'jobs.export': [failure],
      'jobs.get': [account, failure, problem, review, snippet],
      'jobs.patients': [failure],
      'overview.get': [account, problem],
      'patients.find': [new_patient.first_name],
      'received.get': [failure],
      'records.get': [],
      'webhooks.get': [problem],
      'webhooks.last-error': [problem, snippet],
      'webhooks.list': [problem],
    };
    for (const [id, texts] of Object.entries(shown)) {
      const text = await readTexts(id);
      expect(detailIn(text), id).toBeDefined();
      for (const each of texts) expect(text, id).toContain(each);
    }
  });

  test('in one client applies there, whatever the operator’s other role is', async () => {
    const clients = [{ client_id: fixture.sandbox.client_id, role: 'support' as const }];
    const mixed = await newOperator(fixture, 'read_only', { clients });
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
    const newRevealer = () => newOperator(fixture, 'support', { may_reveal: true });
    const [elsewhere, there] = [await newRevealer(), await newRevealer()];
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

  test('works for a patient’s record, which a job leads to', async () => {
    const operator = await newOperator(fixture, 'support', { may_reveal: true });
    const { patient } = (await operator.get(`clients/{client}/jobs/${job_id}`)).body.job;
    const at = `clients/{client}/organizations/${patient.organization_id}`;
    const record = `${at}/records/patients/${patient.id}`;
    expect((await operator.get(record)).body).toStrictEqual({ success: true, record: {}, details_hidden: true });
    const { jobs } = (await operator.get(`${at}/patients/${patient.id}/jobs`)).body;
    expect(jobs.map((each: { job_id: number }) => each.job_id)).toContain(job_id);
    const request = { kind: 'patient', id: patient.id, reason: 'The practice asked about the chart' };
    expect((await reveal(support, request)).status).toBe(200);
    expect((await reveal(operator, request)).status).toBe(200);
    const records = await fixture.owner`SELECT actor, subject, detail, address, cardinality(patients) AS patients
      FROM audit_records WHERE action = 'dashboard.reveals.create' AND actor = ${operator.email}`;
    expect([...records]).toStrictEqual([
      {
        actor: operator.email,
        subject: patient.id,
        detail: { kind: 'patient', reason: request.reason },
        address: '127.0.0.1',
        patients: 1,
      },
    ]);
    const { body } = await operator.get(record);
    expect(body.details_hidden).toBeUndefined();
    expect(body.record).toMatchObject({ last_name: new_patient.last_name, dob: new_patient.dob });
    // One record: neither another patient, nor this one's job, nor a search for the patient's visits.
    const [other] = await fixture.owner<{ id: string }[]>`
      SELECT replace(id::text, '-', '') AS id FROM patients WHERE id <> ${patient.id} LIMIT 1`;
    expect((await operator.get(`${at}/records/patients/${other?.id}`)).body.record).toStrictEqual({});
    expect((await operator.get(`clients/{client}/jobs/${job_id}`)).body.details_hidden).toBe(true);
    const visits = await operator.post(`${at}/records/appointments/search`, { patient_mrn: body.record.mrn });
    expect(visits.body.code).toBe('operator_role_lacking');
    expect((await reveal(operator, { ...request, id: '0'.repeat(32) })).status).toBe(404);
  });

  test('works for events and received requests', async () => {
    const operator = await newOperator(fixture, 'support', { may_reveal: true });
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
  'dashboard.approvals.list',
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
  'dashboard.overview.repeatable',
  'dashboard.patients.jobs',
  'dashboard.received.get',
  'dashboard.received.list',
  'dashboard.receiver.get',
  'dashboard.records.get',
  'dashboard.requests.list',
  'dashboard.webhooks.get',
  'dashboard.webhooks.last-error',
  'dashboard.webhooks.list',
];
