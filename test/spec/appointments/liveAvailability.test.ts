import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { endPauses, endRetries, setFault, untilFailedAttempt } from '../../journeys/support.ts';
import {
  clinicShift,
  daysAfter,
  monday,
  mondays,
  patchProvider,
  requestAvailability,
  shift,
  usDay,
} from '../providers/schedules.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { addClinicRow, changeClinicRow, clinicRows, type Row } from '../support/emrRecords.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  // What a fetch sees must not come from a sync.
  await pauseSyncs(fixture, 'list_facilities');
});
afterAll(() => fixture.close());

const on = { start_date: monday, end_date: monday };
const send = (body: Row): Promise<ApiResponse> => fixture.api.call('POST', '/v1/availability/fetch', { body });

async function completed(body: Row): Promise<Row> {
  const response = await send({ ...on, ...body });
  expect(response.status, JSON.stringify(response.body)).toBe(202);
  const { event_type, data } = await fixture.api.untilEvent(response.body.job_id);
  expect(event_type, JSON.stringify(data)).toBe('availability.live_fetch_completed');
  return data;
}

const spans = ({ availability }: Row): string[] =>
  availability.map((each: Row) => `${each.range_start.slice(11, 16)}–${each.range_end.slice(11, 16)}`);

/** One shift of a provider on Mondays, in the EMR. */
async function setHours(provider: string, startTime: string, endTime: string): Promise<void> {
  const weeklyHours = [{ dayName: 'Monday', shifts: [clinicShift(startTime, endTime)] }];
  await changeClinicRow(fixture, 'providers', provider, { weeklyHours });
}

test(row('LIV-13'), async () => {
  await setHours('501', '09:00', '12:00');
  const cached = await requestAvailability(fixture, { ...on, provider_ids: '501' });
  const response = await send({ ...on, provider_ids: ['501'] });
  const message = 'Availability fetch queued. A webhook event follows on completion.';
  expect(response.status).toBe(202);
  expect(response.body).toStrictEqual({ success: true, message, job_id: expect.any(Number) });
  const { event_type, data } = await fixture.api.untilEvent(response.body.job_id);
  expect(event_type).toBe('availability.live_fetch_completed');
  const { timezone } = cached.body;
  expect(data).toStrictEqual({ success: true, ...on, availability: expect.any(Array), timezone });
  expect(spans(data)).toStrictEqual(['09:00–12:00']);
  expect(spans(cached.body.results)).not.toStrictEqual(spans(data));
  const [patient] = await clinicRows(fixture, 'patients');
  const visit = { patientId: patient.patientId, facilityId: '11', minutes: 30 };
  const at = (time: string) => ({ startsAt: `${usDay(monday)} ${time}` });
  await addClinicRow(fixture, 'appointments', { ...visit, ...at('10:00'), providerId: '501' });
  const second = { providerId: '502', secondaryProviderId: '501' };
  await addClinicRow(fixture, 'appointments', { ...visit, ...at('11:00'), ...second });
  await addClinicRow(fixture, 'appointments', { ...visit, ...at('09:30'), providerId: '501', statusCode: 'CAN' });
  await addClinicRow(fixture, 'blocks', { ...at('11:45'), providerId: '501', minutes: 60, reason: 'Meeting' });
  expect(spans(await completed({ provider_ids: '501' }))).toStrictEqual(['09:00–10:00', '10:30–11:00', '11:30–11:45']);
  const explained = await completed({ provider_ids: ['501'], explain: true });
  expect(explained.explanations.map(({ reason }: Row) => reason)).toContain('appointment');
  // The cache has what the last sync read.
  const after = await requestAvailability(fixture, { ...on, provider_ids: '501' });
  expect(after.body.results).toStrictEqual(cached.body.results);
});

test(row('LIV-14'), async () => {
  const rejected = async (body: Row, message: string | RegExp, field: string, status = 400) => {
    const before = await countAcceptedWork(fixture);
    expectApiError(await send(body), status, message, field);
    expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  };
  const provider_ids = ['501'];
  await rejected({ ...on }, 'Missing required field: provider_ids', 'provider_ids');
  await rejected({ ...on, provider_ids: [] }, 'provider_ids must contain 1 to 10 providers', 'provider_ids');
  const eleven = Array.from({ length: 11 }, (_, n) => `${n}`);
  await rejected({ ...on, provider_ids: eleven }, 'provider_ids must contain 1 to 10 providers', 'provider_ids');
  await rejected({ ...on, provider_ids: ['x'] }, "Provider with EMR ID 'x' not found.", 'provider_ids', 404);
  await rejected({ provider_ids }, 'Missing required parameters: start_date, end_date.', 'start_date');
  const format = 'Invalid date format. Use ISO format (YYYY-MM-DD).';
  await rejected({ ...on, start_date: 'today', provider_ids }, format, 'start_date');
  const before = { start_date: daysAfter(monday, 1), end_date: monday, provider_ids };
  await rejected(before, 'end_date must be after start_date.', 'end_date');
  const long = { start_date: monday, end_date: daysAfter(monday, 5) };
  await rejected({ ...long, provider_ids }, 'Date range cannot exceed 5 days for one provider.', 'end_date');
  const two = { start_date: monday, end_date: daysAfter(monday, 1), provider_ids: ['501', '502'] };
  await rejected(two, 'Date range cannot exceed 1 day for several providers.', 'end_date');
  await rejected({ ...on, provider_ids, visit_type: 'ZZ' }, /^visit_type must be one of/, 'visit_type');
  await rejected({ ...on, provider_ids, location_ids: 'x' }, /not found/, 'location_ids', 404);
  const equal_slots = { ...on, provider_ids, calculation_method: 'equal_slots' };
  await rejected(equal_slots, 'Missing required field: max_slot_duration', 'max_slot_duration');
  await rejected({ ...on, provider_ids, color: 'red' }, 'Unexpected fields in request body: color', 'color');
  await setHours('505', '09:00', '10:00');
  const slots = await completed({ ...equal_slots, provider_ids: ['505'], max_slot_duration: 20 });
  expect(spans(slots)).toStrictEqual(['09:00–09:20', '09:20–09:40', '09:40–10:00']);
  const five = await completed({ end_date: daysAfter(monday, 4), provider_ids: ['505'] });
  expect(spans(five)).toStrictEqual(['09:00–10:00']);
  const several = await completed({ provider_ids: ['505', '501'] });
  expect(new Set(several.availability.map(({ provider_id }: Row) => provider_id))).toStrictEqual(
    new Set(['501', '505']),
  );
});

test(row('LIV-15'), async () => {
  await setHours('503', '13:00', '15:00');
  const fetched = await withJobsPaused(fixture, async () => {
    const response = await send({ ...on, provider_ids: ['503'] });
    const datetime = `${monday}T14:00:00-04:00`;
    const booking = { mrn: 'LK100002', location: '11', provider: '503', type: 'OV', duration: '30', datetime };
    // The EMR refuses it until the fetch is done, so that only the service knows it.
    await setFault(fixture.api, 'create_appointment', 'error_500', { times: 1000 });
    expect((await fixture.api.call('POST', '/v1/appointments', { body: booking })).status).toBe(200);
    return response;
  });
  const { data } = await fixture.api.untilEvent(fetched.body.job_id);
  expect(spans(data)).toStrictEqual(['13:00–14:00', '14:30–15:00']);
  await fixture.api.control('DELETE', '/control/faults');
  await pauseSyncs(fixture, 'list_facilities');
  const hours = mondays(shift('08:00', '08:30', { facility_id: '11' }));
  expect((await patchProvider(fixture, '503', { hours })).status).toBe(200);
  expect(spans(await completed({ provider_ids: ['503'] }))).toStrictEqual(['08:00–08:30']);
});

test(row('LIV-16'), async () => {
  await setFault(fixture.api, 'list_blocks', 'error_500', { times: 1000 });
  const { job_id } = (await send({ ...on, provider_ids: ['501'] })).body;
  await untilFailedAttempt(fixture.api, job_id);
  await endRetries(fixture.owner, job_id);
  await endPauses(fixture.owner);
  const { event_type, data } = await fixture.api.untilEvent(job_id);
  expect(event_type).toBe('availability.live_fetch_failed');
  expect(data.reasons).toStrictEqual([{ code: expect.any(String), description: data.failure_reason }]);
});
