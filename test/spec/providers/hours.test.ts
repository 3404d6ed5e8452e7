import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectRefusal } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { clinicRows, type Row } from '../support/emrRecords.ts';
import { daysAfter, monday, mondays, offersOf, patchProvider, providerOf, shift, spans } from './schedules.ts';

/** Every test has a provider of its own, or sets all it looks at. */
let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

async function set(ehr_id: string, body: unknown): Promise<void> {
  const answer = await patchProvider(world, ehr_id, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

const shiftsOf = async (ehr_id: string) => (await providerOf(world, ehr_id)).hours[0].shifts;
const recur = { rec_start_date: monday, recur_interval_amount: 2, recur_interval_description: 'Every other week' };

test(row('DEC-198'), async () => {
  const [one, two] = [await providerOf(world, '501'), await providerOf(world, '502')];
  const by_id = (body: unknown) => world.api.call('PATCH', `/v1/providers/${one.id}`, { body });
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
    const [mine, other] = [await by_id(body), await patchProvider(world, '502', body)];
    expect(mine.status).toBe(other.status);
    if (mine.status === 200) expect(mine.body).toStrictEqual({ ...other.body, provider_id: one.id });
    else expect(mine.body).toStrictEqual({ ...other.body, request_id: mine.body.request_id });
    const names = ['status', 'hide_in_availability'] as const;
    const [now, then] = [await providerOf(world, '501'), await providerOf(world, '502')];
    for (const name of names) expect(now[name]).toBe(then[name]);
  }
  expect((await providerOf(world, '501')).hours).toStrictEqual((await providerOf(world, '502')).hours);
  const unknown = await world.api.call('PATCH', `/v1/providers/${'0'.repeat(32)}`, { body: { status: 'active' } });
  expectRefusal(unknown, 404, `Provider with ID '${'0'.repeat(32)}' not found.`, 'id');
  expect(two.id).not.toBe(one.id);
});

test(row('DEC-208'), async () => {
  for (const { providerId } of await clinicRows(world, 'providers')) {
    const { hours } = await providerOf(world, providerId);
    await set(providerId, { hours });
    expect((await providerOf(world, providerId)).hours).toStrictEqual(hours);
  }
});

test(row('DEC-209'), async () => {
  await set('503', { hours: null });
  const tuesday = daysAfter(monday, 1);
  const free = async (date: string) => spans(await offersOf(world, '503', date));
  expect((await free(tuesday)).length).toBeGreaterThan(0);
  await set('503', { hours: mondays(shift('10:00', '11:00')) });
  expect((await providerOf(world, '503')).hours).toStrictEqual(mondays(shift('10:00', '11:00')));
  expect([await free(monday), await free(tuesday)]).toStrictEqual([['10:00–11:00'], []]);
});

test(row('DEC-210'), async () => {
  const weeks = [];
  for (const name of ['recurrence', 'set_recur']) {
    await set('504', { hours: mondays(shift('09:00', '12:00', { [name]: recur })) });
    const counted = [0, 7, 14].map(async (days) => (await offersOf(world, '504', daysAfter(monday, days))).length);
    expect(await Promise.all(counted), name).toStrictEqual([1, 0, 1]);
    weeks.push(await shiftsOf('504'));
  }
  expect(weeks[0]).toStrictEqual(weeks[1]);
  expect(weeks[0][0].recurrence).toMatchObject(recur);
});

test(row('DEC-211'), async () => {
  const before = await providerOf(world, '504');
  const hours = mondays(shift('09:00', '12:00', { recurrence: recur, set_recur: recur }));
  const answer = await patchProvider(world, '504', { hours });
  expectRefusal(answer, 400, 'hours[0].shifts[0] must not have both recurrence and set_recur', 'hours');
  expect(await providerOf(world, '504')).toStrictEqual(before);
});

test(row('DEC-212'), async () => {
  const typed = async (more: object) => {
    await set('505', { hours: mondays(shift('09:00', '12:00', { recurrence: { ...recur, ...more } })) });
    return (await shiftsOf('505'))[0].recurrence.recur_interval_type;
  };
  expect(await typed({ recur_interval_type: 'months' })).toBe('months');
  expect(await typed({})).toBe('weeks');
  const counted = [0, 7, 14].map(async (days) => (await offersOf(world, '505', daysAfter(monday, days))).length);
  expect(await Promise.all(counted)).toStrictEqual([1, 0, 1]);
});

test(row('DEC-213'), async () => {
  const rule = { start_time: '09:00:00', end_time: '10:00:00', total_visits: 2, visit_type_id: 'NP' };
  const more = { set_description: 'Open house', visit_type_rules: [{ ...rule, visit_type_desc: 'New patient' }] };
  await set('506', { hours: mondays(shift('09:00', '12:00', more)) });
  expect(await shiftsOf('506')).toStrictEqual([shift('09:00', '12:00', more)]);
  const slots = await offersOf(world, '506', monday, { calculation_method: 'slots' });
  expect(slots).toMatchObject([{ visit_type: 'NP', max_visits: 2 }]);
});

test(row('DEC-214'), async () => {
  const last = daysAfter(monday, 7);
  for (const time of ['', 'T00:00:00']) {
    const dates = { set_start_date: `${monday}${time}`, set_end_date: `${last}${time}` };
    const set_recur = { ...recur, recur_interval_amount: 1, rec_start_date: `${monday}${time}` };
    const whole = { ...set_recur, rec_end_date: `${last}${time}` };
    await set('507', { hours: mondays(shift('09:00', '12:00', { ...dates, set_recur: whole })) });
    const counted = [-7, 0, 7, 14].map(async (days) => (await offersOf(world, '507', daysAfter(monday, days))).length);
    expect(await Promise.all(counted), time).toStrictEqual([0, 1, 1, 0]);
    expect((await shiftsOf('507'))[0]).toMatchObject(dates);
  }
});

test(row('DEC-215'), async () => {
  const [facility] = await clinicRows(world, 'facilities', { facilityId: '12' });
  await set('508', {
    hours: mondays(
      shift('09:00', '12:00', { facility_id: '12', facility_name: 'Elsewhere' }),
      shift('13:00', '14:00', { facility_name: 'Elsewhere' }),
    ),
  });
  const [known, nowhere] = await shiftsOf('508');
  expect(known.facility_name).toBe(facility.name);
  expect(nowhere).not.toHaveProperty('facility_name');
});

test(row('DEC-216'), async () => {
  const seen = [];
  for (const hide_in_availability of ['true', 'false', true, false]) {
    await set('508', { hide_in_availability });
    seen.push((await providerOf(world, '508')).hide_in_availability);
  }
  expect(seen).toStrictEqual([true, false, true, false]);
  const { providers } = (await world.api.call('GET', '/v1/providers')).body;
  for (const each of providers as Row[]) expect(each.hide_in_availability).toBeTypeOf('boolean');
});
