import { randomUUID } from 'node:crypto';
import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NewAppointment } from '../../../../src/emr/operations/appointments.ts';
import { type FhirServer, startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { type Charts, linkCharts } from '../chart/charts.ts';
import { bySecret, signedIn } from '../fixture.ts';
import { booking } from '../inputs.ts';

let server: FhirServer;
let charts: Charts;
beforeAll(async () => {
  server = await startFhirServer({ data: 'small' });
  server.faults.books_offers = true;
  charts = await linkCharts(server);
});
beforeEach(() => {
  server.reset();
  server.faults.books_offers = true;
});
afterAll(() => server.close());

/** As the product makes them. */
const newMarker = () => `${randomUUID().replaceAll('-', '')}-appointment`;
let day = 0;

/** A booking on a day of its own, with these free half hours. */
async function withSlots(times: string[], more: Partial<NewAppointment> = {}): Promise<NewAppointment> {
  const date = `2032-02-${String(++day).padStart(2, '0')}`;
  for (const time of times) {
    await server.storeUnchecked({
      resourceType: 'Slot',
      id: `free-${date}-${time.replace(':', '')}`,
      schedule: { reference: 'Schedule/sched-1' },
      status: 'free',
      start: `${date}T${time}:00-05:00`,
      end: new Date(Date.parse(`${date}T${time}:00-05:00`) + 1_800_000).toISOString(),
    });
  }
  const starts_at = `${date}T${times[0]}:00`;
  return { ...booking, secondary_provider_ehr_id: null, minutes: 30, starts_at, ...more };
}

const booked = async (marker: string) =>
  (await server.resources<fhir.Appointment>('Appointment')).filter(({ comment }) => comment?.includes(marker));

const calls = (name: string) => server.ledger.filter(({ path }) => path.endsWith(`/Appointment/$${name}`));

test('a server that proposes appointments and takes no others offers booking, without a second provider', async () => {
  const { capabilities = [] } = await signedIn(createEndpoint(server.url), bySecret(server));
  expect(capabilities).toContain('createAppointment');
  expect(capabilities).not.toContain('createAppointment.secondary_provider');
  server.faults.withheld = { Appointment: ['create'] };
  server.faults.books_offers = false;
  const { capabilities: without = [] } = await signedIn(createEndpoint(server.url), bySecret(server));
  expect(without).not.toContain('createAppointment');
});

describe('a booking', () => {
  test('takes the proposed appointment of its time, and its note is read without our marker', async () => {
    const input = await withSlots(['10:00', '10:30'], { prevent_double_booking: true, minutes: 20 });
    const marker = newMarker();
    const { ehr_id } = await charts.emr.createAppointment.send(input, marker);
    const [appointment] = await booked(marker);
    expect(appointment).toMatchObject({ id: ehr_id, status: 'booked', start: `${input.starts_at}-05:00` });
    expect(appointment?.participant.map(({ actor }) => actor?.reference)).toContain('Patient/pat-1');
    const read = await charts.emr.getAppointment(ehr_id);
    expect(read).toMatchObject({ note: 'Synthetic reason\nSynthetic note', minutes: 30, cancelled: false });
    // Neither operation has the patient in its URL.
    for (const { path } of [...calls('find'), ...calls('book')]) expect(path).not.toContain('pat-1');
  });

  test.each<[string, Partial<NewAppointment> & { at?: string }, RegExp]>([
    ['another time', { at: '11:00' }, /does not offer this time\. On this day it offers 10:00, 10:30\.$/],
    ['more than is offered', { minutes: 45 }, /offers only 30 minutes at this time\.$/],
    ['a day without offers', { at: 'other day' }, /offers no such appointment on this day\.$/],
    ['another location', { location_ehr_id: 'loc-2' }, /offers no such appointment on this day\.$/],
  ])('for %s fails with what the server offers, and books nothing', async (_, { at, ...more }, message) => {
    const input = await withSlots(['10:00', '10:30'], more);
    const starts_at =
      at === 'other day' ? '2033-07-01T10:00:00' : at ? input.starts_at.replace('10:00', at) : input.starts_at;
    const before = calls('book').length;
    const failure = await awaitFailure(charts.emr.createAppointment.send({ ...input, starts_at }, newMarker()));
    expect(failure).toMatchObject({ kind: 'refused', code: 'slot_taken', message: expect.stringMatching(message) });
    expect(calls('book')).toHaveLength(before);
  });

  test('refused by a rule of the server fails with the server’s words', async () => {
    await server.storeUnchecked({
      resourceType: 'Schedule',
      id: 'sched-surgery',
      actor: [{ reference: 'Practitioner/prac-2' }],
      serviceType: [{ coding: [{ system: 'urn:test:services', code: 'SURGERY', display: 'Surgery' }] }],
    });
    const input = await withSlots(['10:00'], { visit_type: 'SURGERY' });
    const failure = await awaitFailure(charts.emr.createAppointment.send(input, newMarker()));
    expect(failure).toMatchObject({
      code: 'slot_taken',
      message: expect.stringMatching(/Surgery is booked by phone only\.$/),
    });
  });

  test('is made exactly once if several want the same time', async () => {
    const input = await withSlots(['10:00']);
    const attempts = ['pat-1', 'pat-2', 'pat-3'].map((patient_ehr_id) =>
      charts.emr.createAppointment.send({ ...input, patient_ehr_id }, newMarker()),
    );
    const results = await Promise.allSettled(attempts);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const each of results) {
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ kind: 'refused', code: 'slot_taken' });
    }
  });

  test('refused with 403 withdraws the operation', async () => {
    const input = await withSlots(['10:00']);
    server.fail({ kind: 'forbidden', path: '/Appointment/$book' });
    const { emr } = await linkCharts(server);
    const failure = await awaitFailure(emr.createAppointment.send(input, newMarker()));
    expect(failure).toMatchObject({ kind: 'refused', not_offered: true, code: 'not_permitted' });
  });
});

describe('a lost booking', () => {
  test('is found by the marker in its comment, and not sent again', async () => {
    const input = await withSlots(['10:00']);
    const marker = newMarker();
    server.fail({ kind: 'reset', path: '/Appointment/$book', performed: true });
    const failure = await awaitFailure(charts.emr.createAppointment.send(input, marker));
    expect(failure).toMatchObject({ kind: 'unknown_outcome' });
    const matched = await charts.emr.createAppointment.find?.(marker, input);
    expect(matched).toEqual({ ehr_id: (await booked(marker))[0]?.id });
    const sent = calls('book').length;
    expect(await charts.emr.createAppointment.send(input, marker)).toEqual(matched);
    expect(calls('book')).toHaveLength(sent);
    expect(await booked(marker)).toHaveLength(1);
  });

  test('is sent again if it never arrived', async () => {
    const input = await withSlots(['10:00']);
    const marker = newMarker();
    server.fail({ kind: 'reset', path: '/Appointment/$book' });
    await awaitFailure(charts.emr.createAppointment.send(input, marker));
    expect(await charts.emr.createAppointment.find?.(marker, input)).toBeUndefined();
    await charts.emr.createAppointment.send(input, marker);
    expect(await booked(marker)).toHaveLength(1);
  });

  test('stays unknown on a server that may have dropped the comment', async () => {
    const input = await withSlots(['10:00']);
    const marker = newMarker();
    server.fail({ kind: 'reset', path: '/Appointment/$book', performed: true });
    await awaitFailure(charts.emr.createAppointment.send(input, marker));
    const [appointment] = await booked(marker);
    if (!appointment) throw new Error('not booked');
    const { comment: _, ...dropped } = appointment;
    await server.storeUnchecked(dropped);
    const find = charts.emr.createAppointment.find?.(marker, input);
    expect(await awaitFailure(find ?? Promise.resolve())).toMatchObject({ kind: 'unknown_outcome' });
  });

  test('stays unknown until it is found if the response names no appointment', async () => {
    const input = await withSlots(['10:00']);
    const marker = newMarker();
    server.fail({ kind: 'empty', path: '/Appointment/$book', performed: true });
    const failure = await awaitFailure(charts.emr.createAppointment.send(input, marker));
    expect(failure).toMatchObject({ kind: 'unknown_outcome', accepted: true });
    expect(await charts.emr.createAppointment.find?.(marker, input)).toMatchObject({ ehr_id: expect.any(String) });
  });
});
