import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { beforeAll, expect, test } from 'vitest';
import {
  LiveAlerts,
  LiveEncounter,
  LiveGuarantor,
  LiveInsurance,
  LiveMedication,
  LivePharmacy,
} from '../../../src/model/liveChart.ts';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { type Received, startReceiver } from '../../harness/servers/receiver.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { setFault, until } from '../../journeys/support.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { isoDay } from '../support/emrRecords.ts';
import { fetchLive } from '../support/fetchLive.ts';

type Body = ApiResponse['body'];

let fixture: TestSandbox;
let mrn: string;
/** The example patient in Larkspur. */
let patient: Body;
beforeAll(async () => {
  fixture = await sharedSandbox();
  mrn = fixture.sandbox.example.patient_mrn;
  [patient] = (await fixture.api.control('GET', `/control/patients?mrn=${mrn}`)).body.rows;
});

const send = (body: Record<string, unknown>) => fixture.api.call('POST', '/v1/patients/fetch', { body });
const findMrns = async (body: Record<string, unknown>): Promise<string[]> => {
  const { event_type, data } = await fetchLive(fixture.api, body);
  expect(event_type).toBe('patient.live_fetch_completed');
  return data.patients.map((each: Body) => each.mrn);
};
/** The MRNs of the patients in Larkspur that match. */
const whoIs = async (test: (each: Body) => boolean): Promise<string[]> => {
  const { rows } = (await fixture.api.control('GET', '/control/patients')).body;
  return rows.filter(test).map((each: Body) => each.mrn);
};
async function expectRequestRejected(body: Record<string, unknown>, field: string): Promise<void> {
  const before = await countAcceptedWork(fixture);
  expectApiError(await send(body), 400, new RegExp(`\\b${field}\\b`), field);
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
}

test(row('FET-01'), async () => {
  const criteria = { dob: isoDay(patient.birthDate), first_name: 'A', last_name: 'B', phone: '518-555-0100', mrn };
  for (const search_by of ['dob', 'name', 'phone', 'mrn']) {
    expect((await send({ ...criteria, search_by })).status, search_by).toBe(200);
  }
  for (const search_by of ['ssn', 'MRN', 'names', 5, ['dob']]) {
    await expectRequestRejected({ ...criteria, search_by }, 'search_by');
  }
});

test(row('FET-02'), async () => {
  const same = await whoIs(({ birthDate }) => birthDate === patient.birthDate);
  expect((await findMrns({ search_by: 'dob', dob: isoDay(patient.birthDate) })).sort()).toStrictEqual(same.sort());
  for (const dob of [patient.birthDate, '1990-1-2', '19900102', '1990-02-30', '90-01-02', '']) {
    await expectRequestRejected({ search_by: 'dob', dob }, 'dob');
  }
});

test(row('FET-03'), async () => {
  const { firstName: first_name, lastName: last_name } = patient;
  expect(await findMrns({ search_by: 'name', first_name, last_name })).toContain(mrn);
  expect(await findMrns({ search_by: 'name', first_name, last_name: 'Nobodyhere' })).toStrictEqual([]);
  expect(await findMrns({ search_by: 'name', first_name: 'Nobodyhere', last_name })).toStrictEqual([]);
});

test(row('FET-04'), async () => {
  await fixture.api.control('PATCH', `/control/patients/${patient.patientId}`, { homePhone: '518-555-7301' });
  expect(await findMrns({ search_by: 'phone', phone: '518-555-7301' })).toStrictEqual([mrn]);
  for (const phone of ['5185557301', '518-5557301', '(518) 555-7301', '518-555-730', '518-555-73011']) {
    await expectRequestRejected({ search_by: 'phone', phone }, 'phone');
  }
});

test(row('FET-05'), async () => {
  expect(await findMrns({ search_by: 'mrn', mrn })).toStrictEqual([mrn]);
  expect(await findMrns({ search_by: 'mrn', mrn: 'LK100007' })).toStrictEqual(['LK100007']);
});

test(row('FET-06'), async () => {
  expect((await send({ search_by: 'mrn', mrn })).status).toBe(200);
  expect((await send({ search_by: 'mrn', mrn, include: 'insurances' })).status).toBe(200);
  for (const include of ['claims', 'Insurances', 'insurances,claims', ['insurances', 'claims'], ['claims'], 5, true]) {
    await expectRequestRejected({ search_by: 'mrn', mrn, include }, 'include');
  }
});

test(row('FET-07'), async () => {
  for (const include of ['insurances', 'insurances,insurances', 'insurances, insurances']) {
    const { data } = await fetchLive(fixture.api, { search_by: 'mrn', mrn, include });
    expect(data.insurances.length, include).toBeGreaterThan(0);
  }
});

test(row('FET-08'), async () => {
  const { data } = await fetchLive(fixture.api, { search_by: 'mrn', mrn, include: ['insurances'] });
  expect(data.insurances.length).toBeGreaterThan(0);
  await expectRequestRejected({ search_by: 'mrn', mrn, include: [5] }, 'include');
});

test(row('FET-09'), async () => {
  const receiver = await startReceiver();
  try {
    const body = { webhook_url: receiver.url, event_types: ['patient.live_fetch_completed'] };
    await fixture.api.call('POST', '/v1/webhook', { body });
    const { job_id } = (await send({ search_by: 'mrn', mrn, include: 'insurances' })).body;
    const sent = () => receiver.received.map((each: Received): Body => JSON.parse(each.body));
    const event = await until('the webhook', async () => sent().find((each) => each.job_id === `${job_id}`));
    expect(event.type).toBe('patient.live_fetch_completed');
    for (const field of ['insurance_name', 'insurance_subscriber_number', 'last_appointment_date']) {
      expect(event.data[field], field).toEqual(expect.any(String));
    }
    for (const field of ['insurances', 'guarantors', 'medications', 'pharmacies', 'encounters']) {
      expect(event.data[field], field).toEqual(expect.any(Array));
    }
    for (const field of ['patient_balance', 'account_balance']) {
      expect(event.data[field], field).toEqual(expect.any(Number));
    }
    expect(event.data).toMatchObject({ mrn, alerts: { global_alerts: expect.any(Array) } });
  } finally {
    await receiver.close();
  }
});

test(row('DEC-173'), async () => {
  const before = await countAcceptedWork(fixture);
  for (const search_by of [undefined, null, '']) {
    expectApiError(await send({ search_by, mrn }), 400, 'Missing required field: search_by', 'search_by');
  }
  const rule = 'search_by must be one of: dob, name, phone, mrn';
  expectApiError(await send({ search_by: 'email', mrn }), 400, rule, 'search_by');
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
});

test(row('DEC-174'), async () => {
  const all = { dob: '1990-01-02', first_name: 'A', last_name: 'B', phone: '518-555-0100', mrn };
  const before = await countAcceptedWork(fixture);
  for (const [search_by, field] of [
    ['dob', 'dob'],
    ['name', 'first_name'],
    ['name', 'last_name'],
    ['phone', 'phone'],
    ['mrn', 'mrn'],
  ] as const) {
    const response = await send({ ...all, search_by, [field]: undefined });
    expectApiError(response, 400, `Missing required field: ${field}`, field);
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  for (const own of [
    { search_by: 'dob', dob: all.dob },
    { search_by: 'name', first_name: all.first_name, last_name: all.last_name },
    { search_by: 'phone', phone: all.phone },
    { search_by: 'mrn', mrn: all.mrn },
  ]) {
    expect((await send(own)).status).toBe(200);
  }
  // Nobody matches the other criteria.
  const others = { dob: '1890-01-02', first_name: 'Nobodyhere', last_name: 'Nobodyhere', phone: '518-555-0000' };
  expect(await findMrns({ ...others, search_by: 'mrn', mrn })).toStrictEqual([mrn]);
  expect(await findMrns({ mrn, search_by: 'name', first_name: 'Nobodyhere', last_name: 'Nobodyhere' })).toStrictEqual(
    [],
  );
});

test(row('DEC-175'), async () => {
  const plain = await fetchLive(fixture.api, { search_by: 'mrn', mrn });
  const more = await fetchLive(fixture.api, { search_by: 'mrn', mrn, include: 'insurances' });
  expect(Object.keys(more.data).filter((field) => !(field in plain.data))).toStrictEqual(['insurances']);
});

test(row('DEC-176'), async () => {
  const { status, body } = await send({ search_by: 'mrn', mrn });
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, message: expect.stringMatching(/./), job_id: expect.any(Number) });
});

test(row('DEC-177'), async () => {
  const names = { firstName: 'Twin', lastName: 'Sameday', birthDate: '03/04/1911' };
  for (const sexCode of ['M', 'F']) await fixture.api.control('POST', '/control/patients', { ...names, sexCode });
  const { event_type, data } = await fetchLive(fixture.api, { search_by: 'dob', dob: '1911-03-04' });
  expect(event_type).toBe('patient.live_fetch_completed');
  expect(data).toStrictEqual({ success: true, patient_count: 2, patients: expect.any(Array) });
  expect(data.patients.map((each: Body) => each.sex).sort()).toStrictEqual(['female', 'male']);
});

test(row('DEC-178'), async () => {
  const { event_type, data, job_id } = await fetchLive(fixture.api, { search_by: 'mrn', mrn: 'NOBODY' });
  expect(event_type).toBe('patient.live_fetch_completed');
  expect(data).toStrictEqual({ success: true, patient_count: 0, patients: [] });
  expect((await fixture.api.job(job_id)).status).toBe('succeeded');
});

test(row('DEC-179'), async () => {
  const one = await fetchLive(fixture.api, { search_by: 'mrn', mrn });
  const { success, patient_count, patients, ...direct } = one.data;
  expect([success, patient_count]).toStrictEqual([true, 1]);
  expect(patients).toStrictEqual([direct]);
  expect(direct).toMatchObject({ mrn, first_name: patient.firstName, last_name: patient.lastName });
});

test(row('DEC-180'), async () => {
  const many = { firstName: 'Crowd', lastName: 'Member', birthDate: '05/06/1912' };
  await Promise.all(Array.from({ length: 51 }, () => fixture.api.control('POST', '/control/patients', many)));
  const { event_type, data, job_id } = await fetchLive(fixture.api, { search_by: 'dob', dob: '1912-05-06' });
  expect(event_type).toBe('patient.live_fetch_failed');
  expect(data.failure_reason).toMatch(/\w+ \w+/);
  expect(data).not.toHaveProperty('patients');
  expect((await fixture.api.job(job_id)).status).toBe('failed');
});

test('parts of the chart match their schemas', async () => {
  const { data } = await fetchLive(fixture.api, { search_by: 'mrn', mrn, include: 'insurances' });
  const lists = { medications: LiveMedication, pharmacies: LivePharmacy, encounters: LiveEncounter };
  for (const [name, schema] of Object.entries({ ...lists, insurances: LiveInsurance })) {
    expect([...Compile(Type.Array(schema)).Errors(data[name])], name).toStrictEqual([]);
    expect(data[name].length, name).toBeGreaterThan(0);
  }
  expect([...Compile(LiveAlerts).Errors(data.alerts)]).toStrictEqual([]);
  const mrns = Array.from({ length: 12 }, (_, n) => `LK1000${n + 10}`);
  const charts = await Promise.all(mrns.map((each) => fetchLive(fixture.api, { search_by: 'mrn', mrn: each })));
  const guarantors = charts.flatMap((event) => event.data.guarantors);
  expect(guarantors.length).toBeGreaterThan(0);
  expect([...Compile(Type.Array(LiveGuarantor)).Errors(guarantors)]).toStrictEqual([]);
});

test('returns changes that are not synced yet', async () => {
  const other = 'LK100150';
  const listed = async () => (await fixture.api.call('GET', `/v1/patients?mrn=${other}`)).body.patients[0];
  const { ehr_id, email } = await listed();
  await fixture.api.control('PATCH', `/control/patients/${ehr_id}`, { email: 'changed@example.org' });
  expect((await fetchLive(fixture.api, { search_by: 'mrn', mrn: other })).data.email).toBe('changed@example.org');
  expect((await listed()).email).toBe(email);
  await fixture.api.control('PATCH', `/control/patients/${ehr_id}`, { email });
});

test('ignores the criteria of other methods', async () => {
  expect(await findMrns({ search_by: 'dob', dob: isoDay(patient.birthDate), mrn: 'NOBODY' })).toContain(mrn);
});

test('completes with empty or null values if guarantors, balances and alerts cannot be read', async () => {
  for (const operation of ['list_guarantors', 'get_balances', 'get_alerts']) {
    await setFault(fixture.api, operation, 'error_500');
  }
  const { event_type, data } = await fetchLive(fixture.api, { search_by: 'mrn', mrn });
  expect(event_type).toBe('patient.live_fetch_completed');
  expect(data).toMatchObject({ guarantors: [], patient_balance: null, account_balance: null, alerts: null });
});

test.each([
  [{ search_by: 'dob', dob: '1990-02-30' }, 'dob must be a date that exists, in the form YYYY-MM-DD'],
  [{ search_by: 'phone', phone: '5550100' }, 'phone must be a phone number in the form NNN-NNN-NNNN'],
  [{ search_by: 'mrn', mrn: 'x', include: 'claims' }, 'include takes only: insurances, tasks'],
  [{ search_by: 'mrn', mrn: 'x', include: 5 }, 'include must be a comma-separated string or an array of strings'],
])('explains the rule that %o violates', async (body, message) => {
  expectApiError(await send(body), 400, message);
});
