import { afterAll, beforeAll, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { addClinicRow, changeClinicRow, clinicRows, type Row } from '../support/emrRecords.ts';
import {
  clinicMondays,
  clinicProvider,
  clinicShift,
  daysAfter,
  monday,
  mondays,
  patchProvider,
  readAvailability,
  readProvider,
  shift,
  spans,
  usDay,
} from './schedules.ts';

let fixture: TestSandbox;
/** What the service returned at each stage. Syncs are slow, so all tests share two of them. */
const stages: Record<string, Row> = {};
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  // 501 becomes inactive, 502 hidden, 504 gets hours through the API; then the clinic changes all three schedules.
  stages.inactive_before = await readProvider(fixture, '501');
  await set('501', { status: 'inactive' });
  await set('502', { hide_in_availability: 'true' });
  await set('504', { hours: ours });
  const [gone] = await clinicRows(fixture, 'appointments', { providerId: '501' });
  stages.gone = gone.appointmentId;
  expect((await fixture.api.control('DELETE', `/control/appointments/${gone.appointmentId}`)).status).toBe(200);
  stages.visits = { 501: await fillSchedule('501'), 502: await fillSchedule('502') };
  await changeClinicRow(fixture, 'providers', '504', { weeklyHours: clinicMondays(clinicShift('06:00', '07:00')) });
  const weeklyHours = clinicMondays(clinicShift('09:00', '12:00'));
  const west = { displayName: 'Wilma Westerly, MD', timeZone: 'America/Los_Angeles', weeklyHours };
  stages.west = await addClinicRow(fixture, 'providers', west);
  stages.newcomer = await addClinicRow(fixture, 'providers', { displayName: 'Hattie Hourly, MD', weeklyHours });
  await fixture.api.sync();
  stages.inactive_after = { ...(await readProvider(fixture, '501')), ...(await countTaken('501')) };
  stages.hidden_after = { ...(await readProvider(fixture, '502')), ...(await countTaken('502')) };
  stages.ours_after = [(await readProvider(fixture, '504')).hours];
  await set('501', { status: 'active' });
  await changeClinicRow(fixture, 'providers', '504', { weeklyHours: clinicMondays(clinicShift('06:00', '08:00')) });
  await fixture.api.sync();
  stages.active_after = { ...(await readProvider(fixture, '501')), ...(await countTaken('501')) };
  stages.ours_after.push((await readProvider(fixture, '504')).hours);
  stages.ours_offered = await readAvailability(fixture, '504', monday);
});
afterAll(() => fixture.close());

const ours = mondays(shift('10:00', '11:00'));

async function set(ehr_id: string, body: unknown): Promise<void> {
  const response = await patchProvider(fixture, ehr_id, body);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
}

/** Changes a provider in Larkspur: other hours, and a block and an appointment on the Monday. */
async function fillSchedule(providerId: string): Promise<string> {
  const weeklyHours = clinicMondays(clinicShift('06:00', '10:00'));
  await changeClinicRow(fixture, 'providers', providerId, { weeklyHours });
  const block = { providerId, startsAt: `${usDay(monday)} 06:00`, minutes: 30, reason: 'Rounds' };
  await addClinicRow(fixture, 'blocks', block);
  const visit = { providerId, patientId: '10001', facilityId: '11', startsAt: `${usDay(monday)} 07:00`, minutes: 60 };
  return (await addClinicRow(fixture, 'appointments', visit)).appointmentId;
}

/** Counts the records of `fillSchedule` in the cache, and the appointment that the clinic removed. */
async function countTaken(ehr_id: string): Promise<Row> {
  const [taken] = await fixture.owner<{ appointments: number; removed: number; blocks: number }[]>`
    SELECT (SELECT count(*) FROM appointments WHERE ehr_id = ${stages.visits[ehr_id]}) AS appointments,
           (SELECT count(*) FROM appointments WHERE ehr_id = ${stages.gone}) AS removed,
           (SELECT count(*) FROM schedule_blocks WHERE provider_ehr_id = ${ehr_id}
               AND starts_at = ${`${monday}T06:00:00-04:00`}::text::timestamptz) AS blocks`;
  return taken;
}

const filled = {
  hours: [{ day: 'Monday', shifts: [{ start: 'T06:00:00', end: 'T10:00:00' }] }],
  appointments: 1,
  blocks: 1,
};

test(row('PRV-07'), async () => {
  const { hours } = stages.inactive_before;
  expect(stages.inactive_after).toMatchObject({ status: 'inactive', hours, appointments: 0, blocks: 0, removed: 1 });
  expect(stages.active_after).toMatchObject({ status: 'active', ...filled, removed: 0 });
  expect(spans(await readAvailability(fixture, '501', monday))).toStrictEqual(['06:30–07:00', '08:00–10:00']);
});

test(row('PRV-09'), async () => {
  expect(stages.hidden_after).toMatchObject({ hide_in_availability: true, ...filled });
  expect(await readAvailability(fixture, '502', monday)).toStrictEqual([]);
  await set('502', { hide_in_availability: 'false' });
  expect(spans(await readAvailability(fixture, '502', monday))).toStrictEqual(['06:30–07:00', '08:00–10:00']);
  await set('502', { hide_in_availability: 'true' });
});

test(row('PRV-11'), async () => {
  await set('503', { hours: mondays(shift('09:00', '12:00')) });
  const shown = [];
  for (const status of ['active', 'inactive']) {
    for (const hide_in_availability of ['false', 'true']) {
      await set('503', { status, hide_in_availability });
      const offers = await readAvailability(fixture, '503,504', monday);
      const of = offers.filter(({ provider_id }) => provider_id === '503');
      shown.push([status, hide_in_availability, spans(of).join()]);
    }
  }
  expect(shown).toStrictEqual([
    ['active', 'false', '09:00–12:00'],
    ['active', 'true', ''],
    ['inactive', 'false', ''],
    ['inactive', 'true', ''],
  ]);
});

test(row('PRV-15'), async () => {
  // The provider is three hours behind; the EMR instance uses New York's time.
  const { providerId } = stages.west;
  expect(await readProvider(fixture, providerId)).toMatchObject({ timezone: 'America/Los_Angeles' });
  const winter = daysAfter(monday, 28 * 7);
  for (const [date, offset] of [
    [monday, '-04:00'],
    [winter, '-05:00'],
  ] as const) {
    expect(await readAvailability(fixture, providerId, date)).toMatchObject([
      { range_start: `${date}T09:00:00${offset}`, range_end: `${date}T12:00:00${offset}` },
    ]);
  }
});

test(row('PRV-17'), async () => {
  const facilities = await clinicRows(fixture, 'facilities');
  const names = new Map(facilities.map(({ facilityId, name }) => [facilityId, name]));
  const { providers } = (await fixture.api.call('GET', '/v1/providers')).body;
  for (const { hours } of providers) {
    for (const { shifts } of hours) {
      for (const { facility_id, facility_name } of shifts) {
        if (facility_id !== undefined) expect(facility_name).toBe(names.get(facility_id));
      }
    }
  }
  await set('504', { hours: mondays(shift('09:00', '12:00', { facility_id: '13' })) });
  const [patched] = (await readProvider(fixture, '504')).hours[0].shifts;
  expect(patched.facility_name).toBe(names.get('13'));
  expect(patched.facility_name).toBeTypeOf('string');
});

test(row('PRV-20'), async () => {
  const set_start_date = '2026-01-01';
  const decades_on = daysAfter(monday, 52 * 7 * 40);
  await set('505', {
    hours: mondays(
      shift('09:00', '10:00', { set_start_date }),
      shift('11:00', '12:00', { set_start_date, set_end_date: monday }),
    ),
  });
  expect(spans(await readAvailability(fixture, '505', monday))).toStrictEqual(['09:00–10:00', '11:00–12:00']);
  expect(spans(await readAvailability(fixture, '505', decades_on))).toStrictEqual(['09:00–10:00']);
});

test(row('PRV-26'), async () => {
  await set('506', { hours: mondays({ start: 'T09:00:00', end: 'T12:00:00' }) });
  expect((await readProvider(fixture, '506')).hours).toStrictEqual(mondays({ start: 'T09:00:00', end: 'T12:00:00' }));
  expect(spans(await readAvailability(fixture, '506', monday))).toStrictEqual(['09:00–12:00']);
});

test(row('STA-07'), async () => {
  const states = ['active', 'inactive'].flatMap((status) =>
    [true, false].map((hide_in_availability) => ({ status, hide_in_availability })),
  );
  for (const from of states) {
    for (const to of states) {
      await set('507', from);
      expect(await readProvider(fixture, '507')).toMatchObject(from);
      await set('507', to);
      expect(await readProvider(fixture, '507')).toMatchObject(to);
    }
  }
});

test(row('DEC-205'), async () => {
  const { providerId } = stages.newcomer;
  const emrs = { start: 'T09:00:00', end: 'T12:00:00', facility_id: '11' };
  expect((await readProvider(fixture, providerId)).hours).toMatchObject([{ day: 'Monday', shifts: [emrs] }]);
  await set(providerId, { hours: ours });
  expect((await readProvider(fixture, providerId)).hours).toStrictEqual(ours);
});

test(row('DEC-206'), () => {
  expect(stages.ours_after).toStrictEqual([ours, ours]);
  expect(spans(stages.ours_offered as Row[])).toStrictEqual(['10:00–11:00']);
});

test(row('DEC-207'), async () => {
  const { hours } = await readProvider(fixture, '508');
  await set('508', { hours: mondays(shift('01:00', '02:00')) });
  expect((await readProvider(fixture, '508')).hours).toStrictEqual(mondays(shift('01:00', '02:00')));
  await set('508', { hours: null });
  expect((await readProvider(fixture, '508')).hours).toStrictEqual(hours);
  const { weeklyHours } = await clinicProvider(fixture, '508');
  expect(hours.map(({ day }: { day: string }) => day)).toStrictEqual(
    weeklyHours.map(({ dayName }: { dayName: string }) => dayName),
  );
  expect(hours[0].shifts[0].start).toBe(`T${weeklyHours[0].shifts[0].startTime}:00`);
});
