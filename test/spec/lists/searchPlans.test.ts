import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { type FaultSwitches, type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import type { VendorName } from '../../harness/fhir/vendors/vendors.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { stopScheduledSyncs } from '../../journeys/support.ts';

let fixture: TestSandbox;
/** An account at a server that searches patients by name, date of birth and identifier only. */
let chart: Awaited<ReturnType<typeof link>>;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  chart = await link('plans-chart', 'nextgen_enterprise');
});
afterAll(async () => {
  await chart.server.close();
  await fixture.close();
});

/** An account at a server of its own, synced once. Without a vendor, the server lists everything. */
async function link(
  name: string,
  habit?: VendorName | Partial<FaultSwitches>,
): Promise<{ server: FhirServer; api: Api }> {
  const server = await startFhirServer({ data: 'small' });
  Object.assign(server.faults, typeof habit === 'string' ? { vendor: habit } : habit);
  const api = await linkFhir(fixture, server, { user_id: name, org_id: name });
  await api.sync();
  await stopScheduledSyncs(fixture.owner, name);
  return { server, api };
}

async function listIds(api: Api, path: string, key: string): Promise<string[]> {
  const { status, body } = await api.call('GET', path);
  expect(status, JSON.stringify(body)).toBe(200);
  return body[key].map(({ ehr_id, ehr_appointment_id }: Record<string, string>) => ehr_id ?? ehr_appointment_id);
}

const inDays = (days: number) => `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)}T15:00:00Z`;

/** A request covers at most 92 days. */
async function listAppointments(api: Api): Promise<string[]> {
  const ids: string[] = [];
  for (const days of [-240, -160, -80, 0, 80]) {
    const range = `start_date=${inDays(days).slice(0, 10)}&end_date=${inDays(days + 79).slice(0, 10)}`;
    ids.push(...(await listIds(api, `/v1/appointments?${range}&page_size=100`, 'appointments')));
  }
  return ids.toSorted();
}

const visit = (id: string, days: number): fhir.Appointment => ({
  resourceType: 'Appointment',
  id,
  status: 'booked',
  start: inDays(days),
  end: inDays(days).replace('15:00', '15:30'),
  participant: [
    { actor: { reference: 'Patient/pat-1' }, status: 'accepted' },
    { actor: { reference: 'Practitioner/prac-1' }, status: 'accepted' },
    { actor: { reference: 'Location/loc-1' }, status: 'accepted' },
  ],
});

test(row('SPL-01'), async () => {
  const { api } = chart;
  const { body } = await api.call('POST', '/v1/patients/fetch', { body: { search_by: 'mrn', mrn: 'MB100001' } });
  const { data, event_type } = await api.untilEvent(body.job_id);
  expect(event_type).toBe('patient.live_fetch_completed');
  expect(data).toMatchObject({ patient_count: 1, not_available: ['balances', 'alerts'] });
  expect(data).toMatchObject({ patient_balance: null, account_balance: null, alerts: null });
  expect(data.medications).toBeInstanceOf(Array);
  expect(data.encounters).toBeInstanceOf(Array);
});

test(row('SPL-07'), async () => {
  const { api, server } = chart;
  const before = server.ledger.length;
  for (const dry_run of ['', '?dry_run=true']) {
    const refused = await api.call('POST', `/v1/patients/fetch${dry_run}`, {
      body: { search_by: 'phone', phone: '518-555-0101' },
    });
    const message = "search_by 'phone' is not supported by this EMR. Supported: dob, name, mrn.";
    expectApiError(refused, 400, message, 'search_by');
    expect(refused.body.code).toBe('search_not_supported');
  }
  expect(server.ledger.length).toBe(before);
  const { capabilities } = (await api.call('GET', '/v1/settings')).body.data;
  expect(capabilities).toEqual(expect.arrayContaining(['searchPatients.dob', 'searchPatients.last_name']));
  expect(capabilities).not.toContain('searchPatients.phone');
});

test(row('SPL-02'), async () => {
  const { server, api } = await link('plans-lists', 'oracle');
  const patients = await server.resources<fhir.Patient>('Patient');
  const born = patients.filter(({ birthDate, link = [] }) => birthDate && link.length === 0).map(({ id }) => id);
  expect((await listIds(api, '/v1/patients?page_size=100', 'patients')).toSorted()).toEqual(
    expect.arrayContaining(born.toSorted()),
  );
  expect((await listIds(api, '/v1/locations', 'locations')).length).toBeGreaterThan(0);
  expect((await listAppointments(api)).length).toBeGreaterThan(0);
  const report = (await api.call('GET', '/v1/account/connection-report')).body.data;
  expect(report.findings).toEqual(
    expect.arrayContaining([
      'Practitioner records are read by 2 searches for active. Records that match none of them are missed, and none is removed.',
      'Appointment records are read for each Location, from 30 days ago to 180 days ahead.',
    ]),
  );
  await server.close();
});

test(row('SPL-03'), async () => {
  const { server, api } = await link('plans-days');
  for (const [id, days] of Object.entries({ near: 3, far: 90, past: -200, kept: 4 })) {
    await server.storeUnchecked(visit(id, days));
  }
  await api.sync();
  const appointments = async () => (await listAppointments(api)).filter((id) => /^(near|far|past|kept)$/.test(id));
  expect(await appointments()).toEqual(['far', 'kept', 'near', 'past']);
  server.faults.vendor = 'oracle';
  for (const id of ['near', 'far', 'past']) await server.remove('Appointment', id);
  await api.sync();
  // A requested sync reads all days. Nothing is known about the time before them.
  expect(await appointments()).toEqual(['kept', 'past']);
  await server.close();
});

test(row('SPL-06'), async () => {
  const { server, api } = await link('plans-owners');
  const by_phone = visit('by-phone', 5);
  by_phone.participant.pop();
  await server.storeUnchecked(by_phone);
  await server.storeUnchecked(visit('gone', 6));
  await api.sync();
  server.faults.vendor = 'oracle';
  await server.remove('Appointment', 'gone');
  await api.sync();
  const ids = await listAppointments(api);
  expect(ids).toContain('by-phone');
  expect(ids).not.toContain('gone');
  await server.close();
});

test('appointments that are read for each practitioner are complete within the days, and only those of practitioners are removed', async () => {
  const { server, api } = await link('plans-practitioners');
  const without_provider = (id: string, days: number) => {
    const { participant, ...rest } = visit(id, days);
    return { ...rest, participant: participant.filter(({ actor }) => !actor?.reference?.startsWith('Practitioner')) };
  };
  for (const [id, days] of Object.entries({ near: 3, far: 90, past: -200 }))
    await server.storeUnchecked(visit(id, days));
  await server.storeUnchecked(without_provider('nobody', 4));
  await api.sync();
  const all = await listAppointments(api);
  expect(all).toEqual(expect.arrayContaining(['near', 'far', 'past', 'nobody']));
  server.faults.vendor = 'oracle';
  server.faults.withheld_params = { Appointment: ['location'] };
  for (const id of ['near', 'far', 'past', 'nobody']) await server.remove('Appointment', id);
  await server.storeUnchecked(visit('added', 60));
  await api.sync();
  const { findings } = (await api.call('GET', '/v1/account/connection-report')).body.data;
  expect(findings).toContain('Appointment records are read for each Practitioner, from 30 days ago to 180 days ahead.');
  // Nothing is known about the days before, and about appointments of nobody.
  const removed = ['near', 'far'];
  expect(await listAppointments(api)).toEqual([...all.filter((id) => !removed.includes(id)), 'added'].toSorted());
  await server.close();
});

test(row('SPL-09'), async () => {
  const { server, api } = await link('plans-offers', { books_offers: true });
  const slots = (await server.resources<fhir.Slot>('Slot')).filter(
    ({ status, schedule }) => status === 'free' && schedule.reference === 'Schedule/sched-1',
  );
  const [slot] = slots;
  const book = async (datetime: string | undefined) => {
    const { status, body } = await api.call('POST', '/v1/appointments', {
      body: {
        ...{ mrn: 'MB100001', provider: 'prac-1', location: 'loc-1', type: 'FOLLOWUP' },
        ...{ datetime, note: 'Bring the form' },
      },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    return (await api.untilEvent(body.job_id)) as { event_type: string; data: Record<string, string> };
  };
  const created = await book(slot?.start);
  expect(created.event_type, JSON.stringify(created)).toBe('appointment.created');
  const [stored] = (await server.resources<fhir.Appointment>('Appointment')).filter(({ comment }) =>
    comment?.startsWith('Bring the form'),
  );
  expect(stored).toMatchObject({ start: slot?.start, slot: [{ reference: `Slot/${slot?.id}` }] });
  // The time is taken now, and the EMR says what it offers instead.
  const refused = await book(slot?.start);
  expect(refused.data.failure_reason ?? JSON.stringify(refused.data)).toMatch(
    /The EMR does not offer this time\. On this day it offers \d\d:\d\d/,
  );
  await server.close();
});

test(row('SPL-04'), async () => {
  const { server, api } = await link('plans-partial', 'modmed');
  const before = await listIds(api, '/v1/locations', 'locations');
  expect(before).toContain('loc-2');
  await server.remove('Location', 'loc-2');
  await api.sync();
  expect(await listIds(api, '/v1/locations', 'locations')).toEqual(before);
  await server.close();
});

test(row('SPL-05'), async () => {
  const { server, api } = await link('plans-budget', 'nextgen_enterprise');
  server.faults.vendor = 'ecw';
  const rejected = () => server.ledger.filter(({ status }) => status === 429).length;
  // A minute may end in between.
  for (let round = 0; round < 3 && rejected() === 0; round++) {
    for (let n = 0; n < 225; n++) await fetch(`${server.url}/metadata`);
    await api.sync();
  }
  expect(rejected()).toBeGreaterThan(0);
  expect(await listIds(api, '/v1/patients?page_size=100', 'patients')).toContain('pat-1');
  const [budget] = await fixture.owner`SELECT blocked FROM emr_request_budgets WHERE counted_by = ${server.url}`;
  expect(budget).toStrictEqual({ blocked: false });
  await server.close();
}, 240_000);
