import { afterAll, beforeAll, expect, test } from 'vitest';
import { errors } from '../../../src/catalog/errors.ts';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { expireAccount } from '../support/expireAccount.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';
import { readOperations } from '../support/publishedOperations.ts';
import { sendDocument } from '../support/sendDocument.ts';
import { type CollectedError, collectErrors } from './collectErrors.ts';

let fixture: TestSandbox;
let collected: CollectedError[];
let login_required: ApiResponse;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await pauseSyncs(fixture);
  collected = await collectErrors(fixture);
  const { api } = await expireAccount(fixture, 'expired-user', 3);
  login_required = await api.call('GET', '/v1/providers');
  // The EMR has expired every link; the sandbox account is needed again.
  await fixture.api.link({ access_token: fixture.sandbox.access_token });
});
afterAll(() => fixture.close());

test(row('DEC-023'), async () => {
  const operations = await readOperations(fixture.api, '/v1/', '/link/');
  const responses: { status: number; headers: Headers }[] = [];
  for (const { method, url } of operations) responses.push(await fixture.api.call(method, url));
  for (const page of ['/healthz', '/readyz', '/metrics', '/docs', '/openapi.json']) {
    responses.push(await fixture.api.call('GET', page));
  }
  responses.push(await sendDocument(fixture), login_required);
  const ids = [
    ...responses.map(({ headers }) => headers.get('x-request-id')),
    ...collected.map((each) => each.request_id),
  ];
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(ids).size).toBe(ids.length);
  expect(responses.some(({ status }) => status === 200)).toBe(true);
});

test(row('DEC-024'), () => {
  expect(collected.length).toBeGreaterThan(30);
  for (const { what, body } of [...collected, { what: 'login_required', body: login_required.body }]) {
    expect(body, what).toMatchObject({ success: false, message: expect.stringMatching(/\w/) });
  }
});

test(row('DEC-025'), () => {
  for (const { what, status, body } of collected) {
    expect(errors, what).toHaveProperty(body.code);
    expect(errors[body.code as keyof typeof errors].status, what).toBe(status);
  }
  expect(new Set(collected.map(({ body }) => body.code)).size).toBeGreaterThan(25);
  expect(login_required.body).not.toHaveProperty('code');
});

test(row('DEC-026'), () => {
  for (const { what, body, request_id } of collected) {
    expect(body.request_id, what).toMatch(/^[0-9a-f]{32}$/);
    expect(body.request_id, what).toBe(request_id);
  }
  expect(login_required.body).not.toHaveProperty('request_id');
});

test(row('DEC-027'), () => {
  const fields = Object.fromEntries(collected.map(({ what, body }) => [what, body.field]));
  expect(fields).toMatchObject({
    'a missing field': 'patient_mrn',
    'an unknown field': 'nonsense',
    'an unknown parameter': 'nonsense',
    'a wrong type': 'caller',
    'a limit': 'reason',
    'an unknown reference': 'provider_id',
    'a large document': 'document',
    'no document': 'document',
    'a personal user_id': 'user_id',
    'an unknown EMR': 'emr_name',
    'another domain': 'emr_instance_domain',
    'an unknown callback': 'callback_url',
    'update mode without an account': 'access_token',
    'a bad webhook address': 'webhook_url',
    'an unknown public token': 'public_token',
    'an unknown link token': 'link_token',
  });
  for (const { what, body } of collected) {
    if (['no such endpoint', 'no client', 'too many requests', 'a large body', 'no field at all'].includes(what)) {
      expect(body, what).not.toHaveProperty('field');
    }
  }
});

test(row('DEC-028'), () => {
  expect(login_required.status).toBe(403);
  expect(login_required.body).toStrictEqual({
    success: false,
    error: 'login_required',
    message: expect.stringMatching(/expired/),
  });
  for (const { what, body } of collected) expect(body, what).not.toHaveProperty('error');
});

test(row('DEC-029'), async () => {
  const { patient_mrn: mrn, location_id: location, provider_id: provider, ...ids } = fixture.sandbox.example;
  const { id } = (await fixture.api.call('GET', '/v1/locations')).body.locations[0];
  const datetime = `${new Date().getUTCFullYear() + 2}-07-09T09:30:00-04:00`;
  const call = { patient_mrn: mrn, location_id: location, provider_id: provider, assigned_to_id: ids.assigned_to_id };
  const before = await countAcceptedWork(fixture);
  for (const [method, path, body] of [
    ['POST', '/v1/telephone-encounters', call],
    ['POST', '/v1/telephone-encounters/actions', { emr_appointment_id: '30001', text: 't' }],
    ['POST', '/v1/appointments', { mrn, location, provider, type: 'FU', datetime }],
    ['POST', '/v1/patients/fetch', { search_by: 'mrn', mrn }],
    ['POST', '/v1/patients', { first_name: 'N', last_name: 'New', dob: '1990-01-31', sex: 'male' }],
    ['POST', `/v1/patients/${mrn}/insurances`, { member_id: 'M1', insurance_name: 'Mock Mutual' }],
    ['POST', '/v1/sync', {}],
    ['POST', '/v1/webhook', { webhook_url: 'http://127.0.0.1:9/' }],
    ['POST', '/v1/webhook/rotate-secret', {}],
    ['PATCH', '/v1/providers/ehr/501', { status: 'active' }],
    ['PATCH', `/v1/locations/${id}`, { status: 'active' }],
    ['POST', '/link/token/create', { user_id: 'u', org_id: fixture.sandbox.org_id }],
  ] as const) {
    const sent = (more: object) => fixture.api.call(method, path, { body: { ...body, ...more } });
    const one = 'Unexpected fields in request body: refil_name';
    expectApiError(await sent({ refil_name: 'x' }), 400, one, 'refil_name');
    expectApiError(await sent({ refil_name: 'x', Status: 1, z: null }), 400, `${one}, Status, z`);
  }
  const form = await sendDocument(fixture, { folder: 'x', note: 'y' });
  expectApiError(form, 400, 'Unexpected fields in request body: folder, note');
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
});

test(row('DEC-030'), async () => {
  const needed: Record<string, string> = {
    '/v1/orders': 'patient_mrn=x&',
    '/v1/appointments': 'start_date=2026-01-01&end_date=2026-01-02&',
    '/v1/referrals': 'start_date=2026-01-01&end_date=2026-01-02&',
    '/v1/availability': 'start_date=2026-01-01&end_date=2026-01-02&',
    '/link/token/exchange': 'public_token=x&',
    '/link/directory': 'query=x&',
  };
  const operations = await readOperations(fixture.api, '/v1/', '/link/');
  for (const { method, path, url, media_type } of operations) {
    if (media_type === 'multipart/form-data') continue;
    const response = await fixture.api.call(method, `${url}?${(method === 'GET' && needed[path]) || ''}lastname=x`);
    expectApiError(response, 400, 'Unexpected query parameters: lastname', 'lastname');
  }
  const two = await fixture.api.call('GET', '/v1/patients?lastname=x&Mrn=y');
  expectApiError(two, 400, 'Unexpected query parameters: lastname, Mrn');
});

test(row('DEC-031'), async () => {
  const shift = { start: 'T09:00:00', end: 'T10:00:00' };
  const recurring = (recur_interval_amount: unknown) => ({ rec_start_date: '2026-01-01', recur_interval_amount });
  const rule = (total_visits: unknown) => ({
    start_time: '09:00:00',
    end_time: '10:00:00',
    visit_type_id: 'FU',
    total_visits,
  });
  const hours = (more: object) => ({ hours: [{ day: 'Monday', shifts: [{ ...shift, ...more }] }] });
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = fixture.sandbox.example;
  const datetime = `${new Date().getUTCFullYear() + 2}-07-09T09:30:00-04:00`;
  const visit = { mrn, location, provider, type: 'FU', datetime };
  const before = await countAcceptedWork(fixture);
  for (const [method, path, field, good, bad] of [
    [
      'PATCH',
      '/v1/providers/ehr/501',
      'hours[0].shifts[0].recurrence.recur_interval_amount',
      hours({ recurrence: recurring(5) }),
      hours({ recurrence: recurring('5') }),
    ],
    [
      'PATCH',
      '/v1/providers/ehr/501',
      'hours[0].shifts[0].visit_type_rules[0].total_visits',
      hours({ visit_type_rules: [rule(5)] }),
      hours({ visit_type_rules: [rule('5')] }),
    ],
    ['POST', '/v1/appointments', 'duration', undefined, { ...visit, duration: 5 }],
    ['POST', '/v1/appointments', 'new_patient', undefined, { ...visit, new_patient: 1 }],
    ['POST', '/v1/patients/fetch', 'mrn', undefined, { search_by: 'mrn', mrn: 100001 }],
    [
      'POST',
      '/v1/webhook',
      'event_types',
      undefined,
      { webhook_url: 'http://127.0.0.1:9/', event_types: 'login_required' },
    ],
    ['POST', '/link/token/create', 'user_id', undefined, { user_id: 5, org_id: fixture.sandbox.org_id }],
  ] as const) {
    if (good) expect((await fixture.api.call(method, path, { body: good })).status).toBe(200);
    const rejected = await fixture.api.call(method, path, { body: bad });
    expectApiError(rejected, 400, /\bmust be\b/, field);
    expect(rejected.body.message.startsWith(field)).toBe(true);
  }
  for (const [field, value] of [
    ['patient_mrn', 5],
    ['caller', 5],
    ['message', true],
    ['reason', ['r']],
    ['is_high_priority', 1],
    ['provider_id', 501],
  ] as const) {
    expectApiError(await fixture.api.callIn({ [field]: value }), 400, new RegExp(`^${field} must be`), field);
  }
  // Query parameters are strings; those that do not read as a whole number are rejected.
  for (const page of ['1.5', '1e2', '1%201', 'one', '0x1', '']) {
    expectApiError(await fixture.api.call('GET', `/v1/patients?page=${page}`), 400, /^page must be/, 'page');
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
});
