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

/** Every test sets the hours that it reads. */
let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

async function set(body: unknown): Promise<void> {
  const response = await patchProvider(fixture, '501', body);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
}

/** Checks the error, and that nothing was changed. */
async function expectRejected(body: unknown, message: string): Promise<void> {
  const before = await readProvider(fixture, '501');
  const rejected = await patchProvider(fixture, '501', body);
  expectApiError(rejected, 400, message, rejected.body.field);
  // The list, or the field inside it.
  expect(rejected.body.field).toMatch(/^hours\b/);
  expect(await readProvider(fixture, '501')).toStrictEqual(before);
}

const readShifts = async () => (await readProvider(fixture, '501')).hours[0].shifts;
const free = async (date: string, query: Record<string, string> = {}) =>
  spans(await readAvailability(fixture, '501', date, query));
const tuesday = daysAfter(monday, 1);
const start = 'hours[0].shifts[0]';

test(row('RUL-02'), async () => {
  const rule = { start_time: '09:00:00', end_time: '10:00:00', total_visits: 2, visit_type_desc: '' };
  const ruled = (visit_type_id: unknown) => ({
    hours: mondays(shift('09:00', '12:00', { visit_type_rules: [{ ...rule, visit_type_id }] })),
  });
  const types = await clinicRows(fixture, 'visit-types');
  const { code, description } = types.find((each) => each.code === 'NP') ?? {};
  for (const visit_type_id of [code, 'np', description, description.toUpperCase(), ` ${description} `]) {
    await set(ruled(visit_type_id));
    expect((await readShifts())[0].visit_type_rules).toStrictEqual([{ ...rule, visit_type_id: 'NP' }]);
  }
  expect(await free(monday, { calculation_method: 'slots', visit_type: 'NP' })).toStrictEqual(['09:00–10:00']);
  const known = types.map((each) => each.code);
  const listed = (message: string) => message.split(': ')[1]?.split(', ').sort();
  for (const visit_type_id of ['ZZ', 'N', 'all', 'New']) {
    const { status, body } = await patchProvider(fixture, '501', ruled(visit_type_id));
    expect([status, body.field]).toStrictEqual([400, 'hours']);
    expect(body.message).toContain(`${start}.visit_type_rules[0].visit_type_id must be one of: `);
    expect(listed(body.message)).toStrictEqual(known.toSorted());
  }
  expect((await readShifts())[0].visit_type_rules).toMatchObject([{ visit_type_id: 'NP' }]);
});

test(row('RUL-04'), async () => {
  const recurrence = { rec_start_date: monday, recur_interval_amount: 1, recur_interval_description: '' };
  const far = daysAfter(monday, 7 * 400);
  for (const none of [null, '', ' ']) {
    const dates = { set_start_date: none, set_end_date: none };
    await set({ hours: mondays(shift('09:00', '12:00', { set_start_date: monday, set_end_date: monday })) });
    expect(await free(far)).toStrictEqual([]);
    await set({ hours: mondays(shift('09:00', '12:00', dates)) });
    expect(await readShifts()).toStrictEqual([shift('09:00', '12:00')]);
    expect(await free(far)).toStrictEqual(['09:00–12:00']);
    await set({ hours: mondays(shift('09:00', '12:00', { recurrence: { ...recurrence, rec_end_date: none } })) });
    expect((await readShifts())[0].recurrence).not.toHaveProperty('rec_end_date');
    expect(await free(far)).toStrictEqual(['09:00–12:00']);
  }
  const message = 'must be a date in ISO 8601, such as 2026-01-31 or 2026-01-31T00:00:00';
  for (const date of ['none', '01/31/2026', 0, false]) {
    for (const name of ['set_start_date', 'set_end_date']) {
      await expectRejected(
        { hours: mondays(shift('09:00', '12:00', { [name]: date })) },
        `${start}.${name} ${message}`,
      );
    }
  }
});

test(row('RUL-05'), async () => {
  await set({ hours: mondays(shift('10:00', '11:00')) });
  for (const hours of ['', ' ']) await expectRejected({ hours }, 'hours must be an array');
  expect(await free(monday)).toStrictEqual(['10:00–11:00']);
  await set({ hours: null });
  expect(await readShifts()).not.toStrictEqual([shift('10:00', '11:00')]);
});

test(row('RUL-06'), async () => {
  for (const end of ['T24:00:00', 'T23:59:59']) {
    const end_time = end.slice(1);
    const rule = { start_time: '23:00:00', total_visits: 1, visit_type_id: 'NP', visit_type_desc: 'New patient' };
    for (const rule_end of ['24:00:00', '23:59:59']) {
      const late = { start: 'T22:00:00', end, visit_type_rules: [{ ...rule, end_time: rule_end }] };
      await set({ hours: mondays(late) });
      expect(await readShifts()).toStrictEqual([late]);
      await set({ hours: (await readProvider(fixture, '501')).hours });
      expect(await readShifts()).toStrictEqual([late]);
    }
    expect(await free(monday)).toStrictEqual(['22:00–00:00']);
    const equal = { calculation_method: 'equal_slots', max_slot_duration: '30' };
    expect(await free(monday, equal)).toStrictEqual(['22:00–22:30', '22:30–23:00', '23:00–23:30', '23:30–00:00']);
    expect(await free(monday, { calculation_method: 'slots' })).toStrictEqual(['23:00–00:00']);
    const outside = [{ ...rule, end_time }];
    const hours = mondays(shift('22:00', '23:59', { visit_type_rules: outside }));
    await expectRejected({ hours }, `${start}.visit_type_rules[0] must be within its shift`);
  }
  const form = 'must be a time in the form THH:MM:SS';
  for (const time of ['T24:00:01', 'T24:01:00', 'T25:00:00', '24:00:00']) {
    await expectRejected({ hours: mondays({ start: 'T22:00:00', end: time }) }, `${start}.end ${form}`);
  }
  await expectRejected({ hours: mondays({ start: 'T24:00:00', end: 'T24:00:00' }) }, `${start}.start ${form}`);
});

test(row('RUL-07'), async () => {
  const rule = `${start}.end must be after start. Send a shift over midnight as two: until T24:00:00, and from T00:00:00 on the next day`;
  for (const [from, to] of [
    ['T22:00:00', 'T06:00:00'],
    ['T22:00:00', 'T00:00:00'],
    ['T22:00:00', 'T22:00:00'],
    ['T23:59:59', 'T24:00:00'],
  ]) {
    await expectRejected({ hours: mondays({ start: from, end: to }) }, rule);
  }
  const two = [
    { day: 'Monday', shifts: [shift('22:00', '24:00')] },
    { day: 'Tuesday', shifts: [shift('00:00', '06:00')] },
  ];
  await set({ hours: two });
  expect((await readProvider(fixture, '501')).hours).toStrictEqual(two);
  const ranges = [
    ...(await readAvailability(fixture, '501', monday)),
    ...(await readAvailability(fixture, '501', tuesday)),
  ];
  expect(ranges.map(({ range_end }: Row) => range_end)[0]).toBe(ranges[1]?.range_start);
  expect(spans(ranges)).toStrictEqual(['22:00–00:00', '00:00–06:00']);
});

test(row('RUL-10'), async () => {
  const { locations } = (await fixture.api.call('GET', '/v1/locations')).body;
  const { id } = locations.find((each: Row) => each.ehr_id === '12');
  const setStatus = (status: string) => fixture.api.call('PATCH', `/v1/locations/${id}`, { body: { status } });
  const here = shift('09:00', '10:00', { facility_id: '11' });
  await set({ hours: mondays(here, shift('10:00', '11:00', { facility_id: '12' })) });
  expect((await setStatus('inactive')).status).toBe(200);
  const { hours } = await readProvider(fixture, '501');
  const remedy = 'Leave the shift out, choose another location, or set the status of this one to active';
  const rule = `hours[0].shifts[1].facility_id is an inactive location, '12'. ${remedy}`;
  await expectRejected({ hours }, rule);
  // Other settings of the provider can still be changed, and each of the remedies works.
  await set({ hide_in_availability: 'false' });
  await set({ hours: mondays(here) });
  expect((await setStatus('active')).status).toBe(200);
  await set({ hours });
  expect(await readShifts()).toStrictEqual(hours[0].shifts);
});
