import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { clinicRows, type Row } from '../support/emrRecords.ts';
import {
  daysAfter,
  monday,
  mondays,
  patchProvider,
  readAvailability,
  readProvider,
  shift,
  spans,
} from './schedules.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

/** Sets all of provider 501, so that the tests do not depend on each other. */
async function set(body: unknown, ehr_id = '501'): Promise<void> {
  const response = await patchProvider(fixture, ehr_id, body);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
}

async function expectRequestRejected(
  body: unknown,
  status: number,
  message: string | RegExp,
  field?: string,
): Promise<void> {
  const before = await readProvider(fixture, '501');
  const writes = (await fixture.api.ledger()).length;
  expectApiError(await patchProvider(fixture, '501', body), status, message, field);
  expect(await readProvider(fixture, '501')).toStrictEqual(before);
  expect(await fixture.api.ledger()).toHaveLength(writes);
}

const hours = (...shifts: Row[]) => ({ hours: mondays(...shifts) });
const readShifts = async (ehr_id = '501') => (await readProvider(fixture, ehr_id)).hours[0].shifts;
const recur = { rec_start_date: monday, recur_interval_amount: 2, recur_interval_description: 'Every other week' };

test(row('PRU-01'), async () => {
  for (const { providerId } of await clinicRows(fixture, 'providers')) {
    const { id } = await readProvider(fixture, providerId);
    expect((await patchProvider(fixture, providerId, { status: 'active' })).body.provider_id).toBe(id);
    const by_id = await patchProvider(fixture, id, { status: 'inactive' });
    expectApiError(by_id, 404, `Provider with EMR ID '${id}' not found.`, 'ehr_id');
  }
  expect((await readProvider(fixture, '501')).status).toBe('active');
});

test(row('PRU-02'), async () => {
  await expectRequestRejected({}, 400, 'At least one field must be provided.');
  await set({ status: 'active' });
  await set({ hide_in_availability: 'false' });
  await set({ hours: null });
});

test(row('PRU-03'), async () => {
  for (const status of ['inactive', 'active', 'INACTIVE', 'ACTIVE', 'Inactive', 'aCtIvE']) {
    await set({ status });
    expect((await readProvider(fixture, '501')).status).toBe(status.toLowerCase());
  }
  for (const status of ['away', 'true']) {
    await expectRequestRejected({ status }, 400, 'status must be one of: active, inactive', 'status');
  }
  for (const status of [true, 1, ['active']]) await expectRequestRejected({ status }, 400, /^status must be/, 'status');
  for (const status of [null, '', ' '])
    await expectRequestRejected({ status }, 400, 'Missing required field: status', 'status');
});

test(row('PRU-04'), async () => {
  await set({ status: 'active', ...hours(shift('09:00', '12:00')) });
  for (const hide_in_availability of ['true', 'false', true, false]) {
    await set({ hide_in_availability });
    const hidden = String(hide_in_availability) === 'true';
    expect((await readProvider(fixture, '501')).hide_in_availability).toBe(hidden);
    expect(spans(await readAvailability(fixture, '501', monday))).toStrictEqual(hidden ? [] : ['09:00–12:00']);
  }
  for (const hide_in_availability of ['yes', 'TRUE', 1, 0, ['true']]) {
    const message = /^hide_in_availability must be/;
    await expectRequestRejected({ hide_in_availability }, 400, message, 'hide_in_availability');
  }
  for (const hide_in_availability of [null, '']) {
    const message = 'Missing required field: hide_in_availability';
    await expectRequestRejected({ hide_in_availability }, 400, message, 'hide_in_availability');
  }
});

test(row('PRU-05'), async () => {
  await set({ hours: null });
  const emrs = (await readProvider(fixture, '501')).hours;
  const week = [
    { day: 'Monday', shifts: [shift('09:00', '12:00'), shift('13:00', '17:00')] },
    { day: 'Sunday', shifts: [] },
  ];
  await set({ hours: week });
  expect((await readProvider(fixture, '501')).hours).toStrictEqual(week);
  await set({ hours: [] });
  expect((await readProvider(fixture, '501')).hours).toStrictEqual([]);
  await expectRequestRejected({ hours: 'all' }, 400, 'hours must be an array', 'hours');
  await expectRequestRejected({ hours: { day: 'Monday', shifts: [] } }, 400, 'hours must be an array', 'hours');
  await expectRequestRejected({ hours: [{ day: 'Monday' }] }, 400, 'Missing required field: hours[0].shifts');
  await expectRequestRejected({ hours: [{ shifts: [] }] }, 400, 'Missing required field: hours[0].day');
  await set({ hours: null });
  expect((await readProvider(fixture, '501')).hours).toStrictEqual(emrs);
  expect(emrs.length).toBeGreaterThan(1);
});

test(row('PRU-06'), async () => {
  const dates = { set_start_date: monday, set_end_date: daysAfter(monday, 28) };
  await set(hours(shift('09:00', '12:00', { facility_id: '12', ...dates, set_recur: recur })));
  const [stored] = await readShifts();
  expect(stored).toMatchObject({
    start: 'T09:00:00',
    end: 'T12:00:00',
    facility_id: '12',
    ...dates,
    recurrence: recur,
  });
  // Every other week between the two dates, at that place and time: each field has an effect.
  const dated = [-14, 0, 7, 14, 28, 42].map(async (days) =>
    spans(await readAvailability(fixture, '501', daysAfter(monday, days))),
  );
  const morning = ['09:00–12:00'];
  expect(await Promise.all(dated)).toStrictEqual([[], morning, [], morning, morning, []]);
  expect(await readAvailability(fixture, '501', monday)).toMatchObject([{ facility_id: '12' }]);
});

test(row('PRU-07'), async () => {
  const set_recur = { ...recur, recur_interval_amount: 3, rec_end_date: daysAfter(monday, 42) };
  await set(hours(shift('09:00', '12:00', { set_recur })));
  expect((await readShifts())[0].recurrence).toMatchObject(set_recur);
  const offered = [-21, 0, 7, 14, 21, 42, 63].map((days) => readAvailability(fixture, '501', daysAfter(monday, days)));
  const counts = (await Promise.all(offered)).map((offers) => offers.length);
  expect(counts).toStrictEqual([0, 1, 0, 0, 1, 1, 0]);
});

test(row('PRU-08'), async () => {
  for (const { facilityId } of await clinicRows(fixture, 'facilities')) {
    await set(hours(shift('09:00', '12:00', { facility_id: facilityId })));
  }
  const [location] = (await fixture.api.call('GET', '/v1/locations')).body.locations;
  for (const facility_id of ['nowhere', location.id]) {
    const message = `Location with EMR ID '${facility_id}' not found.`;
    await expectRequestRejected(hours(shift('09:00', '12:00', { facility_id })), 404, message, 'hours');
  }
});

test(row('PRU-09'), async () => {
  await set(hours({ start: 'T00:00:00', end: 'T23:59:59' }));
  for (const time of ['09:00:00', 'T9:00:00', 'T09:00', 'T24:00:01', 'T09:60:00', 'T09:00:60', '9 am', 't09:00:00']) {
    for (const field of ['start', 'end']) {
      const message = `hours[0].shifts[0].${field} must be a time in the form THH:MM:SS`;
      await expectRequestRejected(hours({ start: 'T08:00:00', end: 'T10:00:00', [field]: time }), 400, message);
    }
  }
});

const dated = (date: unknown) => [
  { set_start_date: date },
  { set_end_date: date },
  { set_recur: { ...recur, rec_start_date: date } },
  { set_recur: { ...recur, rec_start_date: '2020-01-01', rec_end_date: date } },
];

test(row('PRU-10'), async () => {
  for (const date of [monday, `${monday}T00:00:00`, `${monday}T00:00:00Z`, `${monday}T00:00:00-04:00`]) {
    for (const fields of dated(date)) await set(hours(shift('09:00', '12:00', fields)));
  }
  for (const date of ['01/02/2026', '2026-1-2', '2026-02-31', '2026-13-01', 'tomorrow', `${monday} 00:00:00`]) {
    for (const fields of dated(date)) {
      const message = /^hours\[0\]\.shifts\[0\]\.\S+ (must be a date in ISO 8601|is not a date that exists)/;
      await expectRequestRejected(hours(shift('09:00', '12:00', fields)), 400, message);
    }
  }
});

test(row('PRU-11'), async () => {
  const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
  await set({ hours: days.map((day) => ({ day, shifts: [] })) });
  expect((await readProvider(fixture, '501')).hours.map(({ day }: Row) => day)).toStrictEqual(days);
  for (const day of ['monday', 'MONDAY', 'Mon', 'Montag']) {
    const message = /^hours\[0\]\.day must be one of: Monday, Tuesday/;
    await expectRequestRejected({ hours: [{ day, shifts: [] }] }, 400, message);
  }
});

test(row('PRU-12'), async () => {
  const { id } = await readProvider(fixture, '501');
  const { status, body } = await patchProvider(fixture, '501', { status: 'active' });
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, message: expect.any(String), provider_id: id });
});

test(row('REF-06'), async () => {
  const { id } = await readProvider(fixture, '502');
  const body = { status: 'inactive', ...hours(shift('09:00', '12:00')) };
  expect((await fixture.api.call('PATCH', `/v1/providers/${id}`, { body })).status).toBe(200);
  expect(await readProvider(fixture, '502')).toMatchObject(body);
  const by_ehr_id = await fixture.api.call('PATCH', '/v1/providers/502', { body: { status: 'active' } });
  expectApiError(by_ehr_id, 404, "Provider with ID '502' not found.", 'id');
});
