import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { endPauses, setFault } from '../../journeys/support.ts';
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

const next_monday = daysAfter(monday, 7);
let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const rule = { start_time: '09:00:00', end_time: '10:00:00', total_visits: 2, visit_type_id: 'NP' };
  const visit_type_rules = [rule, { ...rule, start_time: '10:00:00', end_time: '12:00:00', visit_type_id: 'FU' }];
  const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
  for (const [ehr_id, hours] of [
    ['501', mondays(shift('09:00', '12:00', { facility_id: '11', visit_type_rules }))],
    ['502', mondays(shift('13:00', '15:20', { facility_id: '12' }), shift('16:00', '17:00', { facility_id: '11' }))],
    ['503', days.map((day) => ({ day, shifts: [shift('08:00', '08:30')] }))],
    ['504', []],
  ] as const) {
    expect((await patchProvider(fixture, ehr_id, { hours })).status).toBe(200);
  }
  const visit = { patientId: '10001', visitTypeCode: 'FU', minutes: 30 };
  const at = (time: string) => ({ ...visit, startsAt: `${usDay(monday)} ${time}` });
  await addClinicRow(fixture, 'appointments', { ...at('10:00'), providerId: '501', facilityId: '12' });
  const second = { providerId: '505', secondaryProviderId: '501', facilityId: '11' };
  const startsAt = `${usDay(next_monday)} 11:00`;
  await addClinicRow(fixture, 'appointments', { ...visit, startsAt, ...second });
  await fixture.api.sync();
});
afterAll(() => fixture.close());

const on = { start_date: monday, end_date: monday };
const getAvailability = (query: Record<string, string>) => requestAvailability(fixture, query);
const free = async (query: Record<string, string> = {}) => spans(await readAvailability(fixture, '501', monday, query));
const refused = async (query: Record<string, string>, message: string | RegExp, field: string) =>
  expectApiError(await getAvailability({ ...on, ...query }), 400, message, field);

test(row('REF-05'), async () => {
  const { status, body } = await getAvailability(on);
  expect(status).toBe(200);
  expect(body.success).toBe(true);
  expect(await free()).toStrictEqual(['09:00–10:00', '10:30–12:00']);
});

test(row('DEC-237'), async () => {
  const providers = (await clinicRows(fixture, 'providers')).map(({ providerId }) => providerId);
  const facilities = (await clinicRows(fixture, 'facilities')).map(({ facilityId }) => facilityId);
  const offers: Row[] = (await getAvailability(on)).body.results.availability;
  expect(offers.length).toBeGreaterThan(5);
  for (const { provider_id, facility_id } of offers) {
    expect(providers).toContain(provider_id);
    if (provider_id !== '503') expect(facilities).toContain(facility_id);
  }
  for (const { hours } of (await fixture.api.call('GET', '/v1/providers')).body.providers as Row[]) {
    const shifts: Row[] = hours.flatMap(({ shifts }: Row) => shifts);
    for (const { facility_id } of shifts) if (facility_id !== undefined) expect(facilities).toContain(facility_id);
  }
});

test(row('DEC-238'), async () => {
  for (const [date, offset] of [
    [monday, '-04:00'],
    [daysAfter(monday, 28 * 7), '-05:00'],
  ] as const) {
    expect(await readAvailability(fixture, '503', date)).toMatchObject([
      { range_start: `${date}T08:00:00${offset}`, range_end: `${date}T08:30:00${offset}` },
    ]);
  }
});

test(row('DEC-239'), async () => {
  expectApiError(await getAvailability({ end_date: monday }), 400, 'Missing required field: start_date', 'start_date');
  expectApiError(await getAvailability({ start_date: monday }), 400, 'Missing required field: end_date', 'end_date');
  expect((await getAvailability(on)).status).toBe(200);
});

test(row('DEC-240'), async () => {
  const providersAt = async (query: Record<string, string>) => {
    const offers: Row[] = (await getAvailability({ ...on, ...query })).body.results.availability;
    return [...new Set(offers.map(({ provider_id, facility_id }) => `${provider_id} ${facility_id}`))];
  };
  expect(await providersAt({ provider_ids: '501' })).toStrictEqual(['501 11']);
  expect(await providersAt({ provider_ids: '501,502' })).toStrictEqual(['501 11', '502 12', '502 11']);
  expect(await providersAt({ provider_ids: '501,502', location_ids: '12' })).toStrictEqual(['502 12']);
  expect(await providersAt({ provider_ids: '502', location_ids: '11,12' })).toStrictEqual(['502 12', '502 11']);
  const { providers } = (await fixture.api.call('GET', '/v1/providers')).body;
  for (const id of ['999', providers[0].id]) {
    const response = await getAvailability({ ...on, provider_ids: `501,${id}` });
    expectApiError(response, 404, `Provider with EMR ID '${id}' not found.`, 'provider_ids');
  }
  const elsewhere = await getAvailability({ ...on, location_ids: '11,99' });
  expectApiError(elsewhere, 404, "Location with EMR ID '99' not found.", 'location_ids');
});

test(row('DEC-241'), async () => {
  for (const provider_type of ['primary', 'secondary']) {
    expect(await free({ provider_type })).toStrictEqual(['09:00–10:00', '10:30–12:00']);
    const with_second = await readAvailability(fixture, '501', next_monday, { provider_type });
    expect(spans(with_second)).toStrictEqual(['09:00–11:00', '11:30–12:00']);
  }
  await refused({ provider_type: 'third' }, /^provider_type must be one of: primary, secondary/, 'provider_type');
  expect(await free({ calculation_method: 'slots', visit_type: 'NP' })).toStrictEqual(['09:00–10:00']);
  expect(await readAvailability(fixture, '501', monday, { visit_type: 'NP' })).toMatchObject([
    { visit_type: 'NP' },
    { visit_type: 'NP' },
  ]);
});

test(row('DEC-242'), async () => {
  for (const [buffer, from] of [
    ['0', '10:30'],
    ['1', '10:31'],
    ['58', '11:28'],
    ['59', '11:29'],
  ] as const) {
    expect(await free({ buffer })).toStrictEqual(['09:00–10:00', `${from}–12:00`]);
  }
  await refused({ buffer: '-1' }, 'buffer must be at least 0', 'buffer');
  await refused({ buffer: '60' }, 'buffer must be at most 59', 'buffer');
});

test(row('DEC-243'), async () => {
  const by = (calculation_method: string, more = {}) => free({ calculation_method, ...more });
  expect(await by('gaps')).toStrictEqual(await free());
  expect(await by('slots')).toStrictEqual(['09:00–10:00', '10:00–12:00']);
  expect(await by('equal_slots', { max_slot_duration: '90' })).toStrictEqual(['10:30–12:00']);
  for (const calculation_method of ['magic', 'GAPS', '']) {
    const message = 'calculation_method must be one of: gaps, slots, equal_slots';
    await refused({ calculation_method }, message, 'calculation_method');
  }
});

test(row('DEC-244'), async () => {
  expect(await free({ daily_appointment_limit: '1', daily_limit_type: 'FU' })).toStrictEqual([]);
  expect(await free({ max_slot_duration: '60' })).toStrictEqual(['09:00–10:00', '10:30–11:30', '11:30–12:00']);
  expect(await free({ facility_scoped_scheduling: 'true' })).toStrictEqual(['09:00–12:00']);
  const fallback = await readAvailability(fixture, '504', monday, { fallback_to_default_hours: 'true' });
  expect(spans(fallback)).toStrictEqual(['09:00–17:00']);
  await refused({ daily_appointment_limit: 'x', daily_limit_type: 'FU' }, /^daily_appo/, 'daily_appointment_limit');
  await refused({ max_slot_duration: '0' }, /^max_slot_duration/, 'max_slot_duration');
  for (const field of ['fallback_to_default_hours', 'facility_scoped_scheduling']) {
    await refused({ [field]: 'maybe' }, `${field} must be a boolean`, field);
  }
});

test(row('DEC-245'), async () => {
  const { status, body } = await getAvailability({ ...on, provider_ids: '501' });
  expect(status).toBe(200);
  const { timeZone: timezone } = (await fixture.api.control('GET', '/api/practice')).body;
  expect(body).toStrictEqual({ success: true, results: { availability: expect.any(Array) }, timezone });
  const none = await getAvailability({ ...on, provider_ids: '504' });
  expect(none.body).toStrictEqual({ success: true, results: { availability: [] }, timezone });
});

test(row('DEC-246'), async () => {
  const query = { start_date: monday, end_date: daysAfter(monday, 6), provider_ids: '503' };
  const week: Row[] = (await getAvailability(query)).body.results.availability;
  expect(week).toHaveLength(7);
  for (const [n, offer] of week.entries()) {
    const date = daysAfter(monday, n);
    expect(offer).toMatchObject({
      day_of_week: n + 1,
      date,
      duration_string: '30min',
      range_start: `${date}T08:00:00-04:00`,
      range_end: `${date}T08:30:00-04:00`,
      timezone_abbr: 'EDT',
    });
  }
  const durations = (await readAvailability(fixture, '502', monday)).map(({ duration_string }) => duration_string);
  expect(durations).toStrictEqual(['2h 20min', '1h']);
  const [winter] = await readAvailability(fixture, '503', daysAfter(monday, 28 * 7));
  expect(winter.timezone_abbr).toBe('EST');
});

test(row('DEC-247'), async () => {
  const [provider] = await clinicRows(fixture, 'providers', { providerId: '502' });
  const [facility] = await clinicRows(fixture, 'facilities', { facilityId: '12' });
  const [offer] = await readAvailability(fixture, '502', monday);
  expect(offer).toMatchObject({
    provider_id: '502',
    provider_name: provider.displayName,
    facility_id: '12',
    facility_name: facility.name,
  });
  expect(await readAvailability(fixture, '503', monday)).toMatchObject([{ facility_id: null, facility_name: null }]);
});

test(row('DEC-248'), async () => {
  for (const offer of await readAvailability(fixture, '501', monday)) {
    expect(offer).toMatchObject({ visit_type: 'all', available_appointments: null, max_visits: null });
  }
  expect(await readAvailability(fixture, '501', monday, { calculation_method: 'slots' })).toMatchObject([
    { visit_type: 'NP', available_appointments: 2, max_visits: 2 },
    { visit_type: 'FU', available_appointments: 1, max_visits: 2 },
  ]);
});

test(row('DEC-249'), async () => {
  const all = async (query: Record<string, string>) =>
    (await getAvailability({ ...on, provider_ids: '501', ...query })).body.results.explanations;
  const explanations = async (query: Record<string, string>) =>
    (await all(query))?.filter(({ reason }: Row) => reason !== 'outside_hours');
  expect(await explanations({})).toBeUndefined();
  expect(await explanations({ explain: 'false' })).toBeUndefined();
  expect(await explanations({ explain: 'true', buffer: '15' })).toStrictEqual([
    {
      provider_id: '501',
      facility_id: '11',
      date: monday,
      range_start: `${monday}T10:00:00-04:00`,
      range_end: `${monday}T10:30:00-04:00`,
      reason: 'appointment',
      visit_type: null,
    },
    expect.objectContaining({ range_end: `${monday}T10:45:00-04:00`, reason: 'buffer' }),
  ]);
  const limit = { explain: 'true', daily_appointment_limit: '1', daily_limit_type: 'all' };
  const whole_shift = { range_start: `${monday}T09:00:00-04:00`, range_end: `${monday}T12:00:00-04:00` };
  expect(await explanations(limit)).toMatchObject([{ ...whole_shift, reason: 'daily_limit' }]);
  expect(await explanations({ explain: 'true', location_ids: '12' })).toMatchObject([
    { ...whole_shift, reason: 'location' },
  ]);
});

test(row('WHY-01'), async () => {
  const day = async (query: Record<string, string> = {}) => {
    const { results } = (await getAvailability({ ...on, provider_ids: '501', explain: 'true', ...query })).body;
    return [...results.availability, ...results.explanations]
      .map(({ range_start, range_end, reason }: Row) => ({ range_start, range_end, reason: reason ?? 'free' }))
      .sort((a, b) => (a.range_start < b.range_start ? -1 : 1));
  };
  const ranges = await day();
  // From midnight to midnight, without a gap.
  expect(ranges.at(0)?.range_start).toBe(`${monday}T00:00:00-04:00`);
  for (const [index, { range_start }] of ranges.slice(1).entries()) {
    expect(range_start).toBe(ranges[index]?.range_end);
  }
  expect(ranges.at(-1)).toMatchObject({ reason: 'outside_hours', range_end: expect.stringContaining('T00:00:00') });
  expect(ranges.map(({ reason }) => reason)).toContain('free');
  const set = (body: Record<string, unknown>) => fixture.api.call('PATCH', '/v1/providers/ehr/501', { body });
  await set({ hide_in_availability: true });
  expect((await day()).map(({ reason }) => reason)).toStrictEqual(['hidden_provider']);
  await set({ hide_in_availability: false, status: 'inactive' });
  expect((await day()).map(({ reason }) => reason)).toStrictEqual(['inactive_provider']);
  await set({ status: 'active' });
  // Clocks go forward on the second Sunday of March.
  const year = Number(monday.slice(0, 4));
  const first = new Date(Date.UTC(year, 2, 1)).getUTCDay();
  const sunday = `${year}-03-${String(8 + ((7 - first) % 7)).padStart(2, '0')}`;
  expect(await day({ start_date: sunday, end_date: sunday })).toContainEqual({
    range_start: `${sunday}T02:00:00-05:00`,
    range_end: `${sunday}T03:00:00-04:00`,
    reason: 'clock_change',
  });
});

test(row('WHY-02'), async () => {
  const { patient_mrn: mrn } = fixture.sandbox.example;
  const booking = { mrn, location: '11', provider: '501', type: 'FU', datetime: `${monday}T11:00:00-04:00` };
  await setFault(fixture.api, 'create_appointment', 'error_500');
  const { body } = await fixture.api.call('POST', '/v1/appointments', { body: { ...booking, duration: '20' } });
  const { results } = (await getAvailability({ ...on, provider_ids: '501', explain: 'true' })).body;
  const booked = results.explanations.find(({ reason }: Row) => reason === 'booking');
  // Nothing about the patient.
  expect(booked).toStrictEqual({
    ...{ provider_id: '501', facility_id: '11', date: monday, reason: 'booking', visit_type: null },
    ...{ range_start: `${monday}T11:00:00-04:00`, range_end: `${monday}T11:20:00-04:00` },
  });
  await fixture.api.control('DELETE', '/control/faults');
  await endPauses(fixture.owner);
  await fixture.api.untilEvent(body.job_id);
});

test('times that have passed and inactive locations are not offered, and explain says so', async () => {
  const reasons = async (query: Record<string, string>) => {
    const { results } = (await getAvailability({ ...query, provider_ids: '502,503', explain: 'true' })).body;
    return {
      offered: new Set(results.availability.map(({ facility_id }: Row) => facility_id)),
      reasons: new Set(
        results.explanations.map(({ reason }: Row) => reason).filter((one: string) => one !== 'outside_hours'),
      ),
    };
  };
  const past = await reasons({ start_date: '2025-06-02', end_date: '2025-06-02' });
  expect(past).toStrictEqual({ offered: new Set(), reasons: new Set(['past']) });
  const { locations } = (await fixture.api.call('GET', '/v1/locations')).body;
  const { id } = locations.find(({ ehr_id }: Row) => ehr_id === '12');
  const set = (status: string) => fixture.api.call('PATCH', `/v1/locations/${id}`, { body: { status } });
  expect((await set('inactive')).status).toBe(200);
  const closed = await reasons(on);
  expect(closed.offered).not.toContain('12');
  expect(closed.offered).toContain('11');
  expect(closed.reasons).toContain('inactive_location');
  expect((await set('active')).status).toBe(200);
  expect((await reasons(on)).offered).toContain('12');
});
