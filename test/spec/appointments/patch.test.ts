import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError, expectSchema } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { countRows, endPauses, pauseAfterFailure, setFault, until } from '../../journeys/support.ts';
import { clinicRows, type Row } from '../support/emrRecords.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

/** A year without seeded appointments; in July, New York is four hours behind UTC. */
const year = new Date().getUTCFullYear() + 3;
const at = (day: number, time: string) => `${year}-07-${String(day).padStart(2, '0')}T${time}:00-04:00`;

const book = async (fields: Row) => {
  const body = { mrn: 'LK100002', location: '11', provider: '501', type: 'OV', ...fields };
  const response = await fixture.api.call('POST', '/v1/appointments', { body });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return response.body;
};
const patch = (id: string, body: Row) => fixture.api.call('PATCH', `/v1/appointments/${id}`, { body });
const read = async (id: string) => (await fixture.api.call('GET', `/v1/appointments/${id}`)).body.appointment as Row;
const inEmr = async (appointmentId: string) => (await clinicRows(fixture, 'appointments', { appointmentId }))[0] as Row;

/** The ids of an appointment that the EMR has. */
async function scheduled(fields: Row): Promise<{ id: string; ehr_id: string }> {
  const { appointment_id: id, job_id } = await book(fields);
  const { event_type, data } = await fixture.api.untilEvent(job_id);
  expect(event_type).toBe('appointment.created');
  return { id, ehr_id: data.ehr_appointment_id };
}

/** Sends changes and returns the event of their job. */
async function change(id: string, changes: Row): Promise<Row> {
  const response = await patch(id, changes);
  expectSchema('appointments.update', response);
  expect(response.body).toMatchObject({ success: true, appointment_id: id, job_id: expect.any(Number) });
  return fixture.api.untilEvent(response.body.job_id);
}

test(row('APP-12'), async () => {
  const { id, first, job_id } = await withJobsPaused(fixture, async () => {
    const accepted = await book({ datetime: at(2, '09:00'), note: 'Old', reason: 'Old' });
    const changes = {
      mrn: 'LK100003',
      provider: '502',
      type: 'np',
      date: `${year}-07-02`,
      time: '10:00 am',
      note: null,
    };
    const first = await patch(accepted.appointment_id, { ...changes, duration: '50', reason: 'New' });
    const pending = await read(accepted.appointment_id);
    expect(pending).toMatchObject({
      status: 'pending',
      datetime: at(2, '10:00'),
      provider_ehr_id: '502',
      duration: 50,
    });
    return { id: accepted.appointment_id, first, job_id: accepted.job_id };
  });
  const message = 'Appointment update queued with the creation of the appointment.';
  expect(first.body).toStrictEqual({ success: true, appointment_id: id, message });
  const { data } = await fixture.api.untilEvent(job_id);
  expect(data).toMatchObject({ mrn: 'LK100003', provider_id: '502', date_time: at(2, '10:00') });
  const booked = await inEmr(data.ehr_appointment_id);
  expect(booked).toMatchObject({ providerId: '502', visitTypeCode: 'NP', minutes: 50, note: null, reason: 'New' });
  expect(booked.startsAt).toBe(`07/02/${year} 10:00`);
});

test(row('APP-13'), async () => {
  await setFault(fixture.api, 'create_appointment', 'refuse');
  const { appointment_id: id, job_id } = await book({ datetime: at(3, '09:00') });
  expect((await fixture.api.untilEvent(job_id)).event_type).toBe('appointment.failed');
  const event = await change(id, { datetime: at(3, '11:00') });
  expect(event).toMatchObject({ event_type: 'appointment.created', data: { appointment_id: id } });
  const booked = await read(id);
  expect(booked).toMatchObject({ datetime: at(3, '11:00'), ehr_appointment_id: event.data.ehr_appointment_id });
  expect(booked).not.toHaveProperty('failure_reason');
});

test(row('APP-14'), async () => {
  await setFault(fixture.api, 'create_appointment', 'error_500', { times: 1000 });
  const { appointment_id: id, job_id } = await book({ datetime: at(4, '09:00') });
  try {
    await expect.poll(async () => (await patch(id, { note: 'Late' })).status, { timeout: 30_000 }).toBe(409);
    const refused = await patch(id, { note: 'Late' });
    expectApiError(refused, 409, /^The appointment is being written to the EMR\./);
  } finally {
    await fixture.api.control('DELETE', '/control/faults');
    await endPauses(fixture.owner);
  }
  expect((await fixture.api.untilEvent(job_id)).event_type).toBe('appointment.created');
});

test(row('APP-15'), async () => {
  const { id, ehr_id } = await scheduled({ datetime: at(5, '09:00') });
  const { event_type, data } = await change(id, { status: 'CON', note: 'Bring films' });
  expect(event_type).toBe('appointment.updated');
  expect(data).toStrictEqual({
    ...{ id, ehr_appointment_id: ehr_id, patient_mrn: 'LK100002', patient_name: expect.any(String) },
    ...{ datetime: at(5, '09:00'), duration: expect.any(Number), location: '11', status: 'CON' },
    ...{ provider_name: expect.any(String), appointment_type: 'OV', appointment_mode: 'OFFICE' },
  });
  expect(await inEmr(ehr_id)).toMatchObject({ statusCode: 'CON', note: 'Bring films' });
  expect(await read(id)).toMatchObject({ status: 'CON', note: 'Bring films' });
  const cleared = await change(id, { note: null });
  expect(cleared.event_type).toBe('appointment.updated');
  expect((await inEmr(ehr_id)).note).toBeNull();
});

test(row('APP-16'), async () => {
  const { id, ehr_id } = await scheduled({ datetime: at(9, '09:00'), prevent_double_booking: 'true' });
  const { event_type, data } = await change(id, { status: 'Cancelled' });
  expect(event_type).toBe('appointment.cancelled');
  expect(data).toStrictEqual({
    ...{ id, date_time: at(9, '09:00'), duration: expect.any(Number), provider_id: '501', mrn: 'LK100002' },
    ...{ provider_name: expect.any(String), cancelled_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) },
  });
  expect((await inEmr(ehr_id)).statusCode).toBe('CAN');
  // Its time is free again.
  await scheduled({ datetime: at(9, '09:00'), prevent_double_booking: 'true', mrn: 'LK100003' });
  const other = await scheduled({ datetime: at(9, '12:00') });
  expect((await change(other.id, { status: 'rescheduled' })).event_type).toBe('appointment.updated');
  expect((await inEmr(other.ehr_id)).statusCode).toBe('RSC');
});

test(row('APP-17'), async () => {
  const { id, ehr_id } = await scheduled({ datetime: at(10, '09:00'), duration: '30' });
  const taken = await scheduled({ datetime: at(10, '11:00'), duration: '30', mrn: 'LK100003' });
  const event = await change(id, { datetime: at(10, '10:00'), duration: '45', type: 'np', location: '12' });
  expect(event).toMatchObject({ event_type: 'appointment.updated', data: { datetime: at(10, '10:00'), duration: 45 } });
  const moved = { startsAt: `07/10/${year} 10:00`, minutes: 45, visitTypeCode: 'NP', facilityId: '12' };
  expect(await inEmr(ehr_id)).toMatchObject(moved);
  expect(await read(id)).toMatchObject({ datetime: at(10, '10:00'), duration: 45, location: '12' });
  const failed = await change(id, { datetime: at(10, '11:15'), prevent_double_booking: 'true' });
  expect(failed).toMatchObject({
    event_type: 'appointment.update_failed',
    data: { id, reasons: [{ code: 'slot_taken' }] },
  });
  expect(await inEmr(ehr_id)).toMatchObject(moved);
  // It does not conflict with itself.
  const shifted = await change(id, { datetime: at(10, '10:10'), prevent_double_booking: true });
  expect(shifted.event_type).toBe('appointment.updated');
  expect((await inEmr(taken.ehr_id)).startsAt).toBe(`07/10/${year} 11:00`);
});

test(row('APP-18'), async () => {
  const { id } = await scheduled({ datetime: at(11, '09:00') });
  const before = await countRows(fixture.owner);
  const fixed = "Field 'mrn' cannot be changed once the appointment is in the EMR.";
  expectApiError(await patch(id, { mrn: 'LK100003' }), 400, fixed, 'mrn');
  expectApiError(await patch(id, {}), 400, 'At least one field must be provided.');
  expectApiError(await patch(id, { prevent_double_booking: 'true' }), 400, 'At least one field must be provided.');
  expectApiError(await patch(id, { status: 'nonsense' }), 400, /^status must be one of: .*CAN.*, cancelled/, 'status');
  expectApiError(await patch(id, { provider: 'x' }), 404, "Provider with EMR ID 'x' not found.", 'provider');
  expectApiError(await patch(id, { type: 'ZZ' }), 400, /^type must be one of: /, 'type');
  expectApiError(await patch(id, { duration: null }), 400, 'Missing required field: duration', 'duration');
  expectApiError(await patch(id, { color: 'red' }), 400, 'Unexpected fields in request body: color', 'color');
  const unknown = '01a1c5f0a4e87b21b3d94c6f7a8e9012';
  expectApiError(await patch(unknown, { note: 'x' }), 404, `Appointment with ID '${unknown}' not found.`, 'id');
  expect(await countRows(fixture.owner)).toStrictEqual(before);
});

test(row('APP-19'), async () => {
  const { id, ehr_id } = await scheduled({ datetime: at(12, '09:00') });
  await setFault(fixture.api, 'update_appointment', 'lose_answer');
  const response = await patch(id, { note: 'Once' });
  await endPauses(fixture.owner);
  expect((await fixture.api.untilEvent(response.body.job_id)).event_type).toBe('appointment.updated');
  const entries = (await fixture.api.ledger()).filter((each: Row) => each.operation === 'update_appointment');
  const markers = entries.filter((each: Row) => each.applied).map((each: Row) => each.marker);
  expect(new Set(markers).size).toBe(markers.length);
  expect((await inEmr(ehr_id)).note).toBe('Once');
  // In the order of the requests.
  const ids = await Promise.all(['A', 'B', 'C'].map(async (note) => (await patch(id, { note })).body.job_id));
  for (const job_id of ids) await fixture.api.untilEvent(job_id);
  const [last] = await fixture.owner<{ note: string }[]>`SELECT input -> 'change' ->> 'note' AS note FROM jobs
    JOIN operations ON operations.id = operation_id WHERE jobs.id = ${Math.max(...ids)}`;
  expect((await inEmr(ehr_id)).note).toBe(last?.note);
});

test(row('APP-23'), async () => {
  const { id, ehr_id } = await scheduled({ datetime: at(16, '09:00'), provider: '503', location: '12' });
  const setProvider = (status: string) => fixture.api.call('PATCH', '/v1/providers/ehr/503', { body: { status } });
  const locations = (await fixture.api.call('GET', '/v1/locations')).body.locations as Row[];
  const place = locations.find((each) => each.ehr_id === '12');
  const setLocation = (status: string) => fixture.api.call('PATCH', `/v1/locations/${place.id}`, { body: { status } });
  await fixture.owner`DELETE FROM visit_types WHERE doc ->> 'code' = 'OV'`;
  for (const response of [await setProvider('inactive'), await setLocation('inactive')])
    expect(response.status).toBe(200);
  try {
    const event = await change(id, { datetime: at(16, '10:00') });
    expect(event).toMatchObject({ event_type: 'appointment.updated', data: { datetime: at(16, '10:00') } });
    expect((await inEmr(ehr_id)).startsAt).toBe(`07/16/${year} 10:00`);
    // What is sent is checked.
    expectApiError(await patch(id, { provider: '503' }), 400, /is inactive/, 'provider');
    expectApiError(await patch(id, { location: '12' }), 400, /is inactive/, 'location');
    expectApiError(await patch(id, { type: 'OV' }), 400, /^type must be one of: /, 'type');
  } finally {
    await setProvider('active');
    await setLocation('active');
    await fixture.api.sync();
  }
});

test(row('APP-24'), async () => {
  // The first patient's lane waits for a job that the EMR does not carry out.
  await setFault(fixture.api, 'create_telephone_encounter', 'error_500', { times: 1000 });
  const call = await fixture.api.callIn({ patient_mrn: 'LK100004' });
  try {
    await pauseAfterFailure(fixture.owner, call.body.job_id);
    const waiting = await book({ mrn: 'LK100004', datetime: at(17, '09:00') });
    const { appointment_id: id, job_id } = await book({ mrn: 'LK100004', datetime: at(17, '11:00') });
    const lanes = async () =>
      (
        await fixture.owner<{ lane: string }[]>`SELECT lane FROM jobs WHERE id IN (${job_id}, ${waiting.job_id})
        ORDER BY id DESC`
      ).map(({ lane }) => lane);
    const [before, former] = await lanes();
    expect(before).toBe(former);
    expect((await patch(id, { mrn: 'LK100005' })).status).toBe(200);
    // It no longer waits for the other patient's jobs.
    const { event_type, data } = await fixture.api.untilEvent(job_id);
    expect([event_type, data.mrn]).toStrictEqual(['appointment.created', 'LK100005']);
    const [after, unmoved] = await lanes();
    expect(unmoved).toBe(former);
    expect(after).not.toBe(former);
    expect((await fixture.api.job(waiting.job_id)).status).toBe('queued');
    expect(await fixture.owner`SELECT FROM lanes WHERE key = ${after ?? ''}`).toHaveLength(0);
    await fixture.api.control('DELETE', '/control/faults');
    await endPauses(fixture.owner);
    expect((await fixture.api.untilEvent(waiting.job_id)).event_type).toBe('appointment.created');
  } finally {
    await fixture.api.control('DELETE', '/control/faults');
    await endPauses(fixture.owner);
  }
});

test('a pending booking can be moved between patients while no worker is running', async () => {
  const { appointment_id, job_id } = await withJobsPaused(fixture, async () => {
    const accepted = await book({ mrn: 'LK100004', datetime: at(18, '09:00') });
    const responses = await Promise.all(
      ['LK100005', 'LK100006', 'LK100004', 'LK100005'].map((mrn) => patch(accepted.appointment_id, { mrn })),
    );
    expect(responses.map(({ status }) => status)).toStrictEqual([200, 200, 200, 200]);
    return accepted;
  });
  const { data } = await fixture.api.untilEvent(job_id);
  expect(data.mrn).toBe((await read(appointment_id)).patient_mrn);
  await until('the lanes to be empty', async () => {
    const [left] = await fixture.owner<{ n: number }[]>`SELECT count(*)::int AS n FROM lanes WHERE key <> 'sync'`;
    return left?.n === 0;
  });
});

test(row('APP-25'), async () => {
  const named = async (fields: Row) => {
    const { job_id } = await withJobsPaused(fixture, async () => {
      const accepted = await book({ datetime: at(19, '09:00'), ...fields });
      const response = await patch(accepted.appointment_id, { note: 'x', reference: 'of the change' });
      expect(response.body.reference).toBe('of the change');
      return accepted;
    });
    const [event] = [await fixture.api.untilEvent(job_id)];
    expect((await fixture.api.job(job_id)).reference).toBe(event.reference);
    return event.reference;
  };
  expect(await named({})).toBe('of the change');
  expect(await named({ reference: 'of the booking' })).toBe('of the booking');
  const { jobs } = (await fixture.api.call('GET', '/v1/jobs?reference=of%20the%20change')).body;
  expect(jobs).toHaveLength(1);
});

test(row('APP-26'), async () => {
  await setFault(fixture.api, 'create_telephone_encounter', 'error_500', { times: 1000 });
  const call = await fixture.api.callIn({ patient_mrn: 'LK100007' });
  try {
    await pauseAfterFailure(fixture.owner, call.body.job_id);
    const strict = { datetime: at(20, '09:00'), prevent_double_booking: 'true' };
    const first = await book({ ...strict, mrn: 'LK100007' });
    const second = await book({ mrn: 'LK100008', datetime: at(20, '09:10') });
    const other = await book({ mrn: 'LK100008', datetime: at(20, '14:00') });
    // Another time does not wait.
    expect((await fixture.api.untilEvent(other.job_id)).event_type).toBe('appointment.created');
    expect((await fixture.api.job(second.job_id)).status).toBe('queued');
    await fixture.api.control('DELETE', '/control/faults');
    await endPauses(fixture.owner);
    for (const { job_id } of [first, second]) {
      expect((await fixture.api.untilEvent(job_id)).event_type).toBe('appointment.created');
    }
  } finally {
    await fixture.api.control('DELETE', '/control/faults');
    await endPauses(fixture.owner);
  }
});
