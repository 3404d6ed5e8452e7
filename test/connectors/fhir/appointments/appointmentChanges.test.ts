import type * as fhir from 'fhir/r4.js';
import { beforeAll, expect, test } from 'vitest';
import type { AppointmentUpdate } from '../../../../src/emr/operations/appointments.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure } from '../../larkspur/fixture.ts';
import { type Charts, linkCharts, performWrite } from '../chart/charts.ts';
import { booking } from '../inputs.ts';

const server = sharedFhirServer({ data: 'small' });
let charts: Charts;
beforeAll(async () => {
  charts = await linkCharts(server);
});

let count = 0;
const newMarker = () => `change-${++count}`;
/** Each test books on a day of its own. */
let day = 0;
const newDay = () => `2032-03-${String(++day).padStart(2, '0')}`;

const stored = async (id: string) => {
  const all = await server.resources<fhir.Appointment>('Appointment');
  const one = all.find((each) => each.id === id);
  if (!one) throw new Error('Expected an appointment.');
  return one;
};
const slotStatus = async (id: string) =>
  (await server.resources<fhir.Slot>('Slot')).find((each) => each.id === id)?.status;

async function addSlot(date: string, from: string, to: string): Promise<string> {
  const id = `c-${date}-${from.replace(':', '')}`;
  await server.storeUnchecked({
    ...{ resourceType: 'Slot', id, status: 'free', schedule: { reference: 'Schedule/sched-1' } },
    ...{ start: `${date}T${from}:00-05:00`, end: `${date}T${to}:00-05:00` },
  } as fhir.Slot);
  return id;
}

async function book(date: string, time: string, more = {}): Promise<string> {
  const input = { ...booking, secondary_provider_ehr_id: null, starts_at: `${date}T${time}:00`, minutes: 30, ...more };
  return (await charts.emr.createAppointment.send(input, newMarker())).ehr_id;
}

const change = (appointment_ehr_id: string, fields: Partial<AppointmentUpdate>, marker = newMarker()) =>
  charts.emr.updateAppointment.send({ appointment_ehr_id, prevent_double_booking: false, ...fields }, marker);

test('a change of status and note changes nothing else', async () => {
  const id = await book(newDay(), '10:00', { note: 'Old' });
  const before = await stored(id);
  expect(await change(id, { status: 'arrived', note: 'New' })).toStrictEqual({ ehr_id: id });
  const { meta: _meta, identifier: _identifier, ...after } = await stored(id);
  const { meta: _before, identifier: _ids, ...unchanged } = before;
  expect(after).toStrictEqual({ ...unchanged, status: 'arrived', comment: 'New' });
  await change(id, { note: null });
  expect(await stored(id)).not.toHaveProperty('comment');
});

test('a reschedule changes time, length, type and provider', async () => {
  const date = newDay();
  const id = await book(date, '10:00');
  await change(id, { starts_at: `${date}T14:00:00-05:00`, minutes: 45, visit_type: 'CHECKUP' });
  const moved = await stored(id);
  expect(moved).toMatchObject({ minutesDuration: 45, appointmentType: { coding: [{ code: 'CHECKUP' }] } });
  expect(Date.parse(moved.start ?? '')).toBe(Date.parse(`${date}T14:00:00-05:00`));
  expect(Date.parse(moved.end ?? '')).toBe(Date.parse(`${date}T14:45:00-05:00`));
  const practitioners = await server.resources<fhir.Practitioner>('Practitioner');
  const other = practitioners.find((each) => each.id !== booking.provider_ehr_id)?.id ?? '';
  await change(id, { provider_ehr_id: other });
  expect(await charts.emr.getAppointment(id)).toMatchObject({ provider_ehr_id: other });
  const actors = (await stored(id)).participant.map(({ actor }) => actor?.reference);
  expect(actors).toContain(`Patient/${booking.patient_ehr_id}`);
  expect(actors).not.toContain(`Practitioner/${booking.provider_ehr_id}`);
  const unknown = await awaitFailure(change(id, { provider_ehr_id: 'nobody' }));
  expect(unknown).toMatchObject({ kind: 'not_found' });
  const missing = await awaitFailure(change('nothing', { note: 'x' }));
  expect(missing).toMatchObject({ kind: 'not_found' });
});

test('a moved appointment takes the slots of its new time and frees its former ones', async () => {
  const date = newDay();
  const [first, second] = [await addSlot(date, '10:00', '10:30'), await addSlot(date, '11:00', '11:30')];
  const id = await book(date, '10:00', { prevent_double_booking: true });
  expect([await slotStatus(first), await slotStatus(second)]).toStrictEqual(['busy', 'free']);
  const at = (time: string) => ({ starts_at: `${date}T${time}:00-05:00`, prevent_double_booking: true });
  await change(id, at('11:00'));
  expect((await stored(id)).slot).toStrictEqual([{ reference: `Slot/${second}` }]);
  expect([await slotStatus(first), await slotStatus(second)]).toStrictEqual(['free', 'busy']);
  // It does not conflict with itself, and keeps its slot.
  await change(id, { ...at('11:00'), note: 'Same time' });
  expect(await slotStatus(second)).toBe('busy');
  await change(id, { status: 'cancelled' });
  expect(await slotStatus(second)).toBe('free');
});

test('a taken time changes nothing, and one that is taken meanwhile moves the appointment back', async () => {
  const date = newDay();
  const id = await book(date, '10:00');
  await book(date, '12:00');
  const taken = { starts_at: `${date}T12:15:00-05:00`, prevent_double_booking: true };
  const before = await stored(id);
  expect(await awaitFailure(change(id, taken))).toMatchObject({
    code: 'slot_taken',
    details: { conflict_type: 'appointment' },
  });
  expect(await stored(id)).toStrictEqual(before);
  // Without the flag it is moved.
  await change(id, { ...taken, prevent_double_booking: false });
  expect(Date.parse((await stored(id)).start ?? '')).toBe(Date.parse(`${date}T12:15:00-05:00`));
  // Another booking takes the time after it was found free: the appointment goes back.
  const free = { starts_at: `${date}T16:00:00-05:00`, prevent_double_booking: true };
  charts.before('PUT', async () => void (await book(date, '16:00')));
  expect(await awaitFailure(change(id, free))).toMatchObject({ code: 'slot_taken' });
  expect(Date.parse((await stored(id)).start ?? '')).toBe(Date.parse(`${date}T12:15:00-05:00`));
});

test('a concurrent change of another field is kept, one of the same field is not overwritten', async () => {
  const date = newDay();
  const id = await book(date, '10:00');
  const staff = await linkCharts(server);
  const edit = async (fields: Partial<AppointmentUpdate>) => {
    const input = { appointment_ehr_id: id, prevent_double_booking: false, ...fields };
    await staff.emr.updateAppointment.send(input, newMarker());
  };
  charts.before('PUT', () => edit({ note: 'By staff' }));
  await change(id, { status: 'arrived' });
  expect(await stored(id)).toMatchObject({ status: 'arrived', comment: 'By staff' });
  charts.before('PUT', () => edit({ status: 'noshow' }));
  expect(await awaitFailure(change(id, { status: 'fulfilled' }))).toMatchObject({ code: 'record_changed' });
  expect((await stored(id)).status).toBe('noshow');
});

test('a change is made once although requests or responses are lost', async () => {
  const date = newDay();
  const [first, second] = [await addSlot(date, '10:00', '10:30'), await addSlot(date, '11:00', '11:30')];
  for (const when of ['before', 'after'] as const) {
    let requests = 1;
    for (let n = 1; n <= requests; n++) {
      const id = await book(date, '10:00', { prevent_double_booking: true });
      const input = {
        ...{ appointment_ehr_id: id, starts_at: `${date}T11:00:00-05:00`, note: `Once ${when} ${n}` },
        prevent_double_booking: true,
      };
      charts.lose(n, when);
      await performWrite(charts.emr.updateAppointment, input, newMarker());
      requests = Math.max(requests, n === 1 ? charts.requests() : 0);
      charts.lose(0, when);
      expect(await stored(id), `${when} ${n}`).toMatchObject({ comment: input.note });
      expect((await stored(id)).slot).toStrictEqual([{ reference: `Slot/${second}` }]);
      expect([await slotStatus(first), await slotStatus(second)]).toStrictEqual(['free', 'busy']);
      await change(id, { status: 'cancelled' });
      expect(await slotStatus(second)).toBe('free');
    }
    expect(requests).toBeGreaterThan(5);
  }
});
