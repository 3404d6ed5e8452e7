import { beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { signInToLarkspur, until } from '../../journeys/support.ts';
import { findAppointmentId } from '../support/appointments.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';
import { readOperations } from '../support/publishedOperations.ts';
import { sendDocument } from '../support/sendDocument.ts';

type Body = ApiResponse['body'];

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
  await pauseSyncs(fixture);
});

const readProvider = async (ehr_id: string): Promise<Body> => {
  const { providers } = (await fixture.api.call('GET', '/v1/providers')).body;
  return providers.find((each: Body) => each.ehr_id === ehr_id);
};

test(row('GEN-19'), async () => {
  const operations = (await readOperations(fixture.api, '/v1/', '/link/')).filter(({ takes_body }) => takes_body);
  expect(operations.length).toBeGreaterThan(10);
  for (const { method, path, url } of operations) {
    const send = async (type: string, body: string) =>
      (await fixture.api.call(method, url, { body, headers: { 'content-type': type } })).status;
    const form = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n';
    const [json, multipart] = [
      await send('application/json', '{}'),
      await send('multipart/form-data; boundary=x', form),
    ];
    if (path === '/v1/documents') expect([json, multipart !== 415], path).toStrictEqual([415, true]);
    else expect([json !== 415, multipart], path).toStrictEqual([true, 415]);
  }
  expect((await fixture.api.callIn()).status).toBe(200);
  expect((await sendDocument(fixture)).status).toBe(200);
});

test(row('GEN-20'), async () => {
  const chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  const before = await countAcceptedWork(fixture);
  const action = (is_high_priority: unknown) =>
    fixture.api.call('POST', '/v1/telephone-encounters/actions', {
      body: { emr_appointment_id: '30001', text: 'Called back.', is_high_priority },
    });
  for (const wrong of [1, 0, 'yes', 'TRUE', ['true']]) {
    const rule = /^is_high_priority must be one of: true, false$/;
    expectApiError(await fixture.api.callIn({ is_high_priority: wrong }), 400, rule, 'is_high_priority');
    expectApiError(await action(wrong), 400, rule, 'is_high_priority');
  }
  for (const flag of ['is_reviewed', 'is_high_priority']) {
    for (const wrong of ['yes', 'TRUE', '1']) {
      expectApiError(await sendDocument(fixture, { [flag]: wrong }), 400, new RegExp(`^${flag} must be`), flag);
    }
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  for (const [flag, priority] of [
    ['true', 'H'],
    ['false', 'N'],
  ] as const) {
    const event = await fixture.api.untilEvent((await fixture.api.callIn({ is_high_priority: flag })).body.job_id);
    expect((await chart.encounter(event.data.emr_encounter_id)).priority).toBe(priority);
    expect((await action(flag)).status).toBe(200);
    for (const sent of [flag, flag === 'true']) {
      await fixture.api.call('PATCH', '/v1/providers/ehr/504', { body: { hide_in_availability: sent } });
      expect((await readProvider('504')).hide_in_availability).toBe(flag === 'true');
    }
    const notes = `Sent with ${flag}`;
    expect((await sendDocument(fixture, { is_reviewed: flag, is_high_priority: flag, notes })).status).toBe(200);
    const stored = await until('the document', async () => {
      const { rows } = await chart.read('/api/patients/10001/documents');
      return rows.find((row: Body) => row.notes === notes);
    });
    expect(stored).toMatchObject({ priority, reviewedFlag: flag === 'true' ? 'Y' : 'N' });
  }
});

test(row('GEN-22'), async () => {
  const { id, ehr_id } = await readProvider('506');
  expect(id).not.toBe(ehr_id);
  const patch = (path: string) => fixture.api.call('PATCH', path, { body: { hide_in_availability: 'true' } });
  expect((await patch(`/v1/providers/${id}`)).body.provider_id).toBe(id);
  expectApiError(await patch(`/v1/providers/${ehr_id}`), 404, `Provider with ID '${ehr_id}' not found.`, 'id');
  const { patient_mrn: mrn, location_id: location } = fixture.sandbox.example;
  const datetime = `${new Date().getUTCFullYear() + 2}-07-09T09:30:00-04:00`;
  const book = (provider: string) =>
    fixture.api.call('POST', '/v1/appointments', { body: { mrn, location, provider, type: 'FU', datetime } });
  const booked = await fixture.api.untilEvent((await book(ehr_id)).body.job_id);
  expect([booked.event_type, booked.data.provider_id]).toStrictEqual(['appointment.created', ehr_id]);
  expectApiError(await book(id), 404, `Provider with EMR ID '${id}' not found.`, 'provider');
  expect((await fixture.api.callIn({ provider_id: ehr_id })).status).toBe(200);
  expectApiError(await fixture.api.callIn({ provider_id: id }), 404, `Provider with EMR ID '${id}' not found.`);
});

/** Every identifier in a response, with its path. */
function identifiersIn(value: unknown, path = ''): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]): [string, unknown][] => {
    const here = `${path}.${name}`;
    return /(^|_)id$/.test(name) ? [[here, each]] : identifiersIn(each, here);
  });
}

test(row('GEN-23'), async () => {
  const { patient_mrn: mrn } = fixture.sandbox.example;
  const needed: Record<string, string> = {
    '/v1/orders': `?patient_mrn=${mrn}`,
    '/v1/availability': '?start_date=2026-01-05&end_date=2026-01-09',
    '/v1/claims': '?page_size=1000',
    '/v1/referrals': '?start_date=2020-01-01&end_date=2099-12-31',
    '/v1/patients': '?page_size=1000',
  };
  const stored = await findAppointmentId(fixture, fixture.api);
  const called = await fixture.api.callIn();
  const responses: [string, ApiResponse][] = [
    ['call', called],
    ['document', await sendDocument(fixture)],
    ['appointment', await fixture.api.call('GET', `/v1/appointments/${stored}`)],
    ['provider', await fixture.api.call('PATCH', '/v1/providers/ehr/507', { body: { status: 'active' } })],
    ['webhook', await fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: 'http://127.0.0.1:9/' } })],
  ];
  await fixture.api.untilEvent(called.body.job_id);
  for (const { method, path } of await readOperations(fixture.api, '/v1/')) {
    if (method !== 'GET' || path.includes('{')) continue;
    responses.push([path, await fixture.api.call('GET', `${path}${needed[path] ?? ''}`)]);
  }
  const identifiers = responses.flatMap(([name, { body }]) => identifiersIn(body, name));
  expect(identifiers.length).toBeGreaterThan(1000);
  for (const [path, value] of identifiers) {
    if (/^(call|\/v1\/(jobs|accounts)\b.*)\.job_id$/.test(path)) expect(Number.isSafeInteger(value)).toBe(true);
    else if (value !== null) expect(typeof value, path).toBe('string');
  }
});
