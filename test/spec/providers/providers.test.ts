import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { changeClinicRow, clinicRows, isoDay, type Row } from '../support/emrRecords.ts';
import { clinicMondays, clinicShift, daysAfter, monday, readAvailability, usDay } from './schedules.ts';

let fixture: TestSandbox;
let response: ApiResponse;
let providers: Row[];
/** The providers in Larkspur, by id. */
let rows: Map<string, Row>;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const full = clinicShift('08:15', '16:45', {
    facilityId: '12',
    effectiveFrom: usDay(monday),
    effectiveTo: usDay(daysAfter(monday, 14)),
    description: 'Spring clinic',
    recurrence: { startDate: usDay(monday), intervalType: 'weeks', intervalAmount: 2, description: 'Every other week' },
    visitRules: [
      { startTime: '08:15', endTime: '09:45', visits: 3, visitTypeCode: 'NP', visitTypeName: 'New patient' },
    ],
  });
  const weeklyHours = clinicMondays(full, clinicShift('17:00', '18:00'));
  await changeClinicRow(fixture, 'providers', '506', { weeklyHours, timeZone: 'America/Chicago' });
  await changeClinicRow(fixture, 'providers', '508', { activeFlag: 'N' });
  await fixture.api.sync();
  rows = new Map((await clinicRows(fixture, 'providers')).map((row) => [row.providerId, row]));
  response = await fixture.api.call('GET', '/v1/providers');
  providers = response.body.providers;
});
afterAll(() => fixture.close());

const of = (ehr_id: string): Row => providers.find((each) => each.ehr_id === ehr_id);

/** Every shift with Larkspur's record of it. Schedules of inactive providers are not synced. */
function shifts(): [shift: Row, row: Row][] {
  const pairs = providers
    .filter(({ status }) => status === 'active')
    .flatMap(({ ehr_id, hours }) =>
      rows.get(ehr_id).weeklyHours.flatMap((day: Row, d: number) => {
        expect(hours[d].shifts).toHaveLength(day.shifts.length);
        return day.shifts.map((row: Row, s: number) => [hours[d].shifts[s], row]);
      }),
    );
  expect(pairs.length).toBeGreaterThan(20);
  return pairs;
}

/** Every visit type rule with Larkspur's record of it. */
function rules(): [rule: Row, row: Row][] {
  return shifts().flatMap(([shift, row]) =>
    row.visitRules.map((each: Row, n: number): [Row, Row] => [shift.visit_type_rules[n], each]),
  );
}

test(row('PRV-01'), async () => {
  for (const { id, ehr_id } of providers) {
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(rows.has(id)).toBe(false);
    const set = await fixture.api.call('PATCH', `/v1/providers/${id}`, { body: { hide_in_availability: 'false' } });
    expect(set.body, ehr_id).toMatchObject({ success: true, provider_id: id });
  }
  expect(new Set(providers.map(({ id }) => id)).size).toBe(rows.size);
});

test(row('PRV-02'), () => {
  expect(providers.map(({ ehr_id }) => ehr_id).sort()).toStrictEqual([...rows.keys()].sort());
});

test(row('PRV-03'), () => {
  for (const { ehr_id, name } of providers) {
    expect(name).toBeTypeOf('string');
    expect(name).toBe(rows.get(ehr_id).displayName);
  }
});

test(row('PRV-04'), () => {
  for (const { ehr_id, npi } of providers) {
    expect(npi).toMatch(/^\d{10}$/);
    expect(npi).toBe(rows.get(ehr_id).npi);
  }
});

test(row('PRV-05'), () => {
  expect([of('501').timezone, of('506').timezone]).toStrictEqual(['America/New_York', 'America/Chicago']);
});

test(row('PRV-06'), () => {
  for (const { ehr_id, status } of providers) {
    expect(status).toBe(rows.get(ehr_id).activeFlag === 'Y' ? 'active' : 'inactive');
  }
  expect([of('501').status, of('508').status]).toStrictEqual(['active', 'inactive']);
});

test(row('PRV-08'), () => {
  for (const { hide_in_availability } of providers) expect(hide_in_availability).toBe(false);
});

test(row('PRV-10'), async () => {
  for (const { ehr_id, hours, status } of providers) {
    expect(hours).toBeInstanceOf(Array);
    if (status === 'active') expect(hours).toHaveLength(rows.get(ehr_id).weeklyHours.length);
  }
  const [first] = of('501').hours[0].shifts;
  const [offer] = await readAvailability(fixture, '501', monday);
  expect(offer.range_start).toBe(`${monday}${first.start}-04:00`);
});

test(row('PRV-12'), () => {
  for (const { ehr_id, hours } of providers) {
    const days = hours.map(({ day }: Row) => day);
    for (const day of days) expect(day).toMatch(/^(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day$/);
    expect(days).toStrictEqual(rows.get(ehr_id).weeklyHours.map(({ dayName }: Row) => dayName));
  }
});

test(row('PRV-13'), () => {
  for (const { hours } of providers) {
    for (const { shifts } of hours) expect(shifts).toBeInstanceOf(Array);
  }
  for (const [shift] of shifts()) expect(shift).toMatchObject({ start: expect.any(String), end: expect.any(String) });
});

test(row('PRV-14'), () => {
  expect(of('506').hours[0].shifts[0]).toMatchObject({ start: 'T08:15:00', end: 'T16:45:00' });
  for (const [{ start, end }, row] of shifts()) {
    expect([start, end]).toStrictEqual([`T${row.startTime}:00`, `T${row.endTime}:00`]);
  }
});

test(row('PRV-16'), async () => {
  const facilities = (await clinicRows(fixture, 'facilities')).map(({ facilityId }) => facilityId);
  for (const [{ facility_id }, row] of shifts()) {
    expect(facilities).toContain(facility_id);
    expect(facility_id).toBe(row.facilityId);
  }
});

test(row('PRV-18'), async () => {
  for (const [{ set_start_date }, row] of shifts()) {
    expect(set_start_date).toBeTypeOf('string');
    expect(set_start_date.slice(0, 10)).toBe(isoDay(row.effectiveFrom));
  }
  const early = (date: string) => readAvailability(fixture, '506', date, { location_ids: '12' });
  expect(await early(daysAfter(monday, -14))).toStrictEqual([]);
  expect(await early(monday)).toHaveLength(1);
});

test(row('PRV-19'), async () => {
  const [ends, goes_on] = of('506').hours[0].shifts;
  expect(ends.set_end_date).toBeTypeOf('string');
  expect(ends.set_end_date.slice(0, 10)).toBe(daysAfter(monday, 14));
  expect(goes_on).not.toHaveProperty('set_end_date');
  const late = (days: number) => readAvailability(fixture, '506', daysAfter(monday, days), { location_ids: '12' });
  expect([(await late(14)).length, (await late(28)).length]).toStrictEqual([1, 0]);
});

test(row('PRV-21'), () => {
  expect(of('506').hours[0].shifts[0].set_description).toBe('Spring clinic');
  for (const [{ set_description }, row] of shifts()) expect(set_description).toBe(row.description ?? undefined);
});

test(row('PRV-22'), () => {
  const [recurs, always] = of('506').hours[0].shifts;
  expect(recurs.recurrence).toStrictEqual({
    rec_start_date: expect.stringMatching(new RegExp(`^${monday}`)),
    recur_interval_type: 'weeks',
    recur_interval_amount: 2,
    recur_interval_description: 'Every other week',
  });
  expect(always).not.toHaveProperty('recurrence');
});

test(row('PRV-23'), async () => {
  const [ruled, free] = of('506').hours[0].shifts;
  expect(ruled.visit_type_rules).toHaveLength(1);
  expect(free).not.toHaveProperty('visit_type_rules');
  const slots = await readAvailability(fixture, '506', monday, { calculation_method: 'slots' });
  expect(slots).toMatchObject([{ range_start: `${monday}T08:15:00-04:00`, range_end: `${monday}T09:45:00-04:00` }]);
});

test(row('PRV-24'), () => {
  expect(of('506').hours[0].shifts[0].visit_type_rules[0]).toMatchObject({
    start_time: '08:15:00',
    end_time: '09:45:00',
  });
  for (const [{ start_time, end_time }, row] of rules()) {
    expect([start_time, end_time]).toStrictEqual([`${row.startTime}:00`, `${row.endTime}:00`]);
  }
});

test(row('PRV-25'), () => {
  expect(rules().length).toBeGreaterThan(20);
  for (const [{ total_visits, visit_type_id, visit_type_desc }, row] of rules()) {
    expect([total_visits, visit_type_id, visit_type_desc]).toStrictEqual([
      row.visits,
      row.visitTypeCode,
      row.visitTypeName,
    ]);
    expect(total_visits).toSatisfy(Number.isInteger);
  }
});

test(row('PRV-27'), () => {
  expect(response.status).toBe(200);
  expect(response.body).toStrictEqual({ success: true, providers: expect.any(Array) });
  const fields = ['id', 'ehr_id', 'name', 'npi', 'timezone', 'status', 'hide_in_availability', 'hours'];
  for (const provider of providers) expect(Object.keys(provider).sort()).toStrictEqual([...fields].sort());
});
