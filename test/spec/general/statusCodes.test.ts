import { beforeAll, expect, test } from 'vitest';
import { expectApiError, raw } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { createPdf } from '../../harness/documents.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { findAppointmentId } from '../support/appointments.ts';
import { examplePatientId } from '../support/completedJobs.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';
import { readOperations } from '../support/publishedOperations.ts';
import { sendDocument } from '../support/sendDocument.ts';

type Fields = Record<string, unknown>;

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
  await pauseSyncs(fixture);
});

const datetime = `${new Date().getUTCFullYear() + 2}-07-09T09:30:00-04:00`;
const visit = () => {
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = fixture.sandbox.example;
  return { mrn, location, provider, type: 'FU', datetime };
};
const call = () => {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = fixture.sandbox.example;
  return { patient_mrn, provider_id, location_id, assigned_to_id };
};
const post = (path: string) => (body: Fields) => fixture.api.call('POST', path, { body });
const get = (path: string) => (query: Fields) =>
  fixture.api.call('GET', `${path}?${new URLSearchParams(JSON.parse(JSON.stringify(query)))}`);

/** Every request with required fields, in the order of the checks, with valid values. */
const required = (): [name: string, send: (fields: Fields) => Promise<ApiResponse>, good: Fields][] => [
  ['telephone encounter', post('/v1/telephone-encounters'), call()],
  ['action', post('/v1/telephone-encounters/actions'), { emr_appointment_id: '30001', text: 'Called back.' }],
  ['appointment', (body) => post('/v1/appointments')({ ...body, datetime }), { ...visit(), datetime: undefined }],
  ['link token', post('/link/token/create'), { user_id: 'u', org_id: fixture.sandbox.org_id }],
  ['patient', post('/v1/patients'), { first_name: 'N', last_name: 'New', dob: '1990-01-31', sex: 'male' }],
  [
    'insurance',
    (body) => post('/v1/patients/LK100001/insurances')({ ...body, insurance_name: 'Mock Mutual' }),
    { member_id: 'M1' },
  ],
  ['webhook', post('/v1/webhook'), { webhook_url: 'http://127.0.0.1:9/' }],
  ['fetch', (body) => post('/v1/patients/fetch')({ ...body, mrn: 'x' }), { search_by: 'mrn' }],
  ['orders', get('/v1/orders'), { patient_mrn: 'x' }],
  ['availability', get('/v1/availability'), { start_date: '2026-01-01', end_date: '2026-01-02' }],
  [
    'document',
    ({ document, ...fields }) =>
      sendDocument(fixture, { folder_name: undefined, patient_mrn: undefined, ...fields }, document ? undefined : null),
    { folder_name: 'Letters', patient_mrn: fixture.sandbox.example.patient_mrn, document: true },
  ],
];

test(row('DEC-035'), async () => {
  const { id } = (await fixture.api.call('GET', '/v1/locations')).body.locations[0];
  const stored = await findAppointmentId(fixture, fixture.api);
  const booked = (await fixture.api.call('GET', `/v1/appointments/${stored}`)).body.appointment;
  const [check] = (await fixture.api.call('GET', '/v1/eligibility-checks?page_size=1')).body.eligibility_checks;
  const { webhook_id } = (await post('/v1/webhook')({ webhook_url: 'http://127.0.0.1:9/read' })).body;
  const accepted = await post('/v1/telephone-encounters')(call());
  const reads = (await readOperations(fixture.api, '/v1/')).filter(({ method }) => method === 'GET');
  const needed: Record<string, string> = {
    '/v1/orders': '/v1/orders?patient_mrn=x',
    '/v1/availability': '/v1/availability?start_date=2026-01-01&end_date=2026-01-02',
    '/v1/jobs/{job_id}': `/v1/jobs/${accepted.body.job_id}`,
    '/v1/appointments/{id}': `/v1/appointments/${stored}`,
    '/v1/appointments': '/v1/appointments?start_date=2026-01-01&end_date=2026-01-02',
    '/v1/referrals': '/v1/referrals?start_date=2026-01-01&end_date=2026-01-02',
    '/v1/appointments/ehr/{ehr_id}': `/v1/appointments/ehr/${booked.ehr_appointment_id}`,
    '/v1/patients/{id}': `/v1/patients/${await examplePatientId(fixture)}`,
    '/v1/patients/{patient_mrn}/insurances': `/v1/patients/${fixture.sandbox.example.patient_mrn}/insurances`,
    '/v1/eligibility-checks/{id}/benefits': `/v1/eligibility-checks/${check.id}/benefits`,
    '/v1/documents/{id}': `/v1/documents/${(await sendDocument(fixture)).body.document_id}`,
    '/v1/webhook/{id}/deliveries': `/v1/webhook/${webhook_id}/deliveries`,
  };
  for (const { path } of reads) {
    expect((await fixture.api.call('GET', needed[path] ?? path)).status, path).toBe(200);
  }
  const writes = [
    accepted,
    await post('/v1/telephone-encounters/actions')({ emr_appointment_id: '30001', text: 'x' }),
    await post('/v1/appointments')(visit()),
    await post('/v1/patients/fetch')({ search_by: 'mrn', mrn: 'x' }),
    await post('/v1/sync')({}),
    await sendDocument(fixture),
    await fixture.api.call('PATCH', '/v1/providers/ehr/501', { body: { status: 'active' } }),
    await fixture.api.call('PATCH', `/v1/locations/${id}`, { body: { status: 'active' } }),
    await post('/v1/webhook')({ webhook_url: 'http://127.0.0.1:9/' }),
    await post('/link/token/create')({ user_id: 'u', org_id: fixture.sandbox.org_id }),
  ];
  for (const { status, body } of writes) expect([status, body.success]).toStrictEqual([200, true]);
});

test(row('DEC-036'), async () => {
  const before = await countAcceptedWork(fixture);
  for (const [name, send, good] of required()) {
    for (const field of Object.keys(good).filter((each) => good[each] !== undefined)) {
      const response = await send({ ...good, [field]: undefined });
      expect(response.body.message, name).toBe(`Missing required field: ${field}`);
      expectApiError(response, 400, `Missing required field: ${field}`, field);
    }
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  for (const [name, send, good] of required()) expect((await send(good)).status, name).toBe(200);
});

test(row('DEC-037'), async () => {
  for (const [name, fields] of [
    ['telephone encounter', ['patient_mrn', 'provider_id', 'location_id', 'assigned_to_id']],
    ['action', ['emr_appointment_id', 'text']],
    ['link token', ['user_id', 'org_id']],
    ['document', ['folder_name', 'patient_mrn', 'document']],
  ] as const) {
    const [, send, good] = required().find(([each]) => each === name) ?? [];
    const sent: Fields = {};
    for (const field of fields) {
      const response = await send?.({ ...sent });
      expect(response?.body.message, name).toBe(`Missing required field: ${field}`);
      sent[field] = good?.[field];
    }
    expect((await send?.(sent))?.status, name).toBe(200);
  }
});

test(row('DEC-038'), async () => {
  const at = (fields: Fields) => fixture.api.callIn(fields);
  const before = await countAcceptedWork(fixture);
  for (const [response, field, message] of [
    [await at({ reason: 'r'.repeat(51) }), 'reason', 'Reason exceeds maximum length of 50 characters'],
    [
      await at({ refill_medication_name: 'x' }),
      'refill_medication_name',
      'refill_medication_name must be at least 2 characters',
    ],
    [
      await at({ refill_medication_name: 'x'.repeat(51) }),
      'refill_medication_name',
      'refill_medication_name exceeds maximum length of 50 characters',
    ],
    [await at({ caller: 'c'.repeat(101) }), 'caller', 'caller exceeds maximum length of 100 characters'],
    [await at({ is_high_priority: 'yes' }), 'is_high_priority', 'is_high_priority must be one of: true, false'],
    [await at({ message: 5 }), 'message', 'message must be a string'],
    [
      await post('/v1/appointments')({ ...visit(), duration: '0' }),
      'duration',
      /^duration must be a number of minutes/,
    ],
    [await post('/v1/appointments')({ ...visit(), datetime: 'soon' }), 'datetime', /^datetime must be .*ISO 8601/],
    [await get('/v1/claims')({ page_size: '1001' }), 'page_size', 'page_size must be at most 1000'],
    [await get('/v1/claims')({ start_date: '2026-02-30' }), 'start_date', /^start_date must be a date.*YYYY-MM-DD/],
    [await get('/v1/patients')({ page: '0' }), 'page', 'page must be at least 1'],
    [await get('/v1/webhook-events')({ job_id: 'x' }), 'job_id', /^job_id must be an integer/],
    [
      await sendDocument(fixture, { notes: 'n'.repeat(1001) }),
      'notes',
      /^notes exceeds maximum length of 1000 characters/,
    ],
    [
      await fixture.api.call('PATCH', '/v1/providers/ehr/501', { body: { status: 'gone' } }),
      'status',
      /^status must be one of: active, inactive/,
    ],
  ] as const) {
    expectApiError(response, 400, message, field);
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
});

test(row('DEC-059'), async () => {
  const { client_id, client_secret, access_token, base_url } = fixture.sandbox;
  const headers = { client_id, client_secret, access_token, 'content-type': 'application/json' };
  const sized = (bytes: number) => `{${' '.repeat(bytes - 2)}}`;
  for (const [bytes, status] of [
    [1_048_575, 200],
    [1_048_576, 200],
    [1_048_577, 413],
  ] as const) {
    const body = sized(bytes);
    const response = await raw(base_url, {
      method: 'POST',
      path: '/v1/sync',
      headers: { ...headers, 'content-length': `${bytes}` },
      body,
    });
    expect(response.status, `${bytes}`).toBe(status);
    if (status === 413) expect(JSON.parse(response.text).code).toBe('body_too_large');
  }
  expect((await sendDocument(fixture, {}, createPdf(5_242_880))).status).toBe(200);
  const document = await sendDocument(fixture, {}, createPdf(5_242_881));
  expectApiError(document, 413, 'document exceeds the maximum size of 5 MB.', 'document');
});

test(row('DEC-060'), async () => {
  for (const { method, path, url, media_type, takes_body } of await readOperations(fixture.api, '/v1/', '/link/')) {
    if (!takes_body) continue;
    const wrong = ['text/plain', 'application/x-www-form-urlencoded', 'application/xml'];
    wrong.push(media_type === 'application/json' ? 'multipart/form-data; boundary=x' : 'application/json');
    for (const type of wrong) {
      const response = await fixture.api.call(method, url, { body: '{}', headers: { 'content-type': type } });
      expectApiError(response, 415, /^Content-Type must be /);
      expect(response.body.message, `${path} ${type}`).toContain(media_type);
    }
  }
});

test(row('DEC-072'), async () => {
  const needed: Record<string, string> = {
    '/v1/orders': 'patient_mrn=x',
    '/v1/availability': 'start_date=2026-01-01&end_date=2026-01-02',
  };
  const paged = [];
  for (const { method, path } of await readOperations(fixture.api, '/v1/')) {
    if (method !== 'GET' || path.includes('{')) continue;
    const { pagination } = (await fixture.api.call('GET', `${path}?${needed[path] ?? ''}`)).body;
    if (pagination === undefined) continue;
    paged.push(path);
    const { page_size, total_count } = pagination;
    const total_pages = Math.ceil(total_count / page_size);
    expect(pagination, path).toStrictEqual({ page: 1, current_page: 1, page_size, total_count, total_pages });
    const second = (await fixture.api.call('GET', `${path}?page=2&page_size=7`)).body.pagination;
    expect(second, path).toStrictEqual({
      page: 2,
      current_page: 2,
      page_size: 7,
      total_count: expect.any(Number),
      total_pages: Math.ceil(second.total_count / 7),
    });
  }
  expect(paged).toStrictEqual(
    expect.arrayContaining(['/v1/patients', '/v1/claims', '/v1/insurance-providers', '/v1/webhook-events']),
  );
});
