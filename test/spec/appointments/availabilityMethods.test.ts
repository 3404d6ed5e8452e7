import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { signInOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
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
import { addClinicRow, type Row } from '../support/emrRecords.ts';

let fixture: TestSandbox;
const at_main = { facility_id: '11' };
const rule = (start: string, end: string, total_visits: number, visit_type_id: string) => ({
  start_time: `${start}:00`,
  end_time: `${end}:00`,
  total_visits,
  visit_type_id,
});

beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const visit_type_rules = [rule('09:00', '10:00', 2, 'NP'), rule('10:00', '12:00', 3, 'FU')];
  const quotas = { ...at_main, visit_type_rules: [...visit_type_rules, rule('13:00', '14:00', 1, 'OV')] };
  const every_day = ['Monday', 'Tuesday'].map((day) => ({ day, shifts: [shift('09:00', '12:00', at_main)] }));
  for (const [ehr_id, hours] of [
    ['501', mondays(shift('09:00', '12:00', at_main), shift('13:00', '17:00', at_main))],
    ['502', mondays(shift('09:00', '15:00', quotas))],
    ['503', every_day],
    ['504', mondays(shift('09:00', '12:00', at_main))],
    ['506', []],
    ['507', [{ day: 'Tuesday', shifts: [shift('09:00', '10:00')] }]],
  ] as const) {
    expect((await patchProvider(fixture, ehr_id, { hours })).status).toBe(200);
  }
  for (const [providerId, time, visitTypeCode, minutes, more = {}] of [
    ['501', '10:00', 'FU', 30],
    ['501', '11:00', 'FU', 30, { statusCode: 'CAN' }],
    ['501', '12:00', 'FU', 60],
    ['501', '14:00', 'OV', 60, { facilityId: '12' }],
    ['502', '10:00', 'FU', 20],
    ['502', '13:00', 'OV', 20],
    ['503', '09:00', 'OV', 30],
    ['503', '10:00', 'OV', 30],
    ['503', '11:00', 'NP', 30],
    ['504', '11:00', 'OV', 30],
    ['505', '09:30', 'OV', 30, { secondaryProviderId: '504' }],
  ] as [string, string, string, number, object?][]) {
    const startsAt = `${usDay(monday)} ${time}`;
    const visit = { providerId, patientId: '10001', facilityId: '11', startsAt, visitTypeCode, minutes, ...more };
    await addClinicRow(fixture, 'appointments', visit);
  }
  const block = { providerId: '501', facilityId: '11', startsAt: `${usDay(monday)} 16:00`, minutes: 30 };
  await addClinicRow(fixture, 'blocks', { ...block, reason: 'Meeting' });
  await fixture.api.sync();
});
afterAll(() => fixture.close());

type Query = Record<string, string>;
const free = async (ehr_id: string, query: Query = {}, date = monday) =>
  spans(await readAvailability(fixture, ehr_id, date, query));
const getAvailability = (query: Query) =>
  requestAvailability(fixture, { start_date: monday, end_date: monday, ...query });

/** What remains of provider 501's Monday. */
const gaps = ['09:00–10:00', '10:30–12:00', '13:00–14:00', '15:00–16:00', '16:30–17:00'];

test(row('DEC-250'), async () => {
  expect(await free('501', { calculation_method: 'gaps' })).toStrictEqual(gaps);
});

test(row('DEC-251'), async () => {
  const slots = await readAvailability(fixture, '502', monday, { calculation_method: 'slots' });
  const quotas_left = slots.map(({ visit_type, available_appointments, max_visits }) => [
    visit_type,
    available_appointments,
    max_visits,
  ]);
  expect(spans(slots)).toStrictEqual(['09:00–10:00', '10:00–12:00']);
  expect(quotas_left).toStrictEqual([
    ['NP', 2, 2],
    ['FU', 2, 3],
  ]);
});

test(row('DEC-252'), async () => {
  expect(await free('501', { calculation_method: 'equal_slots', max_slot_duration: '40' })).toStrictEqual([
    '09:00–09:40',
    '10:30–11:10',
    '11:10–11:50',
    '13:00–13:40',
    '15:00–15:40',
  ]);
});

test(row('DEC-253'), async () => {
  const response = await getAvailability({ calculation_method: 'equal_slots' });
  expectApiError(response, 400, 'Missing required field: max_slot_duration', 'max_slot_duration');
  expect((await getAvailability({ calculation_method: 'equal_slots', max_slot_duration: '1' })).status).toBe(200);
  for (const calculation_method of ['gaps', 'slots'])
    expect((await getAvailability({ calculation_method })).status).toBe(200);
});

test(row('DEC-254'), async () => {
  expect(await free('501', { max_slot_duration: '60' })).toStrictEqual([
    '09:00–10:00',
    '10:30–11:30',
    '11:30–12:00',
    '13:00–14:00',
    '15:00–16:00',
    '16:30–17:00',
  ]);
  const slots = { calculation_method: 'slots', max_slot_duration: '80' };
  expect(await free('502', slots)).toStrictEqual(['09:00–10:00', '10:00–11:20', '11:20–12:00']);
});

test(row('DEC-255'), async () => {
  const after_all = ['09:00–10:00', '10:45–12:00', '13:15–14:00', '15:15–16:00', '16:30–17:00'];
  expect(await free('501', { buffer: '15' })).toStrictEqual(after_all);
  expect(await free('501', { buffer: '15', visit_type: 'all' })).toStrictEqual(after_all);
  const after_ov = ['09:00–10:00', '10:30–12:00', '13:00–14:00', '15:15–16:00', '16:30–17:00'];
  expect(await free('501', { buffer: '15', visit_type: 'OV' })).toStrictEqual(after_ov);
  expect(await free('501', { buffer: '15', visit_type: 'NP' })).toStrictEqual(gaps);
});

test(row('DEC-256'), async () => {
  const tuesday = daysAfter(monday, 1);
  const left = ['09:30–10:00', '10:30–11:00', '11:30–12:00'];
  for (const [daily_appointment_limit, daily_limit_type, offered] of [
    ['1', 'OV', []],
    ['2', 'OV', []],
    ['3', 'OV', left],
    ['1', 'NP', []],
    ['2', 'NP', left],
    ['1', 'FU', left],
  ] as const) {
    const limit = { daily_appointment_limit, daily_limit_type };
    expect(await free('503', limit), JSON.stringify(limit)).toStrictEqual(offered);
    expect(await free('503', limit, tuesday)).toStrictEqual(['09:00–12:00']);
  }
});

test(row('DEC-257'), async () => {
  const message = 'daily_appointment_limit and daily_limit_type must be used together';
  expectApiError(await getAvailability({ daily_appointment_limit: '3' }), 400, message, 'daily_limit_type');
  expectApiError(await getAvailability({ daily_limit_type: 'OV' }), 400, message, 'daily_appointment_limit');
  expect((await getAvailability({ daily_appointment_limit: '3', daily_limit_type: 'OV' })).status).toBe(200);
});

test(row('DEC-258'), async () => {
  // Provider 504 has a visit at 11:00 and is the secondary provider of one at 9:30.
  const both = ['09:00–09:30', '10:00–11:00', '11:30–12:00'];
  expect(await free('504', { provider_type: 'secondary' })).toStrictEqual(both);
  expect(await free('504')).toStrictEqual(both);
  const limit = { daily_appointment_limit: '1', daily_limit_type: 'OV' };
  expect(await free('503', limit)).toStrictEqual([]);
  expect(await free('503', { ...limit, provider_type: 'secondary' })).not.toStrictEqual([]);
});

test(row('DEC-259'), async () => {
  const scoped = ['09:00–10:00', '10:30–12:00', '13:00–16:00', '16:30–17:00'];
  expect(await free('501', { facility_scoped_scheduling: 'true' })).toStrictEqual(scoped);
  expect(await free('501', { facility_scoped_scheduling: 'false' })).toStrictEqual(gaps);
});

const fallback = { fallback_to_default_hours: 'true' };

test(row('DEC-260'), async () => {
  expect(await free('506', fallback)).toStrictEqual(['09:00–17:00']);
  expect(await free('506')).toStrictEqual([]);
  expect(await free('506', { fallback_to_default_hours: 'false' })).toStrictEqual([]);
  // Default hours do not apply to a provider with hours, even on days without any.
  expect(await free('507', fallback)).toStrictEqual([]);
  expect(await free('507', fallback, daysAfter(monday, 1))).toStrictEqual(['09:00–10:00']);
});

test(row('DEC-261'), async () => {
  const week = { start_date: monday, end_date: daysAfter(monday, 6), provider_ids: '506', ...fallback };
  const offers: Row[] = (await requestAvailability(fixture, week)).body.results.availability;
  expect(offers.map(({ day_of_week }) => day_of_week)).toStrictEqual([1, 2, 3, 4, 5]);
  expect(new Set(spans(offers))).toStrictEqual(new Set(['09:00–17:00']));
  const set = async (hours: unknown) => {
    const operator = await signInOperator(fixture);
    const [{ id } = { id: '' }] = await fixture.owner<{ id: string }[]>`SELECT id FROM organizations`;
    expect((await operator.patch(`clients/{client}/organizations/${id}/default-hours`, { hours })).status).toBe(200);
  };
  await set([{ day: 'Tuesday', shifts: [shift('07:30', '11:00')] }]);
  const set_offers: Row[] = (await requestAvailability(fixture, week)).body.results.availability;
  expect(set_offers.map(({ day_of_week }) => day_of_week)).toStrictEqual([2]);
  expect(spans(set_offers)).toStrictEqual(['07:30–11:00']);
  // Default hours do not apply to a provider with hours.
  expect(await free('507', fallback, daysAfter(monday, 1))).toStrictEqual(['09:00–10:00']);
  await set(null);
  expect((await requestAvailability(fixture, week)).body.results.availability).toStrictEqual(offers);
});

test(row('DEC-262'), async () => {
  const span = (days: number) => getAvailability({ end_date: daysAfter(monday, days), provider_ids: '503' });
  for (const days of [91, 92]) {
    const { status, body } = await span(days);
    expect(status).toBe(200);
    // The last day is a Monday or a Tuesday, and the provider works on both.
    expect(body.results.availability.at(-1).date).toBe(daysAfter(monday, days));
  }
  for (const days of [93, 400]) {
    expectApiError(await span(days), 400, /^end_date must be at most 92 days after start_date$/, 'end_date');
  }
});
