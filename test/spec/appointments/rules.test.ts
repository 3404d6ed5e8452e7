import { afterAll, beforeAll, expect, test } from 'vitest';
import { withOffset } from '../../../src/platform/time/zones.ts';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { countRows } from '../../journeys/support.ts';
import {
  daysAfter,
  monday,
  mondays,
  patchProvider,
  readAvailability,
  requestAvailability,
  shift,
  spans,
  usDay,
} from '../providers/schedules.ts';
import { addClinicRow, clinicRows, type Row } from '../support/emrRecords.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const hours = mondays(shift('09:00', '12:00'));
  expect((await patchProvider(fixture, '501', { hours })).status).toBe(200);
  const startsAt = `${usDay(monday)} 10:00`;
  const visit = { patientId: '10001', providerId: '501', facilityId: '11', startsAt, minutes: 30 };
  await addClinicRow(fixture, 'appointments', { ...visit, visitTypeCode: 'FU' });
  await fixture.api.sync();
});
afterAll(() => fixture.close());

const free = async (query: Record<string, string>) => spans(await readAvailability(fixture, '501', monday, query));

test(row('RUL-01'), async () => {
  const types = await clinicRows(fixture, 'visit-types');
  const description = types.find(({ code }) => code === 'FU')?.description;
  const names = ['FU', 'fu', description, description.toLowerCase(), ` ${description}`];
  for (const name of [...names, 'all', 'ALL']) {
    const limit = { daily_appointment_limit: '1', daily_limit_type: name };
    expect(await free(limit), name).toStrictEqual([]);
    const after = ['09:00–10:00', '10:45–12:00'];
    expect(await free({ buffer: '15', visit_type: name }), name).toStrictEqual(after);
  }
  for (const name of names) {
    const [range] = await readAvailability(fixture, '501', monday, { visit_type: name });
    expect(range.visit_type).toBe('FU');
  }
  // A known type of which there is no appointment is a limit that is not reached.
  expect(await free({ daily_appointment_limit: '1', daily_limit_type: 'NP' })).toHaveLength(2);
  const accepted = ['all', ...types.map(({ code }) => code)].sort();
  for (const name of ['ZZZ', 'F', 'FUU', 'Follow', 'FU,NP', '*']) {
    for (const query of [{ visit_type: name }, { daily_appointment_limit: '1', daily_limit_type: name }]) {
      const field = 'visit_type' in query ? 'visit_type' : 'daily_limit_type';
      const { status, body } = await requestAvailability(fixture, { start_date: monday, end_date: monday, ...query });
      expect([status, body.code, body.field], name).toStrictEqual([400, 'invalid_field', field]);
      const [rule, list = ''] = body.message.split(': ');
      expect(rule).toBe(`${field} must be one of`);
      expect(list.split(', ').sort()).toStrictEqual(accepted);
    }
  }
});

test('a visit type that the EMR no longer lists can be counted while there are appointments of it', async () => {
  const startsAt = `${usDay(monday)} 11:00`;
  const visit = { patientId: '10001', providerId: '501', facilityId: '11', startsAt, minutes: 15 };
  await addClinicRow(fixture, 'appointments', { ...visit, visitTypeCode: 'GONE' });
  await fixture.api.sync();
  expect(await free({ daily_appointment_limit: '1', daily_limit_type: 'GONE' })).toStrictEqual([]);
  const limit = { daily_appointment_limit: '1', daily_limit_type: 'GONE2' };
  const response = await requestAvailability(fixture, { start_date: monday, end_date: monday, ...limit });
  expectApiError(response, 400, /^daily_limit_type must be one of: all, /, 'daily_limit_type');
});

test(row('RUL-08'), async () => {
  const providerId = '590';
  await addClinicRow(fixture, 'providers', { providerId, displayName: 'Quinn Placeholder, MD' });
  await fixture.api.sync();
  const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
  const hours = days.map((day) => ({ day, shifts: [shift('00:00', '24:00')] }));
  expect((await patchProvider(fixture, providerId, { hours })).status).toBe(200);
  const { timeZone } = (await fixture.api.control('GET', '/api/practice')).body;
  const today = withOffset(new Date().toISOString(), timeZone).slice(0, 10);
  const midnight = Date.parse(withOffset(`${today}T00:00:00`, timeZone));
  const query = { calculation_method: 'equal_slots', max_slot_duration: '25' };
  const starts = (ranges: Row[]) => ranges.map(({ range_start }) => (Date.parse(range_start) - midnight) / 60_000);
  const requested_at = Date.now();
  const offered = starts(await readAvailability(fixture, providerId, today, query));
  expect(offered.filter((minute) => minute % 25 !== 0)).toStrictEqual([]);
  expect(offered.filter((minute) => midnight + minute * 60_000 < requested_at)).toStrictEqual([]);
  const tomorrow = starts(await readAvailability(fixture, providerId, daysAfter(today, 1), query));
  expect(tomorrow.length).toBeGreaterThan(50);
});

/** A booking on a day without seeded appointments; checks that a rejected one leaves nothing. */
async function expectBookingRejected(fields: Row, message: string, field: string, code: string): Promise<void> {
  const before = await countRows(fixture.owner);
  const response = await book(fields);
  expectApiError(response, 400, message, field);
  expect(response.body.code).toBe(code);
  expect(await countRows(fixture.owner)).toStrictEqual(before);
}

function book(fields: Row) {
  const datetime = `${daysAfter(monday, 2)}T09:00:00-04:00`;
  const { patient_mrn: mrn } = fixture.sandbox.example;
  const body = { mrn, location: '11', provider: '501', type: 'FU', datetime, ...fields };
  return fixture.api.call('POST', '/v1/appointments', { body });
}

test(row('RUL-03'), async () => {
  const message = 'secondary_provider must be another provider than provider';
  for (const secondary_provider of ['501', ' 501 ']) {
    await expectBookingRejected({ secondary_provider }, message, 'secondary_provider', 'invalid_field');
  }
  const accepted = await book({ secondary_provider: '502' });
  expect(accepted.status).toBe(200);
  // The next test counts rows.
  await fixture.api.untilEvent(accepted.body.job_id);
});

test(row('RUL-09'), async () => {
  const { locations } = (await fixture.api.call('GET', '/v1/locations')).body;
  const { id } = locations.find((each: Row) => each.ehr_id === '12');
  const setLocation = (status: string) => fixture.api.call('PATCH', `/v1/locations/${id}`, { body: { status } });
  const setProvider = (status: string) => patchProvider(fixture, '503', { status });
  const remedy = 'is inactive. Choose another one, or set its status to active.';
  await setLocation('inactive');
  await setProvider('inactive');
  const place = `Location with EMR ID '12' ${remedy}`;
  const person = `Provider with EMR ID '503' ${remedy}`;
  await expectBookingRejected({ location: '12' }, place, 'location', 'location_inactive');
  await expectBookingRejected({ provider: '503' }, person, 'provider', 'provider_inactive');
  await expectBookingRejected({ secondary_provider: '503' }, person, 'secondary_provider', 'provider_inactive');
  await setLocation('active');
  await setProvider('active');
  const accepted = await book({ location: '12', provider: '503' });
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const hidden = await patchProvider(fixture, '503', { hide_in_availability: 'true' });
  expect(hidden.status).toBe(200);
  // A provider that is only hidden in availability can be booked.
  expect((await book({ provider: '503' })).status).toBe(200);
});

test(row('RUL-18'), async () => {
  for (const [time, offset] of [
    ['09:00', '-0400'],
    ['13:00', '+0000'],
    ['18:30', '+0530'],
  ]) {
    const accepted = await book({ datetime: `${daysAfter(monday, 2)}T${time}:00${offset}` });
    expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
    const { data } = await fixture.api.untilEvent(accepted.body.job_id);
    expect(data.date_time).toBe(`${daysAfter(monday, 2)}T09:00:00-04:00`);
  }
  const now = new Date(Date.now() + 60_000).toISOString().slice(0, 19);
  for (const [filter, some] of [
    [`end_date=${now}%2B0000`, true],
    [`end_date=${now}+0000`, true],
    [`start_date=${now}%2B0000`, false],
    [`start_date=${now}-0000`, false],
  ] as const) {
    const { status, body } = await fixture.api.call('GET', `/v1/webhook-events?${filter}`);
    expect([status, body.webhook_events.length > 0], filter).toStrictEqual([200, some]);
  }
  const dates = { set_start_date: `${monday}T00:00:00-0400`, set_end_date: `${monday}T23:00:00.5+0530` };
  const hours = mondays(shift('09:00', '12:00', dates));
  expect((await patchProvider(fixture, '504', { hours })).status).toBe(200);
  expect(spans(await readAvailability(fixture, '504', monday))).toStrictEqual(['09:00–12:00']);
  expect(await readAvailability(fixture, '504', daysAfter(monday, 7))).toStrictEqual([]);
  const day = { start_date: `${monday}T00:00:00-0400`, end_date: `${monday}T00:00:00+0530` };
  const offered = await requestAvailability(fixture, { ...day, provider_ids: '504' });
  expect(spans(offered.body.results.availability)).toStrictEqual(['09:00–12:00']);
  for (const offset of ['-05000', '-05', '-2500']) {
    const response = await book({ datetime: `${monday}T09:00:00${offset}` });
    expectApiError(response, 400, 'datetime must be a date and time with offset, in ISO 8601', 'datetime');
  }
});
