import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { countRows, endPauses, pauseAfterFailure, setFault } from '../../journeys/support.ts';
import { changeClinicRow, clinicRows, type Row } from '../support/emrRecords.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

/** A year without seeded appointments; in July, New York is four hours behind UTC. */
const year = new Date().getUTCFullYear() + 3;
const at = (day: number, time: string) => `${year}-07-${String(day).padStart(2, '0')}T${time}:00-04:00`;
const inClinic = (day: number, time: string) => `07/${String(day).padStart(2, '0')}/${year} ${time}`;

const book = async (fields: Row): Promise<{ appointment_id: string; job_id: number }> => {
  const body = { mrn: 'LK100002', location: '11', provider: '501', type: 'OV', duration: '20', ...fields };
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
  return { id, ehr_id: (await untilMade(job_id)).ehr_appointment_id };
}

async function untilMade(job_id: number): Promise<Row> {
  const { event_type, data } = await fixture.api.untilEvent(job_id);
  expect(event_type, JSON.stringify(data)).toBe('appointment.created');
  return data;
}

/** Sends a change that is accepted, and returns its job. */
async function accepted(id: string, changes: Row): Promise<number> {
  const { status, body } = await patch(id, changes);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.job_id;
}

async function untilUpdated(job_id: number): Promise<Row> {
  const { event_type, data } = await fixture.api.untilEvent(job_id);
  expect(event_type, JSON.stringify(data)).toBe('appointment.updated');
  return data;
}

/** Runs `work` while the jobs of these patients wait for one that the EMR does not carry out. */
async function withLanesHeld<T>(mrns: readonly string[], work: () => Promise<T>): Promise<T> {
  await setFault(fixture.api, 'create_telephone_encounter', 'error_500', { times: 1000 });
  try {
    for (const patient_mrn of mrns) {
      const call = await fixture.api.callIn({ patient_mrn });
      await pauseAfterFailure(fixture.owner, call.body.job_id);
    }
    return await work();
  } finally {
    await fixture.api.control('DELETE', '/control/faults');
    await endPauses(fixture.owner);
  }
}

test(row('APM-01'), async () => {
  const { id, ehr_id } = await scheduled({ datetime: at(2, '09:00') });
  const [there, back] = await withJobsPaused(fixture, async () => [
    await accepted(id, { datetime: at(2, '10:00') }),
    await accepted(id, { datetime: at(2, '09:00'), note: 'back to nine' }),
  ]);
  expect((await untilUpdated(there)).datetime).toBe(at(2, '10:00'));
  expect((await untilUpdated(back)).datetime).toBe(at(2, '09:00'));
  expect(await inEmr(ehr_id)).toMatchObject({ startsAt: inClinic(2, '09:00'), note: 'back to nine' });
  expect((await read(id)).datetime).toBe(at(2, '09:00'));
  // Staff have moved the visit since the last sync.
  for (const changes of [{}, { status: 'CON', prevent_double_booking: 'true' }]) {
    await changeClinicRow(fixture, 'appointments', ehr_id, { startsAt: inClinic(2, '13:00') });
    const data = await untilUpdated(await accepted(id, { datetime: at(2, '09:00'), ...changes }));
    expect(data.datetime).toBe(at(2, '09:00'));
    expect((await inEmr(ehr_id)).startsAt).toBe(inClinic(2, '09:00'));
  }
});

test(row('APM-02'), async () => {
  const { id, ehr_id } = await scheduled({ datetime: at(3, '09:00'), note: 'Same' });
  const before = await inEmr(ehr_id);
  const values = [
    { datetime: at(3, '09:00') },
    { date: `${year}-07-03`, time: '9:00 am' },
    { duration: '20' },
    { provider: '501', location: '11', type: 'OV', note: 'Same', status: before.statusCode },
  ];
  for (const same of values) {
    const data = await untilUpdated(await accepted(id, same));
    expect(data).toMatchObject({ datetime: at(3, '09:00'), duration: 20, location: '11' });
    expect(await inEmr(ehr_id)).toStrictEqual(before);
  }
});

test(row('APM-03'), async () => {
  const { id, ehr_id } = await scheduled({ datetime: at(4, '09:00') });
  const changes = [{ datetime: at(4, '10:00') }, { duration: '45' }, { provider: '502' }, { location: '12' }];
  const jobs = await withJobsPaused(fixture, async () => {
    const ids: number[] = [];
    for (const each of changes) ids.push(await accepted(id, each));
    return ids;
  });
  const events: Row[] = [];
  for (const job_id of jobs) events.push(await untilUpdated(job_id));
  expect(events.map(({ datetime, duration, location }) => [datetime, duration, location])).toStrictEqual([
    [at(4, '10:00'), 20, '11'],
    [at(4, '10:00'), 45, '11'],
    [at(4, '10:00'), 45, '11'],
    [at(4, '10:00'), 45, '12'],
  ]);
  const [, , third, fourth] = events.map(({ provider_name }) => provider_name);
  expect(third).not.toBe(events[0]?.provider_name);
  expect(fourth).toBe(third);
  expect(await read(id)).toMatchObject({
    datetime: at(4, '10:00'),
    duration: 45,
    location: '12',
    provider_name: third,
  });
  // What staff changed is in the event too, and stays in the cache until the sync, which announces it.
  await changeClinicRow(fixture, 'appointments', ehr_id, { startsAt: inClinic(4, '15:00') });
  expect(await untilUpdated(await accepted(id, { duration: '30' }))).toMatchObject({
    datetime: at(4, '15:00'),
    duration: 30,
  });
  expect((await read(id)).datetime).toBe(at(4, '10:00'));
  await changeClinicRow(fixture, 'appointments', ehr_id, { startsAt: inClinic(4, '16:00') });
  const cancelled = await fixture.api.untilEvent(await accepted(id, { status: 'cancelled' }));
  expect(cancelled).toMatchObject({
    event_type: 'appointment.cancelled',
    data: { date_time: at(4, '16:00'), duration: 30, provider_id: '502' },
  });
});

test(row('APM-04'), async () => {
  const bookings = await withLanesHeld(['LK100003'], async () => {
    const bookings = await withJobsPaused(fixture, async () => {
      const older = await book({ mrn: 'LK100004', datetime: at(5, '09:00') });
      const strict = await book({ mrn: 'LK100003', datetime: at(5, '14:00'), prevent_double_booking: 'true' });
      expect(await accepted(older.appointment_id, { datetime: at(5, '14:10') })).toBeUndefined();
      return { older, strict, later: await book({ mrn: 'LK100004', datetime: at(5, '16:00') }) };
    });
    // The later jobs of its patient do not wait with it.
    await untilMade(bookings.later.job_id);
    expect(await read(bookings.older.appointment_id)).toMatchObject({ status: 'pending', datetime: at(5, '14:10') });
    return bookings;
  });
  await untilMade(bookings.strict.job_id);
  expect((await untilMade(bookings.older.job_id)).date_time).toBe(at(5, '14:10'));
  // Of the same patient, it must not wait in front of the one that it waits for.
  const { older, strict } = await withJobsPaused(fixture, async () => {
    const older = await book({ datetime: at(6, '09:00') });
    const strict = await book({ datetime: at(6, '14:00'), prevent_double_booking: 'true' });
    await accepted(older.appointment_id, { datetime: at(6, '14:10') });
    return { older, strict };
  });
  await untilMade(strict.job_id);
  await untilMade(older.job_id);
});

test('a booking that waits for a promised time also waits for the earlier jobs of its patient', async () => {
  const { older } = await withLanesHeld(['LK100006'], async () => {
    const older = await book({ mrn: 'LK100006', datetime: at(7, '09:00') });
    const strict = await withJobsPaused(fixture, async () => {
      const strict = await book({ mrn: 'LK100005', datetime: at(7, '14:00'), prevent_double_booking: 'true' });
      await accepted(older.appointment_id, { datetime: at(7, '14:10') });
      return strict;
    });
    await untilMade(strict.job_id);
    const after = await book({ mrn: 'LK100005', datetime: at(7, '16:00') });
    await untilMade(after.job_id);
    expect((await read(older.appointment_id)).status).toBe('pending');
    return { older };
  });
  await untilMade(older.job_id);
});

test('a booking that waits for a promised time no longer waits once it is moved elsewhere', async () => {
  await withLanesHeld(['LK100005'], async () => {
    const { older, strict } = await withJobsPaused(fixture, async () => {
      const older = await book({ mrn: 'LK100006', datetime: at(8, '09:00') });
      const strict = await book({ mrn: 'LK100005', datetime: at(8, '14:00'), prevent_double_booking: 'true' });
      const lane = async () => {
        const [job] = await fixture.owner<{ lane: string }[]>`SELECT lane FROM jobs WHERE id = ${older.job_id}`;
        return job?.lane;
      };
      const own = await lane();
      await accepted(older.appointment_id, { datetime: at(8, '14:10') });
      expect(await lane()).not.toBe(own);
      await accepted(older.appointment_id, { datetime: at(8, '11:00') });
      expect(await lane()).toBe(own);
      return { older, strict };
    });
    expect((await untilMade(older.job_id)).date_time).toBe(at(8, '11:00'));
    expect((await read(strict.appointment_id)).status).toBe('pending');
  });
});

test(row('APM-05'), async () => {
  const moved = await scheduled({ mrn: 'LK100007', datetime: at(9, '09:00') });
  const resumed = await scheduled({ mrn: 'LK100008', datetime: at(9, '14:00') });
  const { event_type } = await fixture.api.untilEvent(await accepted(resumed.id, { status: 'cancelled' }));
  expect(event_type).toBe('appointment.cancelled');
  const { strict, changes, independent } = await withLanesHeld(['LK100009'], async () => {
    const strict = await book({ mrn: 'LK100009', datetime: at(9, '14:00'), prevent_double_booking: 'true' });
    const changes = [
      await accepted(moved.id, { datetime: at(9, '14:10') }),
      await accepted(resumed.id, { status: 'CON' }),
    ];
    // Another time does not wait.
    const other = await book({ mrn: 'LK100010', datetime: at(9, '10:00') });
    await untilMade(other.job_id);
    const independent = await accepted(other.appointment_id, { datetime: at(9, '11:00') });
    await untilUpdated(independent);
    expect((await inEmr(moved.ehr_id)).startsAt).toBe(inClinic(9, '09:00'));
    expect((await inEmr(resumed.ehr_id)).statusCode).toBe('CAN');
    return { strict, changes, independent };
  });
  expect(independent).toBeGreaterThan(strict.job_id);
  await untilMade(strict.job_id);
  for (const job_id of changes) await untilUpdated(job_id);
  expect((await inEmr(moved.ehr_id)).startsAt).toBe(inClinic(9, '14:10'));
  expect((await inEmr(resumed.ehr_id)).statusCode).toBe('CON');
});

test(row('APM-06'), async () => {
  const { id, ehr_id } = await scheduled({ mrn: 'LK100007', datetime: at(10, '14:00') });
  expect((await fixture.api.untilEvent(await accepted(id, { status: 'cancelled' }))).event_type).toBe(
    'appointment.cancelled',
  );
  const strict = await withLanesHeld(['LK100009'], async () => {
    const accepted_first = await book({ mrn: 'LK100009', datetime: at(10, '14:00'), prevent_double_booking: 'true' });
    const before = await countRows(fixture.owner);
    const refused = await patch(id, { status: 'CON', prevent_double_booking: 'true' });
    expectApiError(refused, 409, /requested earlier, on .* at 14:00 for 20 minutes\.$/);
    expect(await countRows(fixture.owner)).toStrictEqual(before);
    // One that takes no time is not compared.
    await untilUpdated(await accepted(id, { status: 'rescheduled', prevent_double_booking: 'true' }));
    await untilUpdated(await accepted(id, { note: 'Called', prevent_double_booking: 'true' }));
    return accepted_first;
  });
  await untilMade(strict.job_id);
  expect((await inEmr(ehr_id)).statusCode).toBe('RSC');
});

test(row('APM-07'), async () => {
  const { id, ehr_id } = await scheduled({ mrn: 'LK100007', datetime: at(11, '09:00') });
  const { strict, move } = await withJobsPaused(fixture, async () => {
    const move = await accepted(id, { datetime: at(11, '14:00') });
    const strict = await book({ mrn: 'LK100009', datetime: at(11, '14:20'), prevent_double_booking: 'true' });
    const refused = await patch(id, { duration: '60', prevent_double_booking: 'true' });
    expectApiError(refused, 409, /at 14:20 for 20 minutes\.$/);
    // The time that the visit is leaving is not compared.
    await book({ mrn: 'LK100010', datetime: at(11, '09:20') });
    expect((await patch(id, { duration: '15', prevent_double_booking: 'true' })).status).toBe(200);
    return { strict, move };
  });
  await untilUpdated(move);
  await untilMade(strict.job_id);
  expect((await inEmr(ehr_id)).startsAt).toBe(inClinic(11, '14:00'));
});

test(row('APM-08'), async () => {
  const { first, second, third } = await withJobsPaused(fixture, async () => {
    const [first, second, third] = [
      await book({ datetime: at(12, '09:00'), mrn: 'LK100003' }),
      await book({ datetime: at(12, '09:00'), mrn: 'LK100004' }),
      await book({ datetime: at(12, '09:00'), mrn: 'LK100005', prevent_double_booking: 'true' }),
    ];
    expectApiError(await patch(first.appointment_id, {}), 400, 'At least one field must be provided.');
    await accepted(second.appointment_id, { prevent_double_booking: 'true' });
    await accepted(third.appointment_id, { prevent_double_booking: null });
    return { first, second, third };
  });
  await untilMade(first.job_id);
  await untilMade(third.job_id);
  const { event_type, data } = await fixture.api.untilEvent(second.job_id);
  expect([event_type, data.reasons[0].code]).toStrictEqual(['appointment.failed', 'slot_taken']);
});

test(row('APM-09'), async () => {
  const visit = { datetime: at(13, '09:00'), secondary_provider: '502' };
  const { id } = await scheduled(visit);
  const rule = 'provider must be another provider than secondary_provider';
  expectApiError(await patch(id, { provider: '502' }), 400, rule, 'provider');
  await withJobsPaused(fixture, async () => {
    const { appointment_id } = await book({ ...visit, datetime: at(13, '10:00') });
    expectApiError(await patch(appointment_id, { provider: '502' }), 400, rule, 'provider');
    const own = 'secondary_provider must be another provider than provider';
    expectApiError(await patch(appointment_id, { secondary_provider: '501' }), 400, own, 'secondary_provider');
  });
});

test(row('APM-11'), async () => {
  const { strict, second, moved } = await withJobsPaused(fixture, async () => {
    const strict = await book({ mrn: 'LK100003', datetime: at(14, '09:00'), prevent_double_booking: 'true' });
    const second = await book({ mrn: 'LK100004', datetime: at(14, '09:00') });
    for (const changes of [{ note: 'Bring films' }, { duration: '15' }, { datetime: at(14, '09:00') }]) {
      await accepted(strict.appointment_id, changes);
    }
    // Another time is compared.
    const moved = await book({ mrn: 'LK100005', datetime: at(14, '15:00'), prevent_double_booking: 'true' });
    await accepted(moved.appointment_id, { datetime: at(14, '09:05') });
    return { strict, second, moved };
  });
  await untilMade(strict.job_id);
  await untilMade(second.job_id);
  const { event_type, data } = await fixture.api.untilEvent(moved.job_id);
  expect([event_type, data.reasons[0].code]).toStrictEqual(['appointment.failed', 'slot_taken']);
});
