import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays } from '../../../src/platform/time/days.ts';
import { expectApiError, expectSchema } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { endPauses, setFault } from '../../journeys/support.ts';
import { addClinicRow, type Row } from '../support/emrRecords.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

/** A year without seeded appointments. */
const year = new Date().getUTCFullYear() + 3;
const range = { start_date: `${year}-05-01`, end_date: `${year}-05-31` };

let fixture: TestSandbox;
/** Larkspur's ids of appointments on four days in May: an office visit, a video visit, a canceled one, and with notes. */
let ids: { office: string; video: string; canceled: string; noted: string };
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const person = { firstName: 'Zoë', lastName: 'O’Listed-Müller', cellPhone: '999-555-0177' };
  const { patientId } = await addClinicRow(fixture, 'patients', person);
  const add = async (day: string, values: Row) => {
    const visit = { patientId, providerId: '501', facilityId: '11', startsAt: `05/${day}/${year} 09:00`, ...values };
    return (await addClinicRow(fixture, 'appointments', visit)).appointmentId;
  };
  ids = {
    office: await add('04', {}),
    video: await add('05', { mode: 'VIDEO', providerId: '502', facilityId: '12' }),
    canceled: await add('06', { statusCode: 'CAN', patientId: '10001' }),
    noted: await add('07', { note: 'Says "hi" \\ bye', progressNote: 'Examined\nagain', patientId: '10001' }),
  };
  await fixture.api.sync();
});
afterAll(() => fixture.close());

const get = (query: Record<string, string>) =>
  fixture.api.call('GET', `/v1/appointments?${new URLSearchParams(query)}`);

async function list(query: Record<string, string> = {}): Promise<Row[]> {
  const response = await get({ ...range, ...query });
  expectSchema('appointments.list', response);
  expect(Object.keys(response.body)).toStrictEqual(['success', 'appointments', 'pagination']);
  expect(response.body.pagination.total_count).toBe(response.body.appointments.length);
  return response.body.appointments;
}

/** The names of the listed appointments, in their order. */
async function names(query: Record<string, string> = {}): Promise<string[]> {
  const by_id = new Map(Object.entries(ids).map(([name, id]) => [id, name]));
  return (await list(query)).map(({ ehr_appointment_id }) => by_id.get(ehr_appointment_id) ?? ehr_appointment_id);
}

const book = (fields: Record<string, unknown>) => {
  const body = { mrn: 'LK100002', location: '11', provider: '503', type: 'OV', ...fields };
  return fixture.api.call('POST', '/v1/appointments', { body });
};

test(row('APP-01'), async () => {
  expect(await names()).toStrictEqual(['noted', 'canceled', 'video', 'office']);
  for (const appointment of await list({ include_note: 'true' })) {
    const { body } = await fixture.api.call('GET', `/v1/appointments/${appointment.id}`);
    expect(appointment).toStrictEqual(body.appointment);
    expect(appointment.object_metadata).toStrictEqual({ created_at: expect.any(String), source: 'emr' });
  }
  const { pagination } = (await get(range)).body;
  expect(pagination).toStrictEqual({ page: 1, current_page: 1, page_size: 100, total_count: 4, total_pages: 1 });
});

test(row('APP-02'), async () => {
  expectApiError(await get({}), 400, 'Missing required field: start_date', 'start_date');
  expectApiError(await get({ start_date: range.start_date }), 400, 'Missing required field: end_date', 'end_date');
  const one_day = { start_date: `${year}-05-05`, end_date: `${year}-05-05` };
  expect(await names(one_day)).toStrictEqual(['video']);
  const timestamps = { start_date: `${year}-05-05T23:00:00Z`, end_date: `${year}-05-06T01:00:00-04:00` };
  expect(await names(timestamps)).toStrictEqual(['canceled', 'video']);
  const { start_date } = range;
  expect(await names({ start_date, end_date: addDays(start_date, 92) })).toHaveLength(4);
  const rule = 'end_date must be at most 92 days after start_date';
  expectApiError(await get({ start_date, end_date: addDays(start_date, 93) }), 400, rule, 'end_date');
  const reversed = { start_date, end_date: addDays(start_date, -1) };
  expectApiError(await get(reversed), 400, 'end_date must not be before start_date', 'end_date');
  expectApiError(await get({ ...range, end_date: `${year}-02-30` }), 400, /^end_date must be a date/, 'end_date');
});

test(row('APP-03'), async () => {
  expect(await names({ patient_mrn: 'LK100001' })).toStrictEqual(['noted', 'canceled']);
  for (const patient_name of ['zoe', 'OLISTED', 'zoë o’l', 'ed mull', 'listed-Müller', 'Zo']) {
    expect(await names({ patient_name }), patient_name).toStrictEqual(['video', 'office']);
  }
  expect(await names({ patient_name: 'zoe x' })).toStrictEqual([]);
  expect(await names({ patient_phone: '(999) 555-0177' })).toStrictEqual(['video', 'office']);
  expect(await names({ patient_phone: '555-0177' })).toStrictEqual([]);
  expect(await names({ provider_ids: '502' })).toStrictEqual(['video']);
  expect(await names({ provider_ids: ' 502 ,501,nobody' })).toStrictEqual(['noted', 'canceled', 'video', 'office']);
  expect(await names({ location_ids: '12,13' })).toStrictEqual(['video']);
  expect(await names({ status: 'CAN' })).toStrictEqual(['canceled']);
  expect(await names({ status: 'nothing' })).toStrictEqual([]);
  expect(await names({ appointment_mode: 'telemedicine' })).toStrictEqual(['video']);
  expect(await names({ appointment_mode: 'office', patient_name: 'zoe', provider_ids: '501' })).toStrictEqual([
    'office',
  ]);
  const modes = 'appointment_mode must be one of: office, telemedicine';
  expectApiError(await get({ ...range, appointment_mode: 'VIDEO' }), 400, modes, 'appointment_mode');
  expect((await get({ ...range, patient_name: '' })).status).toBe(400);
  expect((await get({ ...range, unknown: 'x' })).status).toBe(400);
});

test(row('APP-04'), async () => {
  const query = { start_date: `${year}-05-07`, end_date: `${year}-05-07` };
  const withheld = { note: null, progress_note: null, ehr_appointment_id: ids.noted };
  expect(await list(query)).toMatchObject([withheld]);
  expect(await list({ ...query, include_note: 'false' })).toMatchObject([withheld]);
  const notes = { note: 'Says "hi" \\ bye', progress_note: 'Examined\nagain' };
  expect(await list({ ...query, include_note: 'true' })).toMatchObject([notes]);
  const [shown = {}, hidden = {}] = [await list({ ...query, include_note: 'true' }), await list(query)].flat();
  expect(Object.keys(hidden)).toStrictEqual(Object.keys(shown));
  expectApiError(
    await get({ ...range, include_note: 'yes' }),
    400,
    'include_note must be one of: true, false',
    'include_note',
  );
});

test(row('APP-05'), async () => {
  const { appointments, pagination } = (await get({ ...range, page: '2', page_size: '3' })).body;
  expect(appointments).toMatchObject([{ ehr_appointment_id: ids.office }]);
  expect(pagination).toStrictEqual({ page: 2, current_page: 2, page_size: 3, total_count: 4, total_pages: 2 });
  expect((await get({ ...range, page_size: '500' })).status).toBe(200);
  expectApiError(await get({ ...range, page_size: '501' }), 400, 'page_size must be at most 500', 'page_size');
  expectApiError(await get({ ...range, page: '0' }), 400, 'page must be at least 1', 'page');
});

test(row('APP-06'), async () => {
  const june = { start_date: `${year}-06-01`, end_date: `${year}-06-30` };
  const accepted = await withJobsPaused(fixture, async () => {
    const { body } = await book({ datetime: `${year}-06-03T10:00:00-04:00`, note: 'Ours', duration: '45' });
    const pending = { id: body.appointment_id, status: 'pending', ehr_appointment_id: null, duration: 45, note: null };
    const listed = await list({ ...june, status: 'pending', provider_ids: '503', patient_mrn: 'LK100002' });
    expect(listed).toMatchObject([{ ...pending, object_metadata: { source: 'api' } }]);
    expect(await list({ ...june, patient_name: listed[0]?.patient_last_name })).toHaveLength(1);
    return body;
  });
  const event = await fixture.api.untilEvent(accepted.job_id);
  await fixture.api.sync();
  const [booked, ...others] = await list(june);
  expect(others).toStrictEqual([]);
  const { ehr_appointment_id } = event.data;
  expect(booked).toMatchObject({ id: accepted.appointment_id, ehr_appointment_id, status: 'PEN' });
  expect(booked?.object_metadata.source).toBe('api');
});

test(row('APP-07'), async () => {
  const response = await fixture.api.call('GET', `/v1/appointments/ehr/${ids.noted}`);
  expectSchema('appointments.get-by-ehr-id', response);
  const { appointment } = response.body;
  expect(appointment).toMatchObject({ ehr_appointment_id: ids.noted, note: 'Says "hi" \\ bye' });
  expect((await fixture.api.call('GET', `/v1/appointments/${appointment.id}`)).body.appointment).toStrictEqual(
    appointment,
  );
  const unknown = await fixture.api.call('GET', '/v1/appointments/ehr/nobody');
  expectApiError(unknown, 404, "Appointment with ID 'nobody' not found.", 'ehr_id');
});

/** The first Wednesday of July. */
const wednesday = [1, 2, 3, 4, 5, 6, 7]
  .map((day) => `${year}-07-0${day}`)
  .find((day) => new Date(`${day}T12:00:00Z`).getUTCDay() === 3) as string;

const free = async (day: string, provider: string) => {
  const query = new URLSearchParams({ start_date: day, end_date: day, provider_ids: provider });
  const { body } = await fixture.api.call('GET', `/v1/availability?${query}&fallback_to_default_hours=true`);
  return body.results.availability as Row[];
};

test(row('APP-08'), async () => {
  const day = wednesday;
  const before = await free(day, '503');
  await setFault(fixture.api, 'create_appointment', 'refuse', { reason: 'Closed that day.' });
  const { body } = await book({ datetime: `${day}T10:00:00-04:00` });
  expect((await fixture.api.untilEvent(body.job_id)).event_type).toBe('appointment.failed');
  const response = await fixture.api.call('GET', `/v1/appointments/${body.appointment_id}`);
  expectSchema('appointments.get', response);
  const { failure_reason, reasons, ...rest } = response.body.appointment;
  expect(failure_reason).toContain('Closed that day.');
  expect(reasons).toStrictEqual([{ code: expect.any(String), description: failure_reason }]);
  expect(rest).toMatchObject({ status: 'failed', ehr_appointment_id: null, datetime: `${day}T10:00:00-04:00` });
  await fixture.api.sync();
  expect(await list({ start_date: day, end_date: day, status: 'failed' })).toMatchObject([{ id: body.appointment_id }]);
  expect(await free(day, '503')).toStrictEqual(before);
});

test(row('APP-09'), async () => {
  const isMorning = ({ range_start }: Row) => range_start.includes('T09:00');
  let day = wednesday;
  let before: Row[][] = [];
  // The next day on which both work in the morning.
  while (before.length === 0 || !before.every((ranges) => ranges.some(isMorning))) {
    day = addDays(day, 1);
    before = [await free(day, '503'), await free(day, '504')];
  }
  await setFault(fixture.api, 'create_appointment', 'error_500', { times: 1000 });
  const { body } = await book({ datetime: `${day}T10:00:00-04:00`, secondary_provider: '504' });
  const during = [await free(day, '503'), await free(day, '504')];
  expect(during[0]).not.toStrictEqual(before[0]);
  expect(during[1]).not.toStrictEqual(before[1]);
  await fixture.api.control('DELETE', '/control/faults');
  await endPauses(fixture.owner);
  expect((await fixture.api.untilEvent(body.job_id)).event_type).toBe('appointment.created');
  expect([await free(day, '503'), await free(day, '504')]).toStrictEqual(during);
});

test(row('APP-10'), async () => {
  const datetime = `${year}-07-15T10:00:00-04:00`;
  const once = { datetime, duration: '30', prevent_double_booking: 'true' };
  const [accepted, later] = await withJobsPaused(fixture, async () => {
    const mrns = ['LK100003', 'LK100004', 'LK100005', 'LK100006', 'LK100007', 'LK100008'];
    const responses = await Promise.all(mrns.map((mrn) => book({ ...once, mrn })));
    // As the second provider, and at a time that only overlaps.
    const overlapping = { mrn: 'LK100009', provider: '504', secondary_provider: '503' };
    const touching = { mrn: 'LK100010', datetime: `${year}-07-15T10:30:00-04:00` };
    const second = [
      await book({ ...once, ...overlapping, datetime: `${year}-07-15T10:29:00-04:00` }),
      await book({ ...once, ...touching }),
    ];
    return [responses.map(({ body }) => body), second.map(({ body }) => body)];
  });
  // The refused ones run first.
  const events = await Promise.all([...accepted, ...later].map(({ job_id }) => fixture.api.untilEvent(job_id)));
  const made = events.filter(({ event_type }) => event_type === 'appointment.created');
  const [first] = [...accepted].sort((a, b) => a.job_id - b.job_id);
  expect(made.map(({ data }) => data.mrn)).toContain('LK100010');
  expect(made).toHaveLength(2);
  const { appointments } = (await get({ start_date: datetime, end_date: datetime })).body;
  const winner = appointments.find((each: Row) => each.ehr_appointment_id && each.datetime === datetime);
  expect(accepted.map(({ appointment_id }) => appointment_id)).toContain(winner.id);
  expect(first).toBeDefined();
  for (const { data } of events.filter((event) => !made.includes(event))) {
    expect(data).toMatchObject({ reasons: [{ code: 'slot_taken' }], conflict_type: 'appointment' });
    expect(data.conflict_details).toContain('10:00 for 30 minutes');
  }
});

test('a booking that was accepted later fails although it runs first', async () => {
  const once = { datetime: `${year}-07-16T10:00:00-04:00`, prevent_double_booking: 'true' };
  await setFault(fixture.api, 'create_appointment', 'error_500', { times: 1 });
  const first = await book({ ...once, mrn: 'LK100003' });
  await expect
    .poll(async () => (await fixture.api.control('GET', '/control/faults')).body.faults.length, { timeout: 20_000 })
    .toBe(0);
  const second = await book({ ...once, mrn: 'LK100004' });
  expect((await fixture.api.untilEvent(second.body.job_id)).event_type).toBe('appointment.failed');
  await endPauses(fixture.owner);
  expect((await fixture.api.untilEvent(first.body.job_id)).event_type).toBe('appointment.created');
  // Free again, because the EMR has no appointment there.
  const third = await book({ ...once, mrn: 'LK100004', datetime: `${year}-07-16T11:00:00-04:00` });
  expect((await fixture.api.untilEvent(third.body.job_id)).event_type).toBe('appointment.created');
});

test(row('APP-11'), async () => {
  const bookType = async (type: string, hour: string) => {
    const { body } = await book({ type, datetime: `${year}-07-22T${hour}:00:00-04:00` });
    await fixture.api.untilEvent(body.job_id);
    return (await fixture.api.call('GET', `/v1/appointments/${body.appointment_id}`)).body.appointment.appointment_type;
  };
  const { visit_types } = (await fixture.api.call('GET', '/v1/visit-types')).body;
  const { description } = visit_types.find(({ code }: Row) => code === 'NP');
  expect(await bookType('np', '09')).toBe('NP');
  expect(await bookType(description.toUpperCase(), '10')).toBe('NP');
  const codes = visit_types.map(({ code }: Row) => code).join(', ');
  expectApiError(
    await book({ type: 'ZZ', datetime: `${year}-07-22T11:00:00-04:00` }),
    400,
    `type must be one of: ${codes}`,
    'type',
  );
});
