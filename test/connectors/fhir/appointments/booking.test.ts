import type * as fhir from 'fhir/r4.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { fhir as connector } from '../../../../src/emr/fhir/fhir.ts';
import { collect } from '../../../../src/emr/operations/operation.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { type Charts, linkCharts, performWrite } from '../chart/charts.ts';
import { bySecret } from '../fixture.ts';
import { booking } from '../inputs.ts';

const server = sharedFhirServer({ data: 'small' });
let charts: Charts;
beforeAll(async () => {
  charts = await linkCharts(server);
});

let count = 0;
const newMarker = () => `booking-${++count}`;
/** Each test books on a day of its own. */
let day = 0;
const newDay = () => `2032-01-${String(++day).padStart(2, '0')}`;
const at = (date: string, time: string, more = {}) => ({
  ...booking,
  secondary_provider_ehr_id: null,
  starts_at: `${date}T${time}:00`,
  minutes: 30,
  ...more,
});

async function addSlots(date: string, times: [from: string, to: string][], more: Partial<fhir.Slot> = {}) {
  const ids = times.map(
    ([from]) => `s-${date}-${from.replace(':', '')}-${more.schedule?.reference?.split('/')[1] ?? 1}`,
  );
  for (const [n, [from, to]] of times.entries()) {
    await server.storeUnchecked({
      resourceType: 'Slot',
      id: ids[n] ?? '',
      schedule: { reference: 'Schedule/sched-1' },
      status: 'free',
      start: `${date}T${from}:00-05:00`,
      end: `${date}T${to}:00-05:00`,
      ...more,
    });
  }
  return ids;
}

const slot = async (id: string | undefined) =>
  (await server.resources<fhir.Slot>('Slot')).find((each) => each.id === id);
const active = async (date: string) =>
  (await server.resources<fhir.Appointment>('Appointment')).filter(
    ({ start, status }) => start?.startsWith(date) && status === 'booked',
  );
const stored = async (id: string) =>
  (await server.resources<fhir.Appointment>('Appointment')).find((each) => each.id === id);

describe('an appointment', () => {
  test('is booked into the free slot of its time, which is busy afterwards', async () => {
    const date = newDay();
    const [id, next] = await addSlots(date, [
      ['10:00', '10:30'],
      ['10:30', '11:00'],
    ]);
    const { ehr_id } = await charts.emr.createAppointment.send(at(date, '10:00'), newMarker());
    expect((await stored(ehr_id))?.slot).toEqual([{ reference: `Slot/${id}` }]);
    expect([(await slot(id))?.status, (await slot(next))?.status]).toEqual(['busy', 'free']);
  });

  test('takes as many consecutive slots as it needs', async () => {
    const date = newDay();
    const ids = await addSlots(date, [
      ['10:00', '10:15'],
      ['10:15', '10:30'],
      ['10:30', '10:45'],
    ]);
    const { ehr_id } = await charts.emr.createAppointment.send(at(date, '10:00', { minutes: 20 }), newMarker());
    expect((await stored(ehr_id))?.slot).toHaveLength(2);
    expect(await Promise.all(ids.map(async (id) => (await slot(id))?.status))).toEqual(['busy', 'busy', 'free']);
  });

  test.each([
    ['that are busy', { status: 'busy' as const }],
    ['at another location', { schedule: { reference: 'Schedule/elsewhere' } }],
  ])('is booked without slots %s', async (_what, more) => {
    await server.storeUnchecked({
      resourceType: 'Schedule',
      id: 'elsewhere',
      actor: [{ reference: 'Practitioner/prac-1' }, { reference: 'Location/loc-2' }],
    });
    const date = newDay();
    await addSlots(date, [['10:00', '10:30']], more);
    const { ehr_id } = await charts.emr.createAppointment.send(at(date, '10:00'), newMarker());
    expect((await stored(ehr_id))?.slot).toBeUndefined();
  });

  test('leaves the slots to a server that keeps them', async () => {
    server.faults.slots_kept_by = 'server';
    const date = newDay();
    const [id] = await addSlots(date, [['10:00', '10:30']]);
    const { ehr_id } = await charts.emr.createAppointment.send(at(date, '10:00'), newMarker());
    expect((await stored(ehr_id))?.status).toBe('booked');
    expect(await slot(id)).toMatchObject({ status: 'busy' });
    expect((await slot(id))?.identifier).toBeUndefined();
  });

  test('is booked even if the server does not let us change slots', async () => {
    server.faults.withheld = { Slot: ['update'] };
    const { emr } = await linkCharts(server);
    const date = newDay();
    const [id] = await addSlots(date, [['10:00', '10:30']]);
    const { ehr_id } = await emr.createAppointment.send(at(date, '10:00'), newMarker());
    expect((await stored(ehr_id))?.slot).toHaveLength(1);
    expect((await slot(id))?.status).toBe('free');
  });
});

describe.each([
  ['keeps no slots', 'client', true],
  ['keeps no slots and drops our marker', 'client', false],
  ['keeps the slots', 'server', true],
  ['books by slot', 'bound', true],
] as const)('on a server that %s', (_what, slots_kept_by, foreign_identifiers) => {
  test('exactly one of several bookings of a slot at the same time succeeds', async () => {
    server.faults.slots_kept_by = slots_kept_by;
    server.faults.foreign_identifiers = foreign_identifiers;
    const date = newDay();
    const [id] = await addSlots(date, [['10:00', '10:30']]);
    const accounts = await Promise.all([1, 2, 3].map(() => linkCharts(server)));
    const outcomes = await Promise.allSettled(
      accounts.map(({ emr }) =>
        emr.createAppointment.send(at(date, '10:00', { prevent_double_booking: true }), newMarker()),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const each of outcomes) {
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ kind: 'refused', code: 'slot_taken' });
    }
    expect(await active(date)).toHaveLength(1);
    expect((await slot(id))?.status).toBe('busy');
  });
});

test('the loser of two overlapping bookings of several slots frees what it claimed', async () => {
  const date = newDay();
  const ids = await addSlots(date, [
    ['10:00', '10:30'],
    ['10:30', '11:00'],
    ['11:00', '11:30'],
  ]);
  const other = await linkCharts(server);
  // The other one is booked between the creation of this one and the claim of its first slot.
  charts.before('PUT', async () => {
    await other.emr.createAppointment.send(at(date, '10:30', { minutes: 60 }), newMarker());
  });
  const failure = await awaitFailure(
    charts.emr.createAppointment.send(at(date, '10:00', { minutes: 60 }), newMarker()),
  );
  expect(failure).toMatchObject({ code: 'slot_taken', details: { conflict_type: 'appointment' } });
  expect(await active(date)).toMatchObject([
    { slot: [{ reference: `Slot/${ids[1]}` }, { reference: `Slot/${ids[2]}` }] },
  ]);
  expect(await Promise.all(ids.map(async (id) => (await slot(id))?.status))).toEqual(['free', 'busy', 'busy']);
});

test('a booking that is interrupted anywhere leaves one appointment and its slots, or neither', async () => {
  const slots = async (date: string) =>
    (await server.resources<fhir.Slot>('Slot')).filter(({ start }) => start.startsWith(date));
  const book = async (date: string) => {
    await addSlots(date, [
      ['10:00', '10:15'],
      ['10:15', '10:30'],
    ]);
    return performWrite(charts.emr.createAppointment, at(date, '10:00', { prevent_double_booking: true }), newMarker());
  };
  charts.requests();
  await book(newDay());
  const requests = charts.requests();
  for (let n = 1; n <= requests; n++) {
    for (const when of ['before', 'after'] as const) {
      const own_date = `${2033 + n}-01-0${when === 'before' ? 5 : 6}`;
      charts.lose(n, when);
      await book(own_date);
      expect(await active(own_date), `request ${n} lost ${when}`).toHaveLength(1);
      expect((await slots(own_date)).map(({ status }) => status)).toEqual(['busy', 'busy']);
    }
  }
});

describe('a server that books by slot', () => {
  test('is found out by its first refusal, and then gets the short form at once', async () => {
    server.faults.slots_kept_by = 'bound';
    const opened = await linkCharts(server);
    const date = newDay();
    await addSlots(date, [
      ['10:00', '10:30'],
      ['10:30', '11:00'],
    ]);
    const creates = () =>
      server.ledger.filter(({ method, path }) => method === 'POST' && path.endsWith('/Appointment'));
    const before = creates().length;
    const { ehr_id } = await opened.emr.createAppointment.send(at(date, '10:00'), newMarker());
    expect(creates().length - before).toBe(2);
    expect((await stored(ehr_id))?.participant).toMatchObject([{ actor: { reference: 'Patient/pat-1' } }]);
    await opened.emr.createAppointment.send(at(date, '10:30'), newMarker());
    expect(creates().length - before).toBe(3);
    const access = { credentials: bySecret(server), grant: opened.grant(), saveGrant: async () => {} };
    const refreshed = await connector.refreshCapabilities?.(createEndpoint(server.url), access);
    expect(refreshed?.capabilities).toContain('createAppointment');
    expect(refreshed?.capabilities).not.toContain('createAppointment.secondary_provider');
  });

  test('refuses times without a slot, and a second provider, before anything is sent', async () => {
    server.faults.slots_kept_by = 'bound';
    const { emr } = await linkCharts(server);
    const date = newDay();
    await addSlots(date, [['10:00', '10:30']]);
    await emr.createAppointment.send(at(date, '10:00'), newMarker());
    const before = server.writes().length;
    const outside = await awaitFailure(emr.createAppointment.send(at(date, '15:00'), newMarker()));
    expect(outside).toMatchObject({
      code: 'slot_taken',
      message: 'The EMR has no free slot at this time.',
      details: { conflict_type: 'block' },
    });
    const two = at(date, '10:00', { secondary_provider_ehr_id: 'prac-2' });
    expect(await awaitFailure(emr.createAppointment.send(two, newMarker()))).toMatchObject({
      message: "Field 'secondary_provider' is not supported by this EMR.",
    });
    expect(server.writes().length).toBe(before);
  });

  test.each([
    ['no free slot', '15:00', 30, 'The EMR has no free slot at this time.'],
    ['a shorter slot', '10:00', 60, 'The EMR books one slot at a time, and the free one at this time is shorter.'],
  ])('refuses a time with %s as taken, also while it is not known yet', async (_what, time, minutes, details) => {
    server.faults.slots_kept_by = 'bound';
    const { emr, grant } = await linkCharts(server);
    const date = newDay();
    await addSlots(date, [
      ['10:00', '10:30'],
      ['10:30', '11:00'],
    ]);
    const failure = await awaitFailure(emr.createAppointment.send(at(date, time, { minutes }), newMarker()));
    expect(failure).toMatchObject({
      kind: 'refused',
      code: 'slot_taken',
      details: { conflict_type: 'block', conflict_details: details },
    });
    // With what the EMR said: it may have rejected the appointment for another reason.
    expect(failure.message.length).toBeGreaterThan(details.length);
    expect(await active(date)).toEqual([]);
    expect(JSON.parse(grant().server ?? '').books_by_slot).toBeUndefined();
  });

  test('keeps the reason of a rejection if the provider has no schedule', async () => {
    server.faults.slots_kept_by = 'bound';
    server.faults.hidden = ['Schedule'];
    const { emr } = await linkCharts(server);
    const failure = await awaitFailure(emr.createAppointment.send(at(newDay(), '15:00'), newMarker()));
    expect(failure.code).toBe('emr_validation');
  });

  test('returns its appointments with the provider and location of their slot', async () => {
    server.faults.slots_kept_by = 'bound';
    const { emr } = await linkCharts(server);
    const date = newDay();
    await addSlots(date, [['10:00', '10:30']]);
    await server.storeUnchecked({
      resourceType: 'Schedule',
      id: 'of-role',
      actor: [{ reference: 'PractitionerRole/role-prac-2' }, { reference: 'Location/loc-2' }],
    });
    await addSlots(date, [['11:00', '11:30']], { schedule: { reference: 'Schedule/of-role' } });
    const first = await emr.createAppointment.send(at(date, '10:00'), newMarker());
    const by_role = at(date, '11:00', { provider_ehr_id: 'prac-2', location_ehr_id: 'loc-2' });
    const second = await emr.createAppointment.send(by_role, newMarker());
    const booked = [first, second].map(({ ehr_id }) => ehr_id);
    const expected = [
      { provider_ehr_id: 'prac-1', facility_ehr_id: 'loc-1' },
      { provider_ehr_id: 'prac-2', facility_ehr_id: 'loc-2' },
    ];
    expect(await Promise.all(booked.map((id) => emr.getAppointment(id)))).toMatchObject(expected);
    const listed = (await collect(emr.listAppointments())).filter(({ ehr_id }) => booked.includes(ehr_id));
    expect(listed.map(({ ehr_id }) => ehr_id).sort()).toEqual(booked.toSorted());
    expect(listed.every(({ provider_ehr_id }) => provider_ehr_id !== '')).toBe(true);
    const visits = await emr.listEncounters('pat-1');
    expect(visits.filter(({ id }) => booked.includes(id))).toMatchObject(
      expected.map(({ provider_ehr_id, facility_ehr_id }) => ({
        provider_ehr_id,
        provider_last_name: expect.any(String),
        facility_id: facility_ehr_id,
        facility_name: expect.any(String),
      })),
    );
  });

  test('refuses a booked slot as an appointment of the provider', async () => {
    server.faults.slots_kept_by = 'bound';
    const { emr } = await linkCharts(server);
    const date = newDay();
    await addSlots(date, [['10:00', '10:30']]);
    const send = () => emr.createAppointment.send(at(date, '10:00', { prevent_double_booking: true }), newMarker());
    await send();
    expect(await awaitFailure(send())).toMatchObject({ code: 'slot_taken', details: { conflict_type: 'appointment' } });
  });

  test('keeps returning appointments to accounts that may not read slots', async () => {
    server.faults.slots_kept_by = 'bound';
    const date = newDay();
    await addSlots(date, [['10:00', '10:30']]);
    const { ehr_id } = await (await linkCharts(server)).emr.createAppointment.send(at(date, '10:00'), newMarker());
    server.faults.forbidden = ['Slot'];
    const { emr } = await linkCharts(server);
    expect(await emr.getAppointment(ehr_id)).toMatchObject({ ehr_id, provider_ehr_id: '' });
  });
});

describe('with prevent_double_booking', () => {
  test.each([
    ['location', 'Location/loc-1'],
    ['service', 'HealthcareService/svc-1'],
  ])('a time at which the %s is closed is refused', async (what, actor) => {
    await server.storeUnchecked({ resourceType: 'HealthcareService', id: 'svc-1', name: 'Synthetic service' });
    const role = (await server.resources<fhir.PractitionerRole>('PractitionerRole')).find(
      ({ id }) => id === 'role-prac-1',
    );
    if (role) await server.storeUnchecked({ ...role, healthcareService: [{ reference: 'HealthcareService/svc-1' }] });
    await server.storeUnchecked({ resourceType: 'Schedule', id: `of-${what}`, actor: [{ reference: actor }] });
    const { emr } = await linkCharts(server);
    const date = newDay();
    await addSlots(date, [['10:00', '11:00']], {
      schedule: { reference: `Schedule/of-${what}` },
      status: 'busy-unavailable',
    });
    const send = (time: string) =>
      emr.createAppointment.send(at(date, time, { prevent_double_booking: true }), newMarker());
    expect(await awaitFailure(send('10:30'))).toMatchObject({
      code: 'slot_taken',
      details: { conflict_type: 'block', conflict_details: `The ${what} is closed or fully booked at this time.` },
    });
    expect(await send('11:00')).toMatchObject({ ehr_id: expect.any(String) });
  });
});
