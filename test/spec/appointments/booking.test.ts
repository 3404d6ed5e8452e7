import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { countRows, endPauses, setFault } from '../../journeys/support.ts';
import { addClinicRow, clinicRows, type Row } from '../support/emrRecords.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

/** A day without seeded appointments, in July, when New York is four hours behind UTC. */
const year = new Date().getUTCFullYear() + 2;
const day = `${year}-07-09`;
const us_day = `07/09/${year}`;

type Fields = Record<string, unknown>;

/** Every test books its own hour; `undefined` omits a field. */
const book = (fields: Fields = {}) => {
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = fixture.sandbox.example;
  const body = { mrn, location, provider, type: 'FU', datetime: `${day}T07:00:00-04:00`, ...fields };
  return fixture.api.call('POST', '/v1/appointments', { body });
};

/** The event of a booking, and the appointment in Larkspur if there is one. */
async function outcome(accepted: ApiResponse): Promise<{ event: Row; booked: Row }> {
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const event = await fixture.api.untilEvent(accepted.body.job_id);
  const appointmentId = event.data.ehr_appointment_id;
  const [booked] = appointmentId === undefined ? [] : await clinicRows(fixture, 'appointments', { appointmentId });
  return { event, booked };
}

/** Checks the error response, and that there is no job, event or write to the EMR. */
async function expectRequestRejected(
  fields: Fields,
  status: number,
  message: string | RegExp,
  field: string,
): Promise<void> {
  const before = { rows: await countRows(fixture.owner), writes: (await fixture.api.ledger()).length };
  expectApiError(await book(fields), status, message, field);
  expect({ rows: await countRows(fixture.owner), writes: (await fixture.api.ledger()).length }).toStrictEqual(before);
}

const by_date = { datetime: undefined, date: day, time: '8:00 am' };

test(row('APT-20'), async () => {
  const request = { mrn: 'LK100042', location: '12', provider: '503', type: 'OV' };
  const { event, booked } = await outcome(await book({ ...request, datetime: `${day}T09:00:00-04:00` }));
  expect(event.event_type).toBe('appointment.created');
  expect(booked).toMatchObject({ patientId: '10042', facilityId: '12', providerId: '503', visitTypeCode: 'OV' });
  for (const field of Object.keys(request)) {
    for (const value of [503, true, ['503']]) {
      await expectRequestRejected({ [field]: value }, 400, `${field} must be a string`, field);
    }
  }
});

test(row('APT-21'), async () => {
  for (const datetime of [`${day}T10:05:00-04:00`, `${day}T14:05:00Z`, `${day}T19:35:00+05:30`]) {
    const { booked } = await outcome(await book({ datetime }));
    expect(booked.startsAt).toBe(`${us_day} 10:05`);
  }
  const rule = 'datetime must be a date and time with offset, in ISO 8601';
  for (const datetime of [`${day}T10:05:00`, `${day} 10:05`, day, 'tomorrow', `${year}-02-30T10:05:00Z`]) {
    await expectRequestRejected({ datetime }, 400, rule, 'datetime');
  }
  await expectRequestRejected({ datetime: 1_900_000_000 }, 400, 'datetime must be a string', 'datetime');
});

test(row('APT-22'), async () => {
  const { providers } = (await fixture.api.call('GET', '/v1/providers')).body;
  const provider = providers.find((each: Row) => each.ehr_id === '504');
  const { booked } = await outcome(await book({ provider: provider.ehr_id, datetime: `${day}T11:00:00-04:00` }));
  expect(booked.providerId).toBe('504');
  const message = `Provider with EMR ID '${provider.id}' not found.`;
  await expectRequestRejected({ provider: provider.id }, 404, message, 'provider');
});

test(row('APT-23'), async () => {
  // The EMR is unavailable, and the response does not wait for it.
  await setFault(fixture.api, 'create_appointment', 'error_500', { times: 1000 });
  const { status, body } = await book({ datetime: `${day}T12:00:00-04:00` });
  expect(status).toBe(200);
  const { appointment_id, job_id } = body;
  expect(body).toStrictEqual({
    success: true,
    message: expect.stringContaining('webhook event'),
    appointment_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
    data: { appointment_id, job_id },
  });
  const polled = await fixture.api.call('GET', `/v1/webhook-events?job_id=${body.data.job_id}`);
  expect(polled.body.webhook_events).toStrictEqual([]);
  await fixture.api.control('DELETE', '/control/faults');
  await endPauses(fixture.owner);
  const event = await fixture.api.untilEvent(body.data.job_id);
  expect(event.data.appointment_id).toBe(body.data.appointment_id);
});

test(row('APT-24'), async () => {
  const { body } = await book({ datetime: `${day}T13:00:00-04:00` });
  const event = await fixture.api.untilEvent(body.job_id);
  expect(event).toMatchObject({ event_type: 'appointment.created', job_id: String(body.job_id) });
  const appointmentId = event.data.ehr_appointment_id;
  expect(await clinicRows(fixture, 'appointments', { appointmentId })).toMatchObject([{ startsAt: `${us_day} 13:00` }]);
});

test(row('DEC-225'), async () => {
  for (const field of ['mrn', 'location', 'provider', 'type']) {
    await expectRequestRejected({ [field]: undefined }, 400, `Missing required field: ${field}`, field);
  }
  await expectRequestRejected({ location: 'x' }, 404, "Location with EMR ID 'x' not found.", 'location');
  await expectRequestRejected({ provider: 'x' }, 404, "Provider with EMR ID 'x' not found.", 'provider');
  const codes = (await clinicRows(fixture, 'visit-types')).map(({ code }) => code);
  const { booked } = await outcome(await book({ type: codes[0], datetime: `${day}T14:00:00-04:00` }));
  expect(booked.visitTypeCode).toBe(codes[0]);
});

test(row('DEC-226'), async () => {
  const one = await outcome(await book({ datetime: `${day}T19:00:00Z` }));
  const two = await outcome(await book({ datetime: undefined, date: day, time: '3:00 pm' }));
  expect([one.booked.startsAt, two.booked.startsAt]).toStrictEqual([`${us_day} 15:00`, `${us_day} 15:00`]);
  await expectRequestRejected({ datetime: undefined }, 400, 'Missing required field: datetime', 'datetime');
  await expectRequestRejected({ ...by_date, time: undefined }, 400, 'Missing required field: time', 'time');
  await expectRequestRejected({ ...by_date, date: undefined }, 400, 'Missing required field: date', 'date');
  const both = { ...by_date, datetime: `${day}T08:00:00-04:00` };
  await expectRequestRejected(both, 400, 'Send either datetime or date and time, not both', 'datetime');
});

test(row('DEC-227'), async () => {
  for (const [time, clock] of [
    ['4:05 pm', '16:05'],
    ['12:00 am', '00:00'],
    ['12:59 pm', '12:59'],
    ['09:30AM', '09:30'],
    ['11:30 am', '11:30'],
  ]) {
    const { booked } = await outcome(await book({ ...by_date, time }));
    expect(booked.startsAt).toBe(`${us_day} ${clock}`);
  }
  for (const date of [us_day, `${year}-7-9`, `${year}-02-30`, 'today']) {
    const message = 'date must be a date that exists, in the form YYYY-MM-DD';
    await expectRequestRejected({ ...by_date, date }, 400, message, 'date');
  }
  for (const time of ['16:05', '13:00 pm', '0:30 am', '4 pm', '4:60 pm', '4:05']) {
    await expectRequestRejected({ ...by_date, time }, 400, 'time must be a time in the form h:mm am', 'time');
  }
});

test(row('DEC-228'), async () => {
  const datetime = `${day}T17:00:00-04:00`;
  const more = { secondary_provider: '505', note: 'Bring the films.', reason: 'Knee' };
  const { booked } = await outcome(await book({ datetime, ...more }));
  expect(booked).toMatchObject({ secondaryProviderId: '505', note: 'Bring the films.', reason: 'Knee' });
  const plain = await outcome(await book({ datetime }));
  expect(plain.booked).toMatchObject({ secondaryProviderId: null, note: null, reason: null });
  for (const field of Object.keys(more)) {
    await expectRequestRejected({ [field]: 5 }, 400, `${field} must be a string`, field);
  }
  const message = "Provider with EMR ID 'x' not found.";
  await expectRequestRejected({ secondary_provider: 'x' }, 404, message, 'secondary_provider');
});

test(row('DEC-229'), async () => {
  const datetime = `${day}T18:00:00-04:00`;
  for (const duration of ['1', '35', '120']) {
    expect((await outcome(await book({ datetime, duration }))).booked.minutes).toBe(Number(duration));
  }
  for (const duration of ['0', '-5', '1.5', '30 min', 'half an hour', '10000']) {
    const message = 'duration must be a number of minutes from 1 to 1440, in digits';
    await expectRequestRejected({ duration }, 400, message, 'duration');
  }
  await expectRequestRejected({ duration: 30 }, 400, 'duration must be a string', 'duration');
});

test(row('DEC-230'), async () => {
  const datetime = `${day}T19:00:00-04:00`;
  const [yes, no] = [await book({ datetime, new_patient: 'true' }), await book({ datetime, new_patient: false })];
  expect((await outcome(yes)).booked.newPatientFlag).toBe('Y');
  expect((await outcome(no)).booked.newPatientFlag).toBe('N');
  const twice = await outcome(await book({ datetime, prevent_double_booking: 'false' }));
  expect(twice.event.event_type).toBe('appointment.created');
  const prevented = await outcome(await book({ datetime, prevent_double_booking: 'true' }));
  expect(prevented.event.event_type).toBe('appointment.failed');
  for (const field of ['new_patient', 'prevent_double_booking']) {
    for (const value of ['yes', 'TRUE', '1', 1]) {
      await expectRequestRejected({ [field]: value }, 400, `${field} must be one of: true, false`, field);
    }
  }
});

test(row('DEC-231'), async () => {
  const accepted = await book({ datetime: `${day}T20:00:00-04:00`, secondary_provider: '502' });
  const { event, booked } = await outcome(accepted);
  const [provider] = await clinicRows(fixture, 'providers', { providerId: booked.providerId });
  const data = {
    appointment_id: accepted.body.appointment_id,
    ehr_appointment_id: booked.appointmentId,
    mrn: fixture.sandbox.example.patient_mrn,
    date_time: `${day}T20:00:00-04:00`,
    timezone: 'America/New_York',
    provider_id: booked.providerId,
    provider_name: provider.displayName,
    secondary_provider_id: '502',
  };
  expect(event.data).toStrictEqual(data);
  const alone = await outcome(await book({ datetime: `${day}T20:00:00-04:00` }));
  expect(alone.event.data.secondary_provider_id).toBeNull();
});

test(row('DEC-232'), async () => {
  const accepted = await book({ mrn: 'LK999999', datetime: `${day}T21:00:00-04:00` });
  const { event } = await outcome(accepted);
  expect(event.event_type).toBe('appointment.failed');
  const failure_reason = "Patient with MRN 'LK999999' not found.";
  expect(event.data).toStrictEqual({
    appointment_id: accepted.body.appointment_id,
    mrn: 'LK999999',
    failure_reason,
    reasons: [{ code: 'patient_not_found', description: failure_reason }],
  });
  const written = await fixture.api.ledger();
  expect(written.filter(({ marker }) => marker.startsWith(accepted.body.appointment_id))).toStrictEqual([]);
});

test(row('DEC-233'), async () => {
  const taken = { datetime: `${day}T22:00:00-04:00`, provider: '506', duration: '20' };
  const first = await outcome(await book(taken));
  await addClinicRow(fixture, 'blocks', {
    providerId: '507',
    startsAt: `${us_day} 22:00`,
    minutes: 60,
    reason: 'Away',
  });
  for (const [provider, conflict_type, named] of [
    ['506', 'appointment', first.booked.appointmentId],
    ['507', 'block', 'Away'],
  ]) {
    const accepted = await book({ ...taken, provider, prevent_double_booking: 'true' });
    const { event } = await outcome(accepted);
    expect(event.event_type).toBe('appointment.failed');
    expect(event.data).toStrictEqual({
      appointment_id: accepted.body.appointment_id,
      mrn: fixture.sandbox.example.patient_mrn,
      failure_reason: expect.stringContaining('not free'),
      reasons: [{ code: 'slot_taken', description: event.data.failure_reason }],
      conflict_type,
      conflict_details: expect.stringContaining(named),
    });
  }
});

test('can be read as soon as its event is sent, is no longer offered, and keeps its id in a sync', async () => {
  // The practice is closed at weekends; at least one of three consecutive days is a weekday.
  const weekday = ['09', '10', '11'].map((each) => `${year}-07-${each}`).find((each) => new Date(each).getUTCDay() % 6);
  const query = `start_date=${weekday}&end_date=${weekday}&provider_ids=501&fallback_to_default_hours=true`;
  const offered = async () => JSON.stringify((await fixture.api.call('GET', `/v1/availability?${query}`)).body.results);
  const before = await offered();
  const accepted = await book({ datetime: `${weekday}T10:00:00-04:00`, duration: '25', reason: 'Follow-up' });
  const { event } = await outcome(accepted);
  const { appointment_id } = accepted.body;
  const read = async () => (await fixture.api.call('GET', `/v1/appointments/${appointment_id}`)).body.appointment;
  const expected = {
    id: appointment_id,
    ehr_appointment_id: event.data.ehr_appointment_id,
    datetime: `${weekday}T10:00:00-04:00`,
    duration: 25,
    reason: 'Follow-up',
    patient_mrn: fixture.sandbox.example.patient_mrn,
    provider_name: event.data.provider_name,
  };
  expect(await read()).toMatchObject(expected);
  expect(await offered()).not.toBe(before);
  await fixture.api.sync();
  expect(await read()).toMatchObject(expected);
});

test('an appointment without a duration has the length of the visit type', async () => {
  const [type] = await clinicRows(fixture, 'visit-types', { code: 'NP' });
  const { booked } = await outcome(await book({ type: 'NP', datetime: `${day}T03:00:00-04:00` }));
  expect(booked.minutes).toBe(type.defaultMinutes);
});

/** The first Sunday of November, on which the hour from 1:00 occurs twice; the second of March lacks that from 2:00. */
const sunday = (month: string, from: number) =>
  Array.from({ length: 7 }, (_, n) => `${year}-${month}-${String(from + n).padStart(2, '0')}`).find(
    (date) => new Date(date).getUTCDay() === 0,
  );

test('an appointment in an hour that occurs twice keeps its instant; a local time means the first', async () => {
  const date = sunday('11', 1);
  for (const [fields, expected] of [
    [{ datetime: `${date}T01:30:00-04:00` }, `${date}T01:30:00-04:00`],
    [{ datetime: `${date}T01:30:00-05:00` }, `${date}T01:30:00-05:00`],
    [{ datetime: undefined, date, time: '1:30 am' }, `${date}T01:30:00-04:00`],
  ] as const) {
    const accepted = await book({ ...fields, type: 'OV', duration: '20' });
    const { event } = await outcome(accepted);
    expect(event.data.date_time).toBe(expected);
    const read = async () => {
      const { body } = await fixture.api.call('GET', `/v1/appointments/${accepted.body.appointment_id}`);
      return body.appointment.datetime;
    };
    expect(await read()).toBe(expected);
    await fixture.api.sync();
    expect(await read()).toBe(expected);
  }
  // The two passes do not overlap.
  const slot = { provider: '502', duration: '20', prevent_double_booking: 'true' };
  for (const offset of ['-04:00', '-05:00']) {
    const { event } = await outcome(await book({ ...slot, datetime: `${date}T01:30:00${offset}` }));
    expect(event.event_type).toBe('appointment.created');
  }
});

test('an appointment at a local time that does not exist, or within a minute, is rejected with the reason', async () => {
  const date = sunday('03', 8);
  const message = `time does not exist on ${date} in America/New_York, because clocks go forward. Send another time`;
  await expectRequestRejected({ datetime: undefined, date, time: '2:30 am' }, 400, message, 'time');
  const seconds = { datetime: `${day}T10:00:30-04:00` };
  await expectRequestRejected(seconds, 400, 'datetime must be a full minute', 'datetime');
});

test('is read with status pending while its job is queued', async () => {
  const fields = { datetime: `${day}T02:00:00-04:00`, type: 'NP', reason: 'Queued' };
  const [accepted, pending] = await withJobsPaused(fixture, async () => {
    const response = await book(fields);
    return [response, await fixture.api.call('GET', `/v1/appointments/${response.body.appointment_id}`)] as const;
  });
  expect(pending.status).toBe(200);
  const [type] = await clinicRows(fixture, 'visit-types', { code: 'NP' });
  expect(pending.body.appointment).toMatchObject({
    id: accepted.body.appointment_id,
    ehr_appointment_id: null,
    status: 'pending',
    datetime: fields.datetime,
    duration: type.defaultMinutes,
    reason: 'Queued',
    patient_mrn: fixture.sandbox.example.patient_mrn,
  });
  await outcome(accepted);
  const { body } = await fixture.api.call('GET', `/v1/appointments/${accepted.body.appointment_id}`);
  expect(Object.keys(body.appointment).sort()).toStrictEqual(Object.keys(pending.body.appointment).sort());
  expect(body.appointment.status).not.toBe('pending');
});

test('books a time that is taken unless double booking is to be prevented', async () => {
  const taken = { datetime: `${day}T05:00:00-04:00`, duration: '20' };
  await outcome(await book(taken));
  expect((await outcome(await book(taken))).event.event_type).toBe('appointment.created');
});

test('exactly one of several concurrent bookings of one slot succeeds', async () => {
  const mrns = Array.from({ length: 8 }, (_, n) => `LK10001${n}`);
  const slot = { datetime: `${day}T06:00:00-04:00`, duration: '15', prevent_double_booking: 'true' };
  const accepted = await Promise.all(mrns.map((mrn) => book({ ...slot, mrn })));
  const events = await Promise.all(accepted.map(({ body }) => fixture.api.untilEvent(body.job_id)));
  expect(events.filter(({ event_type }) => event_type === 'appointment.created')).toHaveLength(1);
});

test('is booked once if the response is lost', async () => {
  await setFault(fixture.api, 'create_appointment', 'lose_answer');
  const accepted = await book({ datetime: `${day}T04:00:00-04:00` });
  expect((await outcome(accepted)).event.event_type).toBe('appointment.created');
  const entries = await fixture.api.ledger();
  const { appointment_id } = accepted.body;
  expect(entries.filter(({ marker, applied }) => applied && marker.startsWith(appointment_id))).toHaveLength(1);
});

test('fails without a conflict if the EMR does not know the visit type', async () => {
  // Removed since the last sync.
  await fixture.api.control('DELETE', '/control/visit-types/PRO');
  const { event } = await outcome(await book({ type: 'PRO' }));
  expect(event.event_type).toBe('appointment.failed');
  expect(event.data).not.toHaveProperty('conflict_type');
});
