import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiAs, expectApiError, newClient } from '../../../api/support.ts';
import type { Api, ApiResponse } from '../../../harness/api.ts';
import { row } from '../../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../../harness/sandbox.ts';
import { until } from '../../../journeys/support.ts';
import { findAppointmentId } from '../../support/appointments.ts';
import { countAcceptedWork } from '../../support/databaseState.ts';
import { pauseSyncs } from '../../support/pauseSyncs.ts';
import { sendDocument } from '../../support/sendDocument.ts';

let fixture: TestSandbox;
/** Another organization of this client, and another client, both with records of every kind. */
let second: Api;
let other: Api;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await pauseSyncs(fixture, 'list_claims');
  second = apiAs(fixture, {
    access_token: await fixture.api.link({ user_id: 'second', org_id: 'second-org', staff: 1 }),
  });
  const client = await newClient(fixture);
  const access_token = await client.api.link({ user_id: 'other', org_id: 'other-org', staff: 2 });
  other = apiAs(fixture, { ...client, access_token });
  for (const api of [second, other]) {
    await until('the first sync', async () => (await findAppointmentId(fixture, api)) !== undefined);
  }
});
afterAll(() => fixture.close());

const unknown_id = '0'.repeat(32);
const datetime = `${new Date().getUTCFullYear() + 2}-07-09T09:30:00-04:00`;
const book = (fields: object) => {
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = fixture.sandbox.example;
  const body = { mrn, location, provider, type: 'FU', datetime, ...fields };
  return fixture.api.call('POST', '/v1/appointments', { body });
};
const patch = (path: string) => fixture.api.call('PATCH', path, { body: { status: 'active' } });

test(row('DEC-050'), async () => {
  const before = await countAcceptedWork(fixture);
  const shifts = [{ start: 'T09:00:00', end: 'T10:00:00', facility_id: '99' }];
  const hours = { body: { hours: [{ day: 'Monday', shifts }] } };
  const days = 'start_date=2026-01-01&end_date=2026-01-02';
  for (const [response, message, field] of [
    [await fixture.api.callIn({ provider_id: '599' }), "Provider with EMR ID '599' not found.", 'provider_id'],
    [await fixture.api.callIn({ assigned_to_id: '799' }), "Staff member with ID '799' not found.", 'assigned_to_id'],
    [await fixture.api.callIn({ location_id: '99' }), "Location with EMR ID '99' not found.", 'location_id'],
    [
      await fixture.api.callIn({ pharmacy_ehr_id: '9999' }),
      "Pharmacy with EMR ID '9999' not found.",
      'pharmacy_ehr_id',
    ],
    [await book({ provider: '599' }), "Provider with EMR ID '599' not found.", 'provider'],
    [await book({ secondary_provider: '599' }), "Provider with EMR ID '599' not found.", 'secondary_provider'],
    [await book({ location: '99' }), "Location with EMR ID '99' not found.", 'location'],
    [
      await sendDocument(fixture, { emr_assigned_to_id: '799' }),
      "Staff member with ID '799' not found.",
      'emr_assigned_to_id',
    ],
    [await patch('/v1/providers/ehr/599'), "Provider with EMR ID '599' not found.", 'ehr_id'],
    [await patch(`/v1/providers/${unknown_id}`), `Provider with ID '${unknown_id}' not found.`, 'id'],
    [await patch(`/v1/locations/${unknown_id}`), `Location with ID '${unknown_id}' not found.`, 'id'],
    [await fixture.api.call('PATCH', '/v1/providers/ehr/501', hours), "Location with EMR ID '99' not found.", 'hours'],
    [
      await fixture.api.call('GET', `/v1/availability?${days}&provider_ids=599`),
      "Provider with EMR ID '599' not found.",
      'provider_ids',
    ],
    [
      await fixture.api.call('GET', `/v1/availability?${days}&location_ids=99`),
      "Location with EMR ID '99' not found.",
      'location_ids',
    ],
  ] as const) {
    expectApiError(response, 404, message, field);
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
});

test(row('DEC-051'), async () => {
  const before = await countAcceptedWork(fixture);
  const path = `/v1/patients/${fixture.sandbox.example.patient_mrn}/insurances`;
  for (const insurance_provider_id of [unknown_id, '301', 'x']) {
    const message = `Insurance provider with ID '${insurance_provider_id}' not found.`;
    const add = { body: { member_id: 'M1', insurance_provider_id } };
    expectApiError(await fixture.api.call('POST', path, add), 404, message, 'insurance_provider_id');
    const change = { body: { insurance_provider_id } };
    expectApiError(await fixture.api.call('PATCH', `${path}/85001`, change), 404, message, 'insurance_provider_id');
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
});

test(row('DEC-052'), async () => {
  const before = await countAcceptedWork(fixture);
  // Neither the MRN nor the EMR id is an id of the service.
  for (const id of [unknown_id, fixture.sandbox.example.patient_mrn, '10001', 'x']) {
    const response = await fixture.api.call('PATCH', `/v1/patients/${id}`, { body: { email: 'x@example.org' } });
    expectApiError(response, 404, `Patient with ID '${id}' not found.`, 'id');
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
});

test(row('DEC-053'), async () => {
  for (const id of [unknown_id, 'ffffffffffff7fffbfffffffffffffff', '500001', 'x']) {
    const response = await fixture.api.call('GET', `/v1/appointments/${id}`);
    expectApiError(response, 404, `Appointment with ID '${id}' not found.`, 'id');
  }
});

test(row('DEC-054'), async () => {
  for (const id of ['999999', '0', '-1', '99999999999999999999', 'x', unknown_id]) {
    expectApiError(await fixture.api.call('GET', `/v1/jobs/${id}`), 404, `Job with ID '${id}' not found.`, 'job_id');
  }
});

/** Checks that an id of `theirs` gets the same response as an unknown id. */
async function expectAbsent(theirs: Api): Promise<void> {
  const accepted = await theirs.call('POST', '/v1/patients/fetch', { body: { search_by: 'mrn', mrn: 'NOBODY' } });
  const { job_id } = accepted.body;
  const event = await theirs.untilEvent(job_id);
  const [provider] = (await theirs.call('GET', '/v1/providers')).body.providers;
  const [location] = (await theirs.call('GET', '/v1/locations')).body.locations;
  const [patient] = (await theirs.call('GET', '/v1/patients')).body.patients;
  const appointment = (await findAppointmentId(fixture, theirs)) ?? '';
  for (const [method, path, id, unknown] of [
    ['GET', '/v1/appointments/{id}', appointment, unknown_id],
    ['GET', '/v1/jobs/{id}', `${job_id}`, '999999'],
    ['PATCH', '/v1/providers/{id}', provider.id, unknown_id],
    ['PATCH', '/v1/locations/{id}', location.id, unknown_id],
    ['PATCH', '/v1/patients/{id}', patient.id, unknown_id],
    ['POST', '/v1/webhook-events/{id}/resend', event.id, unknown_id],
  ] as const) {
    const send = async (api: Api, named: string): Promise<ApiResponse> =>
      api.call(
        method,
        path.replace('{id}', named),
        method === 'PATCH'
          ? { body: path.includes('patients') ? { email: 'x@example.org' } : { status: 'inactive' } }
          : {},
      );
    const foreign = await send(fixture.api, id);
    const absent = await send(fixture.api, unknown);
    expect(foreign.status, path).toBe(404);
    const comparable = ({ body }: ApiResponse, named: string) =>
      JSON.stringify({ ...body, request_id: '' }).replaceAll(named, '<id>');
    expect(comparable(foreign, id), path).toBe(comparable(absent, unknown));
    const names = (response: ApiResponse) => [...response.headers.keys()].sort();
    expect(names(foreign), path).toStrictEqual(names(absent));
  }
  // Nothing was changed, and the owner can still read it.
  const unchanged = (await theirs.call('GET', '/v1/providers')).body.providers[0];
  expect(unchanged).toStrictEqual(provider);
  expect((await theirs.call('GET', `/v1/appointments/${appointment}`)).status).toBe(200);
  expect((await theirs.call('GET', `/v1/jobs/${job_id}`)).status).toBe(200);
  const { body } = await fixture.api.call('GET', `/v1/webhook-events?job_id=${job_id}`);
  expect(body.webhook_events).toStrictEqual([]);
}

test(row('DEC-055'), async () => {
  await expectAbsent(second);
});

test(row('DEC-056'), async () => {
  await expectAbsent(other);
  const body = { webhook_url: 'http://127.0.0.1:9/theirs' };
  const { webhook_id } = (await other.call('POST', '/v1/webhook', { body })).body;
  for (const [method, path] of [
    ['DELETE', '/v1/webhook/{id}'],
    ['POST', '/v1/webhook/{id}/rotate-secret'],
  ] as const) {
    const foreign = await fixture.api.call(method, path.replace('{id}', webhook_id));
    const unknown = `wh_${'0'.repeat(24)}`;
    const absent = await fixture.api.call(method, path.replace('{id}', unknown));
    expect([foreign.status, absent.status]).toStrictEqual([404, 404]);
    expect(foreign.body.message.replace(webhook_id, '')).toBe(absent.body.message.replace(unknown, ''));
  }
  expect((await other.call('GET', '/v1/webhook')).body.webhook_urls.map(({ id }: { id: string }) => id)).toContain(
    webhook_id,
  );
});
