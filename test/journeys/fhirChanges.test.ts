import type * as fhir from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Api } from '../harness/api.ts';
import { linkFhir } from '../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { endPauses, stopScheduledSyncs, until } from './support.ts';

const org_id = 'fhir-writes';
let fixture: TestSandbox;
let server: FhirServer;
let api: Api;
beforeAll(async () => {
  [fixture, server] = await Promise.all([sharedSandbox(), startFhirServer({ data: 'small' })]);
  api = await linkFhir(fixture, server, { user_id: 'fhir-writer', org_id });
  await until('the first sync', async () => (await api.call('GET', '/v1/claims')).body.pagination?.total_count);
});
afterEach(() => server.reset());
afterAll(async () => {
  await stopScheduledSyncs(fixture.owner, org_id);
  await server.close();
});

const new_patient = {
  first_name: 'Nova',
  last_name: 'Changer',
  dob: '1990-01-31',
  sex: 'female',
  phone: '518-555-0142',
  address_street: '7 Mock Lane',
  address_city: 'Exampleton',
  address_state: 'NY',
  address_zip: '12207',
};

async function awaitEvent(response: { status: number; body: { job_id: number } }) {
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return api.untilEvent(response.body.job_id);
}

/** Patients with this family name on the server. */
async function patientsNamed(family: string): Promise<fhir.Patient[]> {
  const all = await server.resources<fhir.Patient>('Patient');
  return all.filter(({ name }) => name?.[0]?.family === family);
}

test('a patient is created and updated, and both lists show the saved values', async () => {
  const created = await awaitEvent(await api.call('POST', '/v1/patients', { body: new_patient }));
  expect(created.event_type).toBe('patient.created');
  const { patient_id, mrn } = created.data;
  const body = { cell_phone: '518-555-0143', address_city: 'Newtown' };
  const updated = await awaitEvent(await api.call('PATCH', `/v1/patients/${patient_id}`, { body }));
  expect(updated).toMatchObject({ event_type: 'patient.updated', data: { patient_id, mrn } });
  expect(updated.data.audit_trail).toStrictEqual([
    { field_label: 'Cell phone', before: null, after: '518-555-0143', property: 'cell_phone' },
    { field_label: 'City', before: 'Exampleton', after: 'Newtown', property: 'address_city' },
  ]);
  const [listed] = (await api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients;
  expect(listed).toMatchObject({ ...new_patient, ...body, status: 'active' });
  const [stored] = await patientsNamed('Changer');
  expect(stored?.address?.map(({ use, city }) => [use, city])).toStrictEqual([
    ['home', 'Newtown'],
    ['old', 'Exampleton'],
  ]);
});

test('an insurance is added and updated on the server', async () => {
  const mrn = 'MB100003';
  const added = await awaitEvent(
    await api.call('POST', `/v1/patients/${mrn}/insurances`, {
      body: { member_id: 'CHG-1', insurance_name: 'Mock Mutual', priority: '3', copayment: 15 },
    }),
  );
  expect(added).toMatchObject({ event_type: 'patient.insurance.added', data: { member_id: 'CHG-1', copayment: 15 } });
  const { emr_insurance_id } = added.data;
  const changed = await awaitEvent(
    await api.call('PATCH', `/v1/patients/${mrn}/insurances/${emr_insurance_id}`, {
      body: {
        member_id: 'CHG-2',
        relationship_to_subscriber: 'spouse',
        subscriber_demographics: { first_name: 'Kit', last_name: 'Changer' },
      },
    }),
  );
  expect(changed.event_type).toBe('patient.insurance.updated');
  const trail = changed.data.audit_trail.map(({ property, before, after }: Record<string, string>) => [
    property,
    before,
    after,
  ]);
  expect(trail).toContainEqual(['member_id', 'CHG-1', 'CHG-2']);
  expect(trail).toContainEqual(['relationship_to_subscriber', '01', '02']);
  expect(trail).toContainEqual(['subscriber_demographics.first_name', null, 'Kit']);
  const coverages = await server.resources<fhir.Coverage>('Coverage');
  expect(coverages.find(({ id }) => id === emr_insurance_id)).toMatchObject({ subscriberId: 'CHG-2', order: 3 });
});

test('a guarantor, an insurance, a pharmacy and doctors are saved with a new patient and shown by a live fetch', async () => {
  const first = async (list: string) => {
    const rows = (await api.call('GET', `/v1/${list}`)).body[list.replaceAll('-', '_')];
    return rows.find(({ status, name }: { status: string; name: string }) => status === 'active' && name !== '');
  };
  const [pharmacy, referrer, provider] = [
    await first('pharmacies'),
    await first('referring-providers'),
    await first('providers'),
  ];
  const body = {
    ...new_patient,
    last_name: 'Guaranteed',
    insurance_name: 'Mock Mutual',
    responsible_party: 'parent',
    responsible_party_first_name: 'Pat',
    responsible_party_last_name: 'Guarantor',
    responsible_party_dob: '1960-05-04',
    pharmacy_id: pharmacy.id,
    referring_provider_id: referrer.id,
    referred_to_provider_id: provider.ehr_id,
  };
  const { event_type, data } = await awaitEvent(await api.call('POST', '/v1/patients', { body }));
  expect(event_type).toBe('patient.created');
  const search = { search_by: 'mrn', mrn: data.mrn, include: 'insurances' };
  const fetched = await awaitEvent(await api.call('POST', '/v1/patients/fetch', { body: search }));
  expect(fetched.data).toMatchObject({
    guarantors: [{ name: 'Pat Guarantor', dob: '1960-05-04', relationship: 'other', is_guarantor_patient: false }],
    insurances: [{ guarantor_id: fetched.data.guarantors[0].id, is_guarantor_patient: false }],
    pharmacies: [{ pharmacy_id: pharmacy.ehr_id, is_primary: '1' }],
    patient_balance: 0,
    account_balance: 0,
  });
  const [chart] = await patientsNamed('Guaranteed');
  const referrals = (await server.resources<fhir.ServiceRequest>('ServiceRequest')).filter(
    ({ subject }) => subject.reference === `Patient/${chart?.id}`,
  );
  expect(referrals).toMatchObject([
    {
      requester: { reference: `Practitioner/${referrer.ehr_id}` },
      performer: [{ reference: `Practitioner/${provider.ehr_id}` }],
    },
  ]);

  const patch = (changes: object) => api.call('PATCH', `/v1/patients/${data.patient_id}`, { body: changes });
  const named = { pcp_first_name: referrer.first_name, pcp_last_name: referrer.last_name.toUpperCase() };
  const updated = await awaitEvent(await patch({ ...named, referring_provider_id: null }));
  const trail = updated.data.audit_trail.map((change: Record<string, string>) => [
    change.property,
    change.before,
    change.after,
  ]);
  expect(trail).toStrictEqual([
    ['pcp_id', null, referrer.id],
    ['referring_provider_id', referrer.id, null],
  ]);
  const unknown = await patch({ pcp_first_name: 'No', pcp_last_name: 'Such-Doctor' });
  expect(unknown).toMatchObject({
    status: 404,
    body: { message: expect.stringMatching(/^No referring provider is named 'No Such-Doctor'\./) },
  });
});

test('a responsible party that changes while the patient is created is saved afterwards', async () => {
  const person = { responsible_party_first_name: 'Pat', responsible_party_last_name: 'Second' };
  // Holds the creation until the request was changed.
  server.faults.latency_ms = 500;
  const body = { ...new_patient, last_name: 'Amended', insurance_name: 'Mock Mutual' };
  const accepted = await api.call('POST', '/v1/patients', { body });
  await until('the patient to be sent', async () => (await patientsNamed('Amended')).length > 0);
  const { patient_id } = accepted.body;
  const change = { responsible_party: 'spouse', ...person };
  const amended = await api.call('PATCH', `/v1/patients/${patient_id}`, { body: change });
  server.faults.latency_ms = 0;
  expect(amended.status, JSON.stringify(amended.body)).toBe(200);
  const { data } = await api.untilEvent(accepted.body.job_id);
  const guarantor = await until('the guarantor', async () => {
    const search = { search_by: 'mrn', mrn: data.mrn, include: 'insurances' };
    const fetched = await awaitEvent(await api.call('POST', '/v1/patients/fetch', { body: search }));
    const [first] = fetched.data.guarantors;
    return first && { first, insurances: fetched.data.insurances };
  });
  expect(guarantor).toMatchObject({
    first: { name: 'Pat Second', relationship: 'spouse' },
    insurances: [{ guarantor_id: guarantor.first.id }],
  });
});

test('a field that the EMR does not support is rejected by name, and nothing is created', async () => {
  const body = { ...new_patient, last_name: 'Checker', check_eligibility: 'true' };
  const rejected = await api.call('POST', '/v1/patients', { body });
  expect(rejected).toMatchObject({
    status: 400,
    body: { message: "Field 'check_eligibility' is not supported by this EMR.", field: 'check_eligibility' },
  });
  const accepted = await api.call('POST', '/v1/patients', { body: { ...body, check_eligibility: 'false' } });
  expect(await awaitEvent(accepted)).toMatchObject({ event_type: 'patient.created' });
  expect(await patientsNamed('Checker')).toHaveLength(1);
});

test.each([
  ['with conditional creates', true],
  ['without conditional creates', false],
])(
  'a patient whose responses were lost is created once, with one insurance, on a server %s',
  async (_server, conditional) => {
    server.faults.conditional_create = conditional;
    const last_name = conditional ? 'Lostonce' : 'Lostasked';
    server.fail({ kind: 'reset', method: 'POST', path: '/Patient', performed: true });
    server.fail({ kind: 'reset', method: 'POST', path: '/Coverage', performed: true });
    const body = { ...new_patient, last_name, insurance_name: 'Mock Mutual', insurance_subscriber_number: 'LOST-1' };
    const { body: accepted } = await api.call('POST', '/v1/patients', { body });
    const event = await until('the patient to be created', async () => {
      await endPauses(fixture.owner);
      const response = await api.call('GET', `/v1/webhook-events?job_id=${accepted.job_id}`);
      return response.body.webhook_events?.[0];
    });
    expect(event.event_type).toBe('patient.created');
    const [stored, ...others] = await patientsNamed(last_name);
    expect(others).toStrictEqual([]);
    const coverages = await server.resources<fhir.Coverage>('Coverage');
    expect(coverages.filter(({ beneficiary }) => beneficiary.reference === `Patient/${stored?.id}`)).toHaveLength(1);
  },
);
