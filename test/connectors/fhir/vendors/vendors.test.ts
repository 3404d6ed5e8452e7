import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type * as fhir from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { VendorServer } from '../../../../scripts/pages/vendors.ts';
import { fhir as fhirConnector } from '../../../../src/emr/fhir/fhir.ts';
import { toLocalTime } from '../../../../src/emr/fhir/values.ts';
import { collect } from '../../../../src/emr/operations/operation.ts';
import type { OperationName, Operations } from '../../../../src/emr/operations/operations.ts';
import { type FhirServer, startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { type VendorName, vendors } from '../../../harness/fhir/vendors/vendors.ts';
import { createEndpoint, required } from '../../larkspur/fixture.ts';
import { bySecret, signedIn } from '../fixture.ts';
import { booking, document, empty_patient, guarantor, insurance } from '../inputs.ts';

let server: FhirServer;
beforeAll(async () => {
  server = await startFhirServer({ data: 'small' });
  const guarantor_role = { system: 'http://terminology.hl7.org/CodeSystem/v3-RoleCode', code: 'GUAR' };
  await server.storeUnchecked({
    resourceType: 'RelatedPerson',
    id: 'related-1',
    patient: { reference: 'Patient/pat-1' },
    name: [{ family: 'Mockberry', given: ['Gale'] }],
    relationship: [{ coding: [guarantor_role] }],
  });
  await server.storeUnchecked({
    resourceType: 'MedicationRequest',
    id: 'dispensed-1',
    status: 'active',
    intent: 'order',
    subject: { reference: 'Patient/pat-1' },
    medicationCodeableConcept: { text: 'Placebo 10 mg' },
    dispenseRequest: { performer: { reference: 'Organization/pharm-1' } },
  });
});
afterEach(() => server.reset());
afterAll(() => server.close());

/** An account at a server of this vendor. */
async function link(vendor: VendorName) {
  server.faults.vendor = vendor;
  const endpoint = { ...createEndpoint(server.url), search_params: vendors[vendor].constant_params };
  const credentials = bySecret(server);
  const { capabilities = [], grant } = await signedIn(endpoint, credentials);
  const saved = { ...grant };
  const access = {
    credentials,
    grant,
    timezone: 'America/New_York',
    saveGrant: async (next: typeof grant) => void Object.assign(saved, next),
  };
  // A test that uses an unsupported operation fails.
  const emr = fhirConnector.open(endpoint, access) as Operations;
  return { endpoint, access, saved, emr, capabilities };
}

/** Reads something of which the practice has some, or writes something that is there afterwards. */
type Exercise = (emr: Operations) => Promise<void>;

async function expectSome(rows: AsyncIterable<object[]> | Promise<object[]>): Promise<void> {
  const all = 'then' in rows ? await rows : await collect(rows);
  expect(all.length).toBeGreaterThan(0);
}

/** The operations of a patient's chart, tried on every patient until one has something. */
async function expectInAnyChart(read: (ehr_id: string) => Promise<object[]>): Promise<void> {
  const patients = await server.resources<fhir.Patient>('Patient');
  for (const { id = '' } of patients) if ((await read(id)).length > 0) return;
  expect.fail('nothing in any chart');
}

async function written(type: 'Patient' | 'Coverage' | 'RelatedPerson' | 'DocumentReference', ehr_id: string) {
  const records = await server.resources<fhir.FhirResource>(type);
  expect(records.map(({ id }) => id)).toContain(ehr_id);
}

/**
 * The 36 operations that existed before the further endpoints, and how each is exercised. `needs`: what the vendor's
 * servers require besides search plans.
 */
const operations: Partial<Record<OperationName, Exercise>> = {
  listPatients: (emr) => expectSome(emr.listPatients()),
  listProviders: (emr) => expectSome(emr.listProviders()),
  listStaff: (emr) => expectSome(emr.listStaff()),
  listReferringProviders: (emr) => expectSome(emr.listReferringProviders()),
  listLocations: (emr) => expectSome(emr.listLocations()),
  listPharmacies: (emr) => expectSome(emr.listPharmacies()),
  listInsuranceProviders: (emr) => expectSome(emr.listInsuranceProviders()),
  listAppointments: (emr) => expectSome(emr.listAppointments()),
  listOrders: (emr) => expectSome(emr.listOrders()),
  listVisitTypes: (emr) => expectSome(emr.listVisitTypes()),
  listVisitStatuses: (emr) => expectSome(emr.listVisitStatuses()),
  listEncounters: (emr) => expectInAnyChart(emr.listEncounters),
  listGuarantors: (emr) => expectInAnyChart(emr.listGuarantors),
  listMedications: (emr) => expectInAnyChart(emr.listMedications),
  listPatientInsurances: (emr) => expectInAnyChart(emr.listPatientInsurances),
  listPatientPharmacies: (emr) => expectInAnyChart(emr.listPatientPharmacies),
  findPatient: async (emr) => expect(await emr.findPatient('MB100001')).toMatchObject({ mrn: 'MB100001' }),
  searchPatients: async (emr) => {
    const [patient] = await emr.searchPatients({ mrn: 'MB100001' });
    const { first_name, last_name } = required(patient);
    const named = await emr.searchPatients({ first_name, last_name });
    expect(named.map(({ mrn }) => mrn)).toContain('MB100001');
  },
  findReferringProviders: async (emr) => {
    const [{ name } = {}] = await server.resources<fhir.Practitioner>('Practitioner');
    const [{ given: [first_name = ''] = [], family: last_name = '' } = {}] = name ?? [];
    await expectSome(emr.findReferringProviders({ first_name, last_name }));
  },
  getAppointment: async (emr) => {
    const [{ id = '' } = {}] = await server.resources<fhir.Appointment>('Appointment');
    expect(await emr.getAppointment(id)).toMatchObject({ ehr_id: id });
  },
  createPatient: async (emr) => {
    const { ehr_id } = await emr.createPatient.send(empty_patient, randomUUID());
    await written('Patient', ehr_id);
  },
  addGuarantor: async (emr) => {
    const { ehr_id } = await emr.addGuarantor.send({ ...guarantor, patient_ehr_id: 'pat-1' }, randomUUID());
    await written('RelatedPerson', ehr_id);
  },
  addPatientInsurance: async (emr) => {
    const { ehr_id } = await emr.addPatientInsurance.send(insurance, randomUUID());
    await written('Coverage', ehr_id);
  },
  uploadDocument: async (emr) => {
    const input = { ...document, assigned_to_ehr_id: null, high_priority: false };
    const { ehr_id } = await emr.uploadDocument.send(input, randomUUID());
    await written('DocumentReference', ehr_id);
  },
  // These change records, which Oracle takes by JSON Patch only.
  updatePatient: async (emr) => {
    const change = { patient_ehr_id: 'pat-2', email: 'patched@example.test', save_previous_address: false };
    const { changes } = await emr.updatePatient.send(change, randomUUID());
    expect(changes).toMatchObject([{ property: 'email', after: 'patched@example.test' }]);
    await expectPatched('Patient');
  },
  updatePatientInsurance: async (emr) => {
    const [coverage] = await server.resources<fhir.Coverage>('Coverage');
    const patient_ehr_id = coverage?.beneficiary.reference?.split('/')[1] ?? '';
    const change = { patient_ehr_id, insurance_ehr_id: coverage?.id ?? '', member_id: 'PATCHED-1' };
    const { changes } = await emr.updatePatientInsurance.send(change, randomUUID());
    expect(changes).toMatchObject([{ after: 'PATCHED-1' }]);
    await expectPatched('Coverage');
  },
  setResponsibleParty: async (emr) => {
    const party = { patient_ehr_id: 'pat-1', ...guarantor };
    const { ehr_id } = await emr.addGuarantor.send(party, randomUUID());
    await emr.setResponsibleParty.send(
      { patient_ehr_id: 'pat-1', relationship: 'spouse', guarantor_ehr_id: ehr_id },
      randomUUID(),
    );
    await expectPatched('RelatedPerson');
  },
  addPatientPharmacy: async (emr) => {
    const [pharmacy] = await collect(emr.listPharmacies());
    const input = { patient_ehr_id: 'pat-3', pharmacy_ehr_id: required(pharmacy).ehr_id };
    await emr.addPatientPharmacy.send(input, randomUUID());
    await expectPatched('Patient');
  },
  // Oracle books one slot, found by service and provider, with the patient as the only participant.
  createAppointment: async (emr) => {
    const { slot, service } = await storeService();
    const starts_at = required(toLocalTime(slot.start, 'America/New_York') ?? undefined);
    const input = { ...booking, visit_type: service, secondary_provider_ehr_id: null, starts_at, minutes: null };
    const { ehr_id } = await emr.createAppointment.send(input, randomUUID());
    const booked = (await server.resources<fhir.Appointment>('Appointment')).find(({ id }) => id === ehr_id);
    expect(booked).toMatchObject({ slot: [{ reference: `Slot/${slot.id}` }], participant: [{}] });
    expect((await server.resources<fhir.Slot>('Slot')).find(({ id }) => id === slot.id)?.status).toBe('busy');
  },
  addRefill: unexercised,
  addTelephoneAction: unexercised,
  createTelephoneEncounter: unexercised,
  getAlerts: unexercised,
  getBalances: unexercised,
  listClaims: unexercised,
  listScheduleBlocks: unexercised,
};

async function unexercised(): Promise<void> {
  throw new Error('No vendor offers this operation.');
}

/** The last change of a type was a JSON Patch. */
async function expectPatched(type: string): Promise<void> {
  const changes = server.ledger.filter(({ path, method }) => path.includes(`/${type}/`) && method !== 'GET');
  expect(changes.at(-1)).toMatchObject({ method: 'PATCH', performed: true });
}

/** A service that a free slot of the first provider offers, and that a visit of the next days has. */
async function storeService(): Promise<{ slot: fhir.Slot; service: string }> {
  const serviceType = [{ coding: [{ system: 'urn:vendor:services', code: 'OFFICE', display: 'Office visit' }] }];
  const schedule = (await server.resources<fhir.Schedule>('Schedule')).find(({ actor }) =>
    actor.some(({ reference }) => reference === 'Practitioner/prac-1'),
  );
  const slots = await server.resources<fhir.Slot>('Slot');
  const free = slots.find(
    (each) => each.status === 'free' && each.schedule.reference === `Schedule/${required(schedule).id}`,
  );
  const slot = { ...required(free), serviceType };
  await server.storeUnchecked(slot);
  const [visit] = await server.resources<fhir.Appointment>('Appointment');
  const tomorrow = new Date(Date.now() + 86_400_000);
  const end = new Date(tomorrow.getTime() + 1_200_000).toISOString();
  await server.storeUnchecked({
    ...required(visit),
    id: 'with-service',
    serviceType,
    start: tomorrow.toISOString(),
    end,
  });
  return { slot, service: 'OFFICE' };
}

test('oracle: the hours of a provider are the free slots of its services, and nobody else’s', async () => {
  const { slot, service } = await storeService();
  const { emr } = await link('oracle');
  const starts = required(toLocalTime(slot.start, 'America/New_York') ?? undefined);
  const day = starts.slice(0, 10);
  const search = { days: { from: day, to: day }, provider_ehr_ids: ['prac-1', 'prac-2'] };
  const { hours } = await emr.getSchedule(search);
  expect(service).toBe('OFFICE');
  expect(hours.map(({ provider_ehr_id, hours: days }) => [provider_ehr_id, days.length])).toEqual([
    ['prac-1', 1],
    ['prac-2', 0],
  ]);
  expect(hours[0]?.hours[0]?.shifts).toMatchObject([{ start: `T${starts.slice(11, 16)}:00`, facility_id: 'loc-1' }]);
  // A server without roles, schedules and slots does not offer it: everybody would seem to be absent.
  for (const vendor of ['athena', 'nextgen_enterprise'] as const) {
    expect((await link(vendor)).capabilities).not.toContain('getSchedule');
  }
});

const published = resolve(import.meta.dirname, '../../../../docs/reference/vendor-servers.json');
const seen: VendorServer[] = [];

describe('of the 36 operations, a server that refuses lists without criteria offers', () => {
  test.each([
    ['oracle', 28],
    ['athena', 18],
    ['meditech', 19],
    ['modmed', 15],
    ['nextgen_enterprise', 16],
    ['advancedmd', 15],
    ['ecw', 14],
  ] as const)('%s: %i, and each works', async (vendor, count) => {
    expect(Object.keys(operations)).toHaveLength(36);
    const { emr, capabilities } = await link(vendor);
    const offered = Object.entries(operations).filter(([name]) => capabilities.includes(name as OperationName));
    expect(offered.map(([name]) => name).toSorted()).toHaveLength(count);
    const exercised = offered.map(([name]) => name).sort();
    seen.push({ name: vendor, title: vendors[vendor].title, offered: [...capabilities].sort(), exercised });
    for (const [name, exercise] of offered) {
      await exercise(emr).catch((cause: unknown) => {
        throw new Error(`${vendor} ${name}`, { cause });
      });
    }
  });

  test('what is published: npm run scorecards', async () => {
    if (process.env.SCORE_CARDS === 'write') await writeFile(published, `${JSON.stringify(seen, null, 2)}\n`);
    expect(JSON.parse(await readFile(published, 'utf8'))).toStrictEqual(seen);
  });
});
