import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectRefusal } from '../api/support.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { clinicRows, type Row } from './emrRecords.ts';
import { daysAfter, monday, mondays, offersOf, patchProvider, providerOf, shift, spans } from './weeks.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

/** Sets provider 501 as a whole, so that no test depends on what another left. */
async function set(body: unknown, ehr_id = '501'): Promise<void> {
  const answer = await patchProvider(world, ehr_id, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

async function expectRefused(body: unknown, status: number, message: string | RegExp, field?: string): Promise<void> {
  const before = await providerOf(world, '501');
  const writes = (await world.api.ledger()).length;
  expectRefusal(await patchProvider(world, '501', body), status, message, field);
  expect(await providerOf(world, '501')).toStrictEqual(before);
  expect(await world.api.ledger()).toHaveLength(writes);
}

const hours = (...shifts: Row[]) => ({ hours: mondays(...shifts) });
const shiftsOf = async (ehr_id = '501') => (await providerOf(world, ehr_id)).hours[0].shifts;
const recur = { rec_start_date: monday, recur_interval_amount: 2, recur_interval_description: 'Every other week' };

test("PRU-01 Path `ehr_id` is the provider's EMR id.", async () => {
  for (const { providerId } of await clinicRows(world, 'providers')) {
    const { id } = await providerOf(world, providerId);
    expect((await patchProvider(world, providerId, { status: 'active' })).body.provider_id).toBe(id);
    const by_id = await patchProvider(world, id, { status: 'inactive' });
    expectRefusal(by_id, 404, `Provider with EMR ID '${id}' not found.`, 'ehr_id');
  }
  expect((await providerOf(world, '501')).status).toBe('active');
});

test('PRU-02 At least one field must be given; an empty body is refused.', async () => {
  await expectRefused({}, 400, 'At least one field must be provided.');
  await set({ status: 'active' });
  await set({ hide_in_availability: 'false' });
  await set({ hours: null });
});

test('PRU-03 `status` takes `active` or `inactive`, case-insensitive; any other value is refused.', async () => {
  for (const status of ['inactive', 'active', 'INACTIVE', 'ACTIVE', 'Inactive', 'aCtIvE']) {
    await set({ status });
    expect((await providerOf(world, '501')).status).toBe(status.toLowerCase());
  }
  for (const status of ['away', '', 'active ', 'true']) {
    await expectRefused({ status }, 400, 'status must be one of: active, inactive', 'status');
  }
  for (const status of [true, 1, null, ['active']]) await expectRefused({ status }, 400, /^status must be/, 'status');
});

test('PRU-04 `hide_in_availability` takes the string `true` or `false` (or the boolean); any other value is refused; `true` hides the provider from `/v1/availability`.', async () => {
  await set({ status: 'active', ...hours(shift('09:00', '12:00')) });
  for (const hide_in_availability of ['true', 'false', true, false]) {
    await set({ hide_in_availability });
    const hidden = String(hide_in_availability) === 'true';
    expect((await providerOf(world, '501')).hide_in_availability).toBe(hidden);
    expect(spans(await offersOf(world, '501', monday))).toStrictEqual(hidden ? [] : ['09:00–12:00']);
  }
  for (const hide_in_availability of ['yes', 'TRUE', '', 1, 0, null, ['true']]) {
    const message = /^hide_in_availability must be/;
    await expectRefused({ hide_in_availability }, 400, message, 'hide_in_availability');
  }
});

test("PRU-05 `hours` is an array of `{ day, shifts: [] }` (or null, which returns to the EMR's hours).", async () => {
  await set({ hours: null });
  const emrs = (await providerOf(world, '501')).hours;
  const week = [
    { day: 'Monday', shifts: [shift('09:00', '12:00'), shift('13:00', '17:00')] },
    { day: 'Sunday', shifts: [] },
  ];
  await set({ hours: week });
  expect((await providerOf(world, '501')).hours).toStrictEqual(week);
  await set({ hours: [] });
  expect((await providerOf(world, '501')).hours).toStrictEqual([]);
  await expectRefused({ hours: 'all' }, 400, 'hours must be an array', 'hours');
  await expectRefused({ hours: { day: 'Monday', shifts: [] } }, 400, 'hours must be an array', 'hours');
  await expectRefused({ hours: [{ day: 'Monday' }] }, 400, 'Missing required field: hours[0].shifts');
  await expectRefused({ hours: [{ shifts: [] }] }, 400, 'Missing required field: hours[0].day');
  await set({ hours: null });
  expect((await providerOf(world, '501')).hours).toStrictEqual(emrs);
  expect(emrs.length).toBeGreaterThan(1);
});

test('PRU-06 `hours[].shifts[]` takes start, end, facility_id, set_start_date, set_end_date, set_recur.', async () => {
  const dates = { set_start_date: monday, set_end_date: daysAfter(monday, 28) };
  await set(hours(shift('09:00', '12:00', { facility_id: '12', ...dates, set_recur: recur })));
  const [kept] = await shiftsOf();
  expect(kept).toMatchObject({ start: 'T09:00:00', end: 'T12:00:00', facility_id: '12', ...dates, recurrence: recur });
  // Every other week between the two dates, at that place and time: each field has its effect.
  const dated = [-14, 0, 7, 14, 28, 42].map(async (days) =>
    spans(await offersOf(world, '501', daysAfter(monday, days))),
  );
  const morning = ['09:00–12:00'];
  expect(await Promise.all(dated)).toStrictEqual([[], morning, [], morning, morning, []]);
  expect(await offersOf(world, '501', monday)).toMatchObject([{ facility_id: '12' }]);
});

test('PRU-07 `set_recur` takes rec_start_date, rec_end_date, recur_interval_amount, recur_interval_description.', async () => {
  const set_recur = { ...recur, recur_interval_amount: 3, rec_end_date: daysAfter(monday, 42) };
  await set(hours(shift('09:00', '12:00', { set_recur })));
  expect((await shiftsOf())[0].recurrence).toMatchObject(set_recur);
  const offered = [-21, 0, 7, 14, 21, 42, 63].map((days) => offersOf(world, '501', daysAfter(monday, days)));
  const counts = (await Promise.all(offered)).map((offers) => offers.length);
  expect(counts).toStrictEqual([0, 1, 0, 0, 1, 1, 0]);
});

test("PRU-08 `facility_id` must exist among the organization's locations; another one is refused.", async () => {
  for (const { facilityId } of await clinicRows(world, 'facilities')) {
    await set(hours(shift('09:00', '12:00', { facility_id: facilityId })));
  }
  const [location] = (await world.api.call('GET', '/v1/locations')).body.locations;
  for (const facility_id of ['nowhere', location.id, '']) {
    const message = `Location with EMR ID '${facility_id}' not found.`;
    await expectRefused(hours(shift('09:00', '12:00', { facility_id })), 404, message, 'hours');
  }
});

test('PRU-09 `start` and `end` must be `THH:MM:SS`; another form is refused.', async () => {
  await set(hours({ start: 'T00:00:00', end: 'T23:59:59' }));
  for (const time of [
    '09:00:00',
    'T9:00:00',
    'T09:00',
    'T24:00:00',
    'T09:60:00',
    'T09:00:60',
    '9 am',
    't09:00:00',
    '',
  ]) {
    for (const field of ['start', 'end']) {
      const message = `hours[0].shifts[0].${field} must be a time in the form THH:MM:SS`;
      await expectRefused(hours({ start: 'T08:00:00', end: 'T10:00:00', [field]: time }), 400, message);
    }
  }
});

const dated = (date: unknown) => [
  { set_start_date: date },
  { set_end_date: date },
  { set_recur: { ...recur, rec_start_date: date } },
  { set_recur: { ...recur, rec_start_date: '2020-01-01', rec_end_date: date } },
];

test('PRU-10 Dates are ISO 8601, with or without time (for example `YYYY-MM-DDT00:00:00`); another form is refused.', async () => {
  for (const date of [monday, `${monday}T00:00:00`, `${monday}T00:00:00Z`, `${monday}T00:00:00-04:00`]) {
    for (const fields of dated(date)) await set(hours(shift('09:00', '12:00', fields)));
  }
  for (const date of ['01/02/2026', '2026-1-2', '2026-02-31', '2026-13-01', 'tomorrow', '', `${monday} 00:00:00`]) {
    for (const fields of dated(date)) {
      const message = /^hours\[0\]\.shifts\[0\]\.\S+ (must be a date in ISO 8601|is not a date that exists)/;
      await expectRefused(hours(shift('09:00', '12:00', fields)), 400, message);
    }
  }
});

test('PRU-11 Day names are capitalised; another spelling is refused.', async () => {
  const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
  await set({ hours: days.map((day) => ({ day, shifts: [] })) });
  expect((await providerOf(world, '501')).hours.map(({ day }: Row) => day)).toStrictEqual(days);
  for (const day of ['monday', 'MONDAY', 'Mon', 'Montag', '', ' Monday']) {
    const message = /^hours\[0\]\.day must be one of: Monday, Tuesday/;
    await expectRefused({ hours: [{ day, shifts: [] }] }, 400, message);
  }
});

test('PRU-12 The answer is `{ success: boolean, message: string, provider_id: string }`.', async () => {
  const { id } = await providerOf(world, '501');
  const { status, body } = await patchProvider(world, '501', { status: 'active' });
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, message: expect.any(String), provider_id: id });
});

test("REF-06 `PATCH /v1/providers/{id}` exists, takes the service's provider id and sets status and hours.", async () => {
  const { id } = await providerOf(world, '502');
  const body = { status: 'inactive', ...hours(shift('09:00', '12:00')) };
  expect((await world.api.call('PATCH', `/v1/providers/${id}`, { body })).status).toBe(200);
  expect(await providerOf(world, '502')).toMatchObject(body);
  const by_ehr_id = await world.api.call('PATCH', '/v1/providers/502', { body: { status: 'active' } });
  expectRefusal(by_ehr_id, 404, "Provider with ID '502' not found.", 'id');
});
