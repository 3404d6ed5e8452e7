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

/** Every test uses a provider of its own or sets everything that it reads. */
let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

async function set(ehr_id: string, body: unknown): Promise<void> {
  const response = await patchProvider(fixture, ehr_id, body);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
}

const readShifts = async (ehr_id: string) => (await readProvider(fixture, ehr_id)).hours[0].shifts;
const recur = { rec_start_date: monday, recur_interval_amount: 2, recur_interval_description: 'Every other week' };

test(row('DEC-198'), async () => {
  const [one, two] = [await readProvider(fixture, '501'), await readProvider(fixture, '502')];
  const by_id = (body: unknown) => fixture.api.call('PATCH', `/v1/providers/${one.id}`, { body });
  const hours = mondays(shift('09:00', '12:00', { facility_id: '11', set_recur: recur }));
  for (const body of [
    { status: 'INACTIVE' },
    { status: 'active', hide_in_availability: 'true' },
    { hide_in_availability: false, hours },
    { status: 'away' },
    { hide_in_availability: 'yes' },
    { hours: mondays(shift('12:00', '09:00')) },
    { hours: mondays(shift('09:00', '12:00', { facility_id: 'x' })) },
    {},
  ]) {
    const [mine, other] = [await by_id(body), await patchProvider(fixture, '502', body)];
    expect(mine.status).toBe(other.status);
    if (mine.status === 200) expect(mine.body).toStrictEqual({ ...other.body, provider_id: one.id });
    else expect(mine.body).toStrictEqual({ ...other.body, request_id: mine.body.request_id });
    const names = ['status', 'hide_in_availability'] as const;
    const [now, then] = [await readProvider(fixture, '501'), await readProvider(fixture, '502')];
    for (const name of names) expect(now[name]).toBe(then[name]);
  }
  expect((await readProvider(fixture, '501')).hours).toStrictEqual((await readProvider(fixture, '502')).hours);
  const unknown = await fixture.api.call('PATCH', `/v1/providers/${'0'.repeat(32)}`, { body: { status: 'active' } });
  expectApiError(unknown, 404, `Provider with ID '${'0'.repeat(32)}' not found.`, 'id');
  expect(two.id).not.toBe(one.id);
});

test(row('DEC-208'), async () => {
  for (const { providerId } of await clinicRows(fixture, 'providers')) {
    const { hours } = await readProvider(fixture, providerId);
    await set(providerId, { hours });
    expect((await readProvider(fixture, providerId)).hours).toStrictEqual(hours);
  }
});

test(row('DEC-209'), async () => {
  await set('503', { hours: null });
  const tuesday = daysAfter(monday, 1);
  const free = async (date: string) => spans(await readAvailability(fixture, '503', date));
  expect((await free(tuesday)).length).toBeGreaterThan(0);
  await set('503', { hours: mondays(shift('10:00', '11:00')) });
  expect((await readProvider(fixture, '503')).hours).toStrictEqual(mondays(shift('10:00', '11:00')));
  expect([await free(monday), await free(tuesday)]).toStrictEqual([['10:00–11:00'], []]);
});

test(row('DEC-210'), async () => {
  const weeks = [];
  for (const name of ['recurrence', 'set_recur']) {
    await set('504', { hours: mondays(shift('09:00', '12:00', { [name]: recur })) });
    const counted = [0, 7, 14].map(
      async (days) => (await readAvailability(fixture, '504', daysAfter(monday, days))).length,
    );
    expect(await Promise.all(counted), name).toStrictEqual([1, 0, 1]);
    weeks.push(await readShifts('504'));
  }
  expect(weeks[0]).toStrictEqual(weeks[1]);
  expect(weeks[0][0].recurrence).toMatchObject(recur);
});

test(row('DEC-211'), async () => {
  const before = await readProvider(fixture, '504');
  const hours = mondays(shift('09:00', '12:00', { recurrence: recur, set_recur: recur }));
  const response = await patchProvider(fixture, '504', { hours });
  expectApiError(response, 400, 'hours[0].shifts[0] must not have both recurrence and set_recur', 'hours');
  expect(await readProvider(fixture, '504')).toStrictEqual(before);
});

test(row('DEC-212'), async () => {
  const typed = async (more: object) => {
    await set('505', { hours: mondays(shift('09:00', '12:00', { recurrence: { ...recur, ...more } })) });
    return (await readShifts('505'))[0].recurrence.recur_interval_type;
  };
  expect(await typed({ recur_interval_type: 'months' })).toBe('months');
  for (const [description, unit] of [
    ['day', 'days'],
    [' Months ', 'months'],
    ['Every 3 months', 'months'],
    ['Monthly', 'months'],
    ['years', 'years'],
    ['every 2 weeks', 'weeks'],
    ['', 'weeks'],
  ]) {
    expect(await typed({ recur_interval_description: description }), description).toBe(unit);
  }
  // The type takes precedence over the description.
  expect(await typed({ recur_interval_type: 'Year', recur_interval_description: 'months' })).toBe('years');
  const before = await readProvider(fixture, '505');
  for (const [field, value] of [
    ['recur_interval_type', 'fortnights'],
    ['recur_interval_description', 'fortnights'],
    ['recur_interval_description', 'every other Tuesday'],
    ['recur_interval_description', 'the first day of the month'],
  ] as const) {
    const recurrence = { ...recur, [field]: value };
    const response = await patchProvider(fixture, '505', { hours: mondays(shift('09:00', '12:00', { recurrence })) });
    const rule = `hours[0].shifts[0].${field} must name one of: days, weeks, months, years`;
    expectApiError(response, 400, rule, 'hours');
  }
  expect(await readProvider(fixture, '505')).toStrictEqual(before);
  expect(await typed({})).toBe('weeks');
  const counted = [0, 7, 14].map(
    async (days) => (await readAvailability(fixture, '505', daysAfter(monday, days))).length,
  );
  expect(await Promise.all(counted)).toStrictEqual([1, 0, 1]);
});

test(row('DEC-213'), async () => {
  const rule = { start_time: '09:00:00', end_time: '10:00:00', total_visits: 2, visit_type_id: 'NP' };
  const more = { set_description: 'Open house', visit_type_rules: [{ ...rule, visit_type_desc: 'New patient' }] };
  await set('506', { hours: mondays(shift('09:00', '12:00', more)) });
  expect(await readShifts('506')).toStrictEqual([shift('09:00', '12:00', more)]);
  const slots = await readAvailability(fixture, '506', monday, { calculation_method: 'slots' });
  expect(slots).toMatchObject([{ visit_type: 'NP', max_visits: 2 }]);
});

test('the unit of the description decides which days are available', async () => {
  // The first Monday of June; four weeks later is the first or the fifth Monday of a month.
  const free = async (recur_interval_description: string) => {
    const set_recur = { rec_start_date: monday, recur_interval_amount: 1, recur_interval_description };
    await set('505', { hours: mondays(shift('09:00', '12:00', { set_recur })) });
    const dates = Array.from({ length: 12 }, (_, week) => daysAfter(monday, 7 * week));
    const counted = await Promise.all(dates.map((date) => readAvailability(fixture, '505', date)));
    return dates.filter((_date, n) => (counted[n] ?? []).length > 0).map((date) => date.slice(5, 7));
  };
  expect(await free('weeks')).toHaveLength(12);
  expect(await free('months')).toStrictEqual(['06', '07', '08']);
  expect(await free('years')).toStrictEqual(['06']);
});

test(row('TXT-10'), async () => {
  const before = await readProvider(fixture, '506');
  const rule = { total_visits: 2, visit_type_id: 'NP' };
  for (const [start_time, end_time] of [
    ['08:59:00', '10:00:00'],
    ['11:00:00', '12:00:01'],
    ['13:00:00', '14:00:00'],
  ]) {
    const visit_type_rules = [{ ...rule, start_time, end_time }];
    const response = await patchProvider(fixture, '506', {
      hours: mondays(shift('09:00', '12:00', { visit_type_rules })),
    });
    expectApiError(response, 400, 'hours[0].shifts[0].visit_type_rules[0] must be within its shift', 'hours');
  }
  expect(await readProvider(fixture, '506')).toStrictEqual(before);
});

test(row('DEC-214'), async () => {
  const last = daysAfter(monday, 7);
  for (const time of ['', 'T00:00:00']) {
    const dates = { set_start_date: `${monday}${time}`, set_end_date: `${last}${time}` };
    const set_recur = { ...recur, recur_interval_amount: 1, rec_start_date: `${monday}${time}` };
    const complete = { ...set_recur, rec_end_date: `${last}${time}` };
    await set('507', { hours: mondays(shift('09:00', '12:00', { ...dates, set_recur: complete })) });
    const counted = [-7, 0, 7, 14].map(
      async (days) => (await readAvailability(fixture, '507', daysAfter(monday, days))).length,
    );
    expect(await Promise.all(counted), time).toStrictEqual([0, 1, 1, 0]);
    expect((await readShifts('507'))[0]).toMatchObject(dates);
  }
});

test(row('DEC-215'), async () => {
  const [facility] = await clinicRows(fixture, 'facilities', { facilityId: '12' });
  await set('508', {
    hours: mondays(
      shift('09:00', '12:00', { facility_id: '12', facility_name: 'Elsewhere' }),
      shift('13:00', '14:00', { facility_name: 'Elsewhere' }),
    ),
  });
  const [known, nowhere] = await readShifts('508');
  expect(known.facility_name).toBe(facility.name);
  expect(nowhere).not.toHaveProperty('facility_name');
});

test(row('DEC-216'), async () => {
  const results = [];
  for (const hide_in_availability of ['true', 'false', true, false]) {
    await set('508', { hide_in_availability });
    results.push((await readProvider(fixture, '508')).hide_in_availability);
  }
  expect(results).toStrictEqual([true, false, true, false]);
  const { providers } = (await fixture.api.call('GET', '/v1/providers')).body;
  for (const each of providers as Row[]) expect(each.hide_in_availability).toBeTypeOf('boolean');
});
