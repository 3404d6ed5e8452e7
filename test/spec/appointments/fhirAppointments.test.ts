import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api } from '../../harness/api.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { stopScheduledSyncs } from '../../journeys/support.ts';
import type { Row } from '../support/emrRecords.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
let server: FhirServer;
let api: Api;
let provider: string;
let location: string;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  server = await startFhirServer({ data: 'small' });
  api = await linkFhir(fixture, server, { user_id: 'fhir-schedule', org_id: 'fhir-schedule' });
  await api.sync();
  await stopScheduledSyncs(fixture.owner, 'fhir-schedule');
  const [schedule] = await server.resources<fhir.Schedule>('Schedule');
  provider =
    schedule?.actor.flatMap(({ reference = '' }) => /^Practitioner\/(.+)$/.exec(reference)?.[1] ?? [])[0] ?? '';
  location = (await api.call('GET', '/v1/locations')).body.locations[0].ehr_id;
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const day = '2032-05-04';
const at = (time: string) => `${day}T${time}:00-04:00`;

async function send(method: string, path: string, body: Row): Promise<Row> {
  const response = await api.call(method, path, { body });
  expect([200, 202], JSON.stringify(response.body)).toContain(response.status);
  return { ...response.body, event: await api.untilEvent(response.body.job_id) };
}

async function book(time: string): Promise<{ id: string; ehr_id: string }> {
  const visit = { mrn: 'MB100001', provider, location, type: 'FOLLOWUP', duration: '30', datetime: at(time) };
  const { appointment_id, event } = await send('POST', '/v1/appointments', visit);
  expect(event.event_type, JSON.stringify(event.data)).toBe('appointment.created');
  return { id: appointment_id, ehr_id: event.data.ehr_appointment_id };
}

const stored = async (id: string) =>
  (await server.resources<fhir.Appointment>('Appointment')).find((each) => each.id === id);

test(row('APP-20'), async () => {
  const { id, ehr_id } = await book('09:00');
  const changes = { status: 'arrived', note: 'Bring films', datetime: at('10:00'), duration: '45', type: 'CHECKUP' };
  const { event } = await send('PATCH', `/v1/appointments/${id}`, changes);
  expect(event).toMatchObject({ event_type: 'appointment.updated', data: { id, status: 'arrived', duration: 45 } });
  const appointment = await stored(ehr_id);
  expect(appointment).toMatchObject({ status: 'arrived', comment: 'Bring films', minutesDuration: 45 });
  expect(Date.parse(appointment?.start ?? '')).toBe(Date.parse(at('10:00')));
  const cancelled = await send('PATCH', `/v1/appointments/${id}`, { status: 'cancelled' });
  expect(cancelled.event.event_type).toBe('appointment.cancelled');
  expect((await stored(ehr_id))?.status).toBe('cancelled');
});

test(row('APP-21'), async () => {
  const { id, ehr_id } = await book('13:00');
  await book('15:00');
  const before = await stored(ehr_id);
  const move = { datetime: at('15:10'), prevent_double_booking: true };
  const { event } = await send('PATCH', `/v1/appointments/${id}`, move);
  expect(event).toMatchObject({ event_type: 'appointment.update_failed', data: { reasons: [{ code: 'slot_taken' }] } });
  expect(await stored(ehr_id)).toStrictEqual(before);
  const slot = (name: string, time: string, end: string) =>
    server.storeUnchecked({
      ...{ resourceType: 'Slot', id: name, status: 'free', schedule: { reference: 'Schedule/sched-1' } },
      ...{ start: at(time), end: at(end) },
    } as fhir.Slot);
  await slot('live-first', '16:00', '16:30');
  await slot('live-second', '17:00', '17:30');
  const status = async (name: string) =>
    (await server.resources<fhir.Slot>('Slot')).find((each) => each.id === name)?.status;
  for (const [time, first, second] of [
    ['16:00', 'busy', 'free'],
    ['17:00', 'free', 'busy'],
  ] as const) {
    await send('PATCH', `/v1/appointments/${id}`, { datetime: at(time), prevent_double_booking: true });
    expect([await status('live-first'), await status('live-second')]).toStrictEqual([first, second]);
  }
  await send('PATCH', `/v1/appointments/${id}`, { status: 'cancelled' });
  expect(await status('live-second')).toBe('free');
});

test(row('LIV-17'), async () => {
  const { ehr_id } = await book('11:00');
  const range = { start_date: day, end_date: day };
  const { event } = await send('POST', '/v1/appointments/fetch', range);
  expect(event.event_type).toBe('appointment.live_fetch_completed');
  expect(event.data.appointments.map((each: Row) => each.ehr_appointment_id)).toContain(ehr_id);
  const by_mrn = await send('POST', '/v1/appointments/fetch', { search_by: 'mrn', mrn: 'MB100001', ...range });
  expect(by_mrn.event.data.appointments).toContainEqual(expect.objectContaining({ created_by: null }));
  await server.storeUnchecked({
    ...{ resourceType: 'Slot', id: 'live-offer', status: 'free', schedule: { reference: 'Schedule/sched-1' } },
    ...{ start: at('19:00'), end: at('19:30') },
  } as fhir.Slot);
  const search = { ...range, provider_ids: [provider] };
  const { availability, timezone } = (await send('POST', '/v1/availability/fetch', search)).event.data;
  expect(timezone).toBe('America/New_York');
  expect(availability.map((each: Row) => each.range_start)).toContain(at('19:00'));
});

test(row('APM-10'), async () => {
  const { id, ehr_id } = await book('20:00');
  const changes = [{ datetime: at('21:00') }, { duration: '45' }, { datetime: at('20:00'), note: 'Back' }];
  const jobs = await withJobsPaused(fixture, async () => {
    const ids: number[] = [];
    for (const body of changes) ids.push((await api.call('PATCH', `/v1/appointments/${id}`, { body })).body.job_id);
    return ids;
  });
  const events: Row[] = [];
  for (const job_id of jobs) events.push(await api.untilEvent(job_id));
  expect(events.map(({ event_type, data }) => [event_type, data.datetime, data.duration])).toStrictEqual([
    ['appointment.updated', at('21:00'), 30],
    ['appointment.updated', at('21:00'), 45],
    ['appointment.updated', at('20:00'), 45],
  ]);
  const appointment = await stored(ehr_id);
  expect(Date.parse(appointment?.start ?? '')).toBe(Date.parse(at('20:00')));
  expect(appointment).toMatchObject({ minutesDuration: 45, comment: 'Back' });
});
