import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

/** Far enough ahead for the seed to hold nothing there; in July, when New York is four hours behind UTC. */
const year = new Date().getUTCFullYear() + 2;
const day = `${year}-07-09`;

const book = (fields: Record<string, unknown> = {}) => {
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = world.sandbox.example;
  const body = { mrn, location, provider, type: 'FU', datetime: `${day}T09:30:00-04:00`, ...fields };
  return world.api.call('POST', '/v1/appointments', { body });
};

describe('an appointment', () => {
  test('is booked at the time that was asked for, in either form, and announced', async () => {
    const forms = [
      { datetime: `${day}T13:30:00Z` },
      { datetime: undefined, date: day, time: '9:30 am' },
      { datetime: undefined, date: day, time: '09:30AM' },
    ];
    for (const form of forms) {
      const { status, body } = await book({
        ...form,
        secondary_provider: '502',
        note: 'n',
        reason: 'r',
        duration: '30',
      });
      expect(status).toBe(200);
      const { appointment_id, job_id } = body;
      expect(body).toStrictEqual({
        success: true,
        message: expect.stringContaining('webhook event'),
        appointment_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        job_id: expect.any(Number),
        data: { appointment_id, job_id },
      });
      const event = await world.api.untilEvent(job_id);
      expect(event.event_type).toBe('appointment.created');
      expect(event.data).toStrictEqual({
        appointment_id,
        ehr_appointment_id: expect.any(String),
        mrn: world.sandbox.example.patient_mrn,
        date_time: `${day}T09:30:00-04:00`,
        timezone: 'America/New_York',
        provider_id: '501',
        provider_name: expect.any(String),
        secondary_provider_id: '502',
      });
    }
  });

  test('can be read from its announcement on, its time is no longer offered, and a sync keeps its id', async () => {
    // The practice is closed at the weekend; of three days in a row one at least is none.
    const weekday = ['09', '10', '11']
      .map((each) => `${year}-07-${each}`)
      .find((each) => new Date(each).getUTCDay() % 6);
    const ask = `/v1/availability?start_date=${weekday}&end_date=${weekday}&provider_ids=501&fallback_to_default_hours=true`;
    const offered = async () => JSON.stringify((await world.api.call('GET', ask)).body.results);
    const before = await offered();
    const { body } = await book({ datetime: `${weekday}T10:00:00-04:00`, duration: '25', reason: 'Seen at once' });
    const { data } = await world.api.untilEvent(body.job_id);
    const read = () => world.api.call('GET', `/v1/appointments/${body.appointment_id}`);
    const shown = {
      id: body.appointment_id,
      ehr_appointment_id: data.ehr_appointment_id,
      datetime: `${weekday}T10:00:00-04:00`,
      duration: 25,
      reason: 'Seen at once',
      patient_mrn: world.sandbox.example.patient_mrn,
      provider_name: data.provider_name,
    };
    expect((await read()).body.appointment).toMatchObject(shown);
    expect(await offered()).not.toBe(before);
    const synced = await world.api.call('POST', '/v1/sync');
    await world.api.untilEvent(synced.body.job_id);
    expect((await read()).body.appointment).toMatchObject(shown);
  });

  test('at a time that is taken is booked all the same, unless that is to be prevented', async () => {
    const taken = { datetime: `${day}T15:00:00-04:00`, duration: '20' };
    await world.api.untilEvent((await book(taken)).body.job_id);
    expect((await world.api.untilEvent((await book(taken)).body.job_id)).event_type).toBe('appointment.created');
    const { body } = await book({ ...taken, prevent_double_booking: 'true' });
    const event = await world.api.untilEvent(body.job_id);
    expect(event.event_type).toBe('appointment.failed');
    expect(event.data).toStrictEqual({
      appointment_id: body.appointment_id,
      mrn: world.sandbox.example.patient_mrn,
      failure_reason: expect.stringContaining('not free'),
      reasons: [{ code: 'refused', description: event.data.failure_reason }],
      conflict_type: 'appointment',
      conflict_details: expect.any(String),
    });
  });

  test('of several booked for one slot at once exactly one succeeds', async () => {
    const mrns = Array.from({ length: 8 }, (_, n) => `LK10001${n}`);
    const slot = { datetime: `${day}T16:00:00-04:00`, duration: '15', prevent_double_booking: 'true' };
    const jobs = await Promise.all(mrns.map((mrn) => book({ ...slot, mrn })));
    const events = await Promise.all(jobs.map(({ body }) => world.api.untilEvent(body.job_id)));
    expect(events.filter(({ event_type }) => event_type === 'appointment.created')).toHaveLength(1);
  });

  test('whose answer is lost stands in the schedule once', async () => {
    await world.api.control('POST', '/control/faults', {
      operation: 'create_appointment',
      kind: 'lose_answer',
      times: 1,
    });
    const { body } = await book({ datetime: `${day}T17:00:00-04:00` });
    expect((await world.api.untilEvent(body.job_id)).event_type).toBe('appointment.created');
    const applied = (await world.api.ledger()).filter(
      ({ marker, applied }) => applied && marker.startsWith(body.appointment_id),
    );
    expect(applied).toHaveLength(1);
  });

  test('of a type that the EMR does not know fails, and says so', async () => {
    const { body } = await book({ type: 'NOPE' });
    const event = await world.api.untilEvent(body.job_id);
    expect(event.event_type).toBe('appointment.failed');
    expect(event.data).not.toHaveProperty('conflict_type');
  });

  test.each([
    [{ mrn: undefined }, 400, 'Missing required field: mrn'],
    [{ location: undefined }, 400, 'Missing required field: location'],
    [{ provider: undefined }, 400, 'Missing required field: provider'],
    [{ type: undefined }, 400, 'Missing required field: type'],
    [{ datetime: undefined }, 400, 'Missing required field: datetime'],
    [{ datetime: undefined, date: '2027-01-05' }, 400, 'Missing required field: time'],
    [{ datetime: undefined, time: '9:00 am' }, 400, 'Missing required field: date'],
    [{ date: '2027-01-05' }, 400, 'Send either datetime or date and time, not both'],
    [{ datetime: '2027-01-05T09:00:00' }, 400, 'datetime must be a date and time with offset, in ISO 8601'],
    [{ datetime: '2027-02-31T09:00:00Z' }, 400, 'datetime must be a date and time with offset, in ISO 8601'],
    [
      { datetime: undefined, date: '2027-02-31', time: '9:00 am' },
      400,
      'date must be a date that exists, in the form YYYY-MM-DD',
    ],
    [{ datetime: undefined, date: '2027-01-05', time: '21:00' }, 400, 'time must be a time in the form h:mm am'],
    [{ duration: '0' }, 400, 'duration must be minutes, written in digits'],
    [{ duration: 30 }, 400, 'duration must be a string'],
    [{ new_patient: 'yes' }, 400, 'new_patient must be one of: true, false'],
    [{ location: 'x' }, 404, "Location with EMR ID 'x' not found."],
    [{ provider: 'x' }, 404, "Provider with EMR ID 'x' not found."],
    [{ secondary_provider: 'x' }, 404, "Provider with EMR ID 'x' not found."],
  ])('is refused with %o', async (fields, status, message) => {
    const answer = await book(fields);
    expect(answer.body.message).toBe(message);
    expect(answer.status).toBe(status);
  });
});
