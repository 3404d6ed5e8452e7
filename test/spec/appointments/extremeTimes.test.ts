import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { countRows } from '../../journeys/support.ts';
import { addClinicRow, clinicRows, type Row } from '../support/emrRecords.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

const visit = { mrn: 'LK100002', location: '11', provider: '501', type: 'OV' };
const post = (path: string, body: Row): Promise<ApiResponse> => fixture.api.call('POST', path, { body });
const year = new Date().getUTCFullYear() + 3;

/** The ids of an appointment that the EMR has. */
async function scheduled(datetime: string): Promise<{ id: string; ehr_id: string }> {
  const { body } = await post('/v1/appointments', { ...visit, datetime });
  const { event_type, data } = await fixture.api.untilEvent(body.job_id);
  expect(event_type, JSON.stringify(data)).toBe('appointment.created');
  return { id: body.appointment_id, ehr_id: data.ehr_appointment_id };
}

const times_outside = [
  '9999-12-31T23:59:00-05:00',
  '9999-12-31T19:00:00-05:00',
  '9999-12-31T18:59:00-05:00',
  '0001-01-01T00:00:00+14:00',
  '0001-01-01T00:00:00Z',
  '1899-12-31T23:59:00-05:00',
  '2200-01-01T00:00:00-05:00',
];

test(row('ATT-01'), async () => {
  const { id } = await scheduled(`${year}-07-01T09:00:00-04:00`);
  const before = { rows: await countRows(fixture.owner), writes: (await fixture.api.ledger()).length };
  const change = (body: Row) => fixture.api.call('PATCH', `/v1/appointments/${id}`, { body });
  for (const datetime of times_outside) {
    const rule = 'datetime must be from 1900-01-01 to 2199-12-31';
    expectApiError(await post('/v1/appointments', { ...visit, datetime }), 400, rule, 'datetime');
    expectApiError(await post('/v1/appointments?dry_run=true', { ...visit, datetime }), 400, rule, 'datetime');
    expectApiError(await change({ datetime }), 400, rule, 'datetime');
  }
  for (const date of ['9999-12-31', '0001-01-01', '1899-12-31', '2200-01-01']) {
    const rule = 'date must be from 1900-01-01 to 2199-12-31';
    for (const time of ['11:00 pm', '12:00 am']) {
      expectApiError(await post('/v1/appointments', { ...visit, date, time }), 400, rule, 'date');
      expectApiError(await change({ date, time }), 400, rule, 'date');
    }
  }
  expect({ rows: await countRows(fixture.owner), writes: (await fixture.api.ledger()).length }).toStrictEqual(before);
  for (const datetime of ['1900-01-01T00:00:00-05:00', '2199-12-31T23:59:00-05:00']) {
    const { ehr_id } = await scheduled(datetime);
    const [booked] = await clinicRows(fixture, 'appointments', { appointmentId: ehr_id });
    expect(booked.startsAt.slice(6, 10)).toBe(datetime.slice(0, 4));
  }
});

test(row('ATT-02'), async () => {
  const at = { providerId: '501', facilityId: '11', minutes: 30 };
  const days = ['12/31/9999 20:00', '12/31/9999 23:59', '01/01/0001 00:00'];
  const ids: string[] = [];
  for (const startsAt of days) {
    await addClinicRow(fixture, 'blocks', { ...at, startsAt });
    const { appointmentId } = await addClinicRow(fixture, 'appointments', {
      ...{ ...at, startsAt, patientId: '10002', visitTypeCode: 'OV', statusCode: 'SCH' },
    });
    ids.push(appointmentId);
  }
  await fixture.api.sync();
  const read = async (id: string) => (await fixture.api.call('GET', `/v1/appointments/ehr/${id}`)).body.appointment;
  const listed = await Promise.all(ids.map(read));
  expect(listed.map(({ datetime }) => datetime.slice(0, 16))).toStrictEqual([
    '9999-12-31T20:00',
    '9999-12-31T23:59',
    '0001-01-01T00:00',
  ]);
  const fetched = await post('/v1/appointments/fetch', { search_by: 'mrn', mrn: 'LK100002' });
  const { event_type, data } = await fixture.api.untilEvent(fetched.body.job_id);
  expect(event_type, JSON.stringify(data)).toBe('appointment.live_fetch_completed');
  expect(data.appointments.map((each: Row) => each.ehr_appointment_id)).toEqual(expect.arrayContaining(ids));
  // What staff entered can be changed without being moved, and moved to a day that can be booked.
  const change = async (body: Row) => {
    const response = await fixture.api.call('PATCH', `/v1/appointments/${listed[0].id}`, { body });
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    return (await fixture.api.untilEvent(response.body.job_id)).event_type;
  };
  expect(await change({ location: '12' })).toBe('appointment.updated');
  expect(await change({ datetime: `${year}-07-03T09:00:00-04:00` })).toBe('appointment.updated');
  await fixture.api.sync();
  expect((await read(ids[0] ?? '')).datetime).toBe(`${year}-07-03T09:00:00-04:00`);
});

test(row('ATT-04'), async () => {
  const { id } = await scheduled(`${year}-07-02T09:00:00-04:00`);
  const rule = 'duration must be a number of minutes from 1 to 1440, in digits';
  for (const duration of ['1441', '1500', '2000', '9999', '0', '01']) {
    const datetime = `${year}-07-05T09:00:00-04:00`;
    expectApiError(await post('/v1/appointments', { ...visit, datetime, duration }), 400, rule, 'duration');
    const changed = await fixture.api.call('PATCH', `/v1/appointments/${id}`, { body: { duration } });
    expectApiError(changed, 400, rule, 'duration');
  }
  const { status, body } = await fixture.api.call('PATCH', `/v1/appointments/${id}`, { body: { duration: '1440' } });
  expect(status, JSON.stringify(body)).toBe(200);
  expect((await fixture.api.untilEvent(body.job_id)).event_type).toBe('appointment.updated');
  for (const day of ['0001-01-01', '1899-12-31', '2200-01-01', '9999-12-31']) {
    const days = { start_date: day, end_date: day };
    const message = 'start_date must be from 1900-01-01 to 2199-12-31';
    const availability = await post('/v1/availability/fetch', { ...days, provider_ids: ['501'] });
    expectApiError(availability, 400, message, 'start_date');
    expectApiError(await post('/v1/appointments/fetch', days), 400, message, 'start_date');
  }
  for (const day of ['1900-01-01', '2199-12-31']) {
    const accepted = await post('/v1/availability/fetch', { start_date: day, end_date: day, provider_ids: ['501'] });
    expect(accepted.status, JSON.stringify(accepted.body)).toBe(202);
    expect((await fixture.api.untilEvent(accepted.body.job_id)).event_type).toBe('availability.live_fetch_completed');
  }
});
