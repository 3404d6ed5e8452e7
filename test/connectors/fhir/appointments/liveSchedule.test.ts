import type * as fhir from 'fhir/r4.js';
import { beforeAll, expect, test } from 'vitest';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { type Charts, linkCharts } from '../chart/charts.ts';
import { booking } from '../inputs.ts';

const server = sharedFhirServer({ data: 'small' });
let charts: Charts;
beforeAll(async () => {
  charts = await linkCharts(server);
});

const { patient_ehr_id, provider_ehr_id } = booking;
const days = { from: '2032-02-03', to: '2032-02-04' };

async function addAppointment(id: string, start: string, actors: string[], status = 'booked'): Promise<void> {
  await server.storeUnchecked({
    resourceType: 'Appointment',
    ...{ id, status, start, end: new Date(Date.parse(start) + 1_800_000).toISOString() },
    participant: actors.map((reference) => ({ actor: { reference }, status: 'accepted' })),
  } as fhir.Appointment);
}

async function addSlot(id: string, from: string, to: string, status: fhir.Slot['status']): Promise<void> {
  await server.storeUnchecked({
    ...{ resourceType: 'Slot', id, status, schedule: { reference: 'Schedule/sched-1' } },
    ...{ start: `${from}-05:00`, end: `${to}-05:00` },
  } as fhir.Slot);
}

test('finds appointments by day, patient and provider', async () => {
  const [patient, provider] = [`Patient/${patient_ehr_id}`, `Practitioner/${provider_ehr_id}`];
  // Days are those of the practice: 23:30 there is the next day in UTC.
  await addAppointment('live-1', '2032-02-05T04:30:00Z', [patient, provider]);
  await addAppointment('live-2', '2032-02-03T15:00:00Z', [patient], 'cancelled');
  await addAppointment('live-3', '2032-02-05T05:30:00Z', [patient, provider]);
  const searched = async (search: Parameters<typeof charts.emr.findAppointments>[0]) =>
    (await charts.emr.findAppointments(search)).map(({ ehr_id }) => ehr_id).sort();
  expect(await searched({ days })).toStrictEqual(['live-1', 'live-2']);
  expect(await searched({ days, provider_ehr_ids: [provider_ehr_id] })).toStrictEqual(['live-1']);
  expect(await searched({ days, patient_ehr_id: 'no-such-patient' })).toStrictEqual([]);
  expect(await searched({ patient_ehr_id })).toEqual(expect.arrayContaining(['live-1', 'live-2', 'live-3']));
  const [first] = await charts.emr.findAppointments({ days, provider_ehr_ids: [provider_ehr_id] });
  expect(first).toMatchObject({ starts: '2032-02-04T23:30:00-05:00', created_by: null, cancelled: false });
});

test('reads hours and blocks from slots', async () => {
  const search = { days, provider_ehr_ids: [provider_ehr_id] };
  // Slots, but none on these days: the provider does not work then.
  expect((await charts.emr.getSchedule(search)).hours).toMatchObject([{ provider_ehr_id, hours: [] }]);
  await addSlot('live-free', '2032-02-03T09:00:00', '2032-02-03T10:00:00', 'free');
  await addSlot('live-busy', '2032-02-03T10:00:00', '2032-02-03T10:30:00', 'busy-unavailable');
  const { hours, blocks } = await charts.emr.getSchedule(search);
  expect(hours).toMatchObject([
    { provider_ehr_id, hours: [{ day: 'Tuesday', shifts: [{ start: 'T09:00:00', end: 'T10:00:00' }] }] },
  ]);
  expect(blocks).toMatchObject([{ ehr_id: 'live-busy/2032-02-03', starts: '2032-02-03T10:00:00', minutes: 30 }]);
  expect(await charts.emr.getSchedule({ days, provider_ehr_ids: ['nobody'] })).toStrictEqual({ hours: [], blocks: [] });
});
