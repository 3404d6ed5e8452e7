import type * as fhir from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { linkSteps } from '../api/linkSteps.ts';
import { type Api, openApi } from '../harness/api.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { endPauses, until } from './journey.ts';

let world: TestSandbox;
let server: FhirServer;
let api: Api;
beforeAll(async () => {
  [world, server] = await Promise.all([startSandbox({ small: true }), startFhirServer({ data: 'small' })]);
  const steps = linkSteps(world);
  const token = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
  const credentials = { way: 'client_secret', ...server.clients.confidential };
  const { body } = await steps.signIn(token, 0, { credentials, one_time_code: undefined });
  const access_token = (await steps.exchange(body.public_token)).body.token;
  api = openApi({ ...world.sandbox, access_token });
  await until('the first sync', async () => (await api.call('GET', '/v1/claims')).body.pagination?.total_count);
});
afterEach(() => server.reset());
afterAll(async () => {
  await world.close();
  await server.close();
});

const newcomer = {
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

async function ended(answer: { status: number; body: { job_id: number } }) {
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return api.untilEvent(answer.body.job_id);
}

/** Patients of that name in the server itself. */
async function named(family: string): Promise<fhir.Patient[]> {
  const all = await server.resources<fhir.Patient>('Patient');
  return all.filter(({ name }) => name?.[0]?.family === family);
}

test('a patient is created, changed and shown with what the server says it saved', async () => {
  const created = await ended(await api.call('POST', '/v1/patients', { body: newcomer }));
  expect(created.event_type).toBe('patient.created');
  const { patient_id, mrn } = created.data;
  const body = { cell_phone: '518-555-0143', address_city: 'Newtown' };
  const updated = await ended(await api.call('PATCH', `/v1/patients/${patient_id}`, { body }));
  expect(updated).toMatchObject({ event_type: 'patient.updated', data: { patient_id, mrn } });
  expect(updated.data.audit_trail).toStrictEqual([
    { field_label: 'Cell phone', before: null, after: '518-555-0143', property: 'cell_phone' },
    { field_label: 'City', before: 'Exampleton', after: 'Newtown', property: 'address_city' },
  ]);
  const [shown] = (await api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients;
  expect(shown).toMatchObject({ ...newcomer, ...body, status: 'active' });
  const [stored] = await named('Changer');
  expect(stored?.address?.map(({ use, city }) => [use, city])).toStrictEqual([
    ['home', 'Newtown'],
    ['old', 'Exampleton'],
  ]);
});

test('an insurance is added and changed, and the live fetch shows it', async () => {
  const mrn = 'MB100003';
  const added = await ended(
    await api.call('POST', `/v1/patients/${mrn}/insurances`, {
      body: { member_id: 'CHG-1', insurance_name: 'Mock Mutual', priority: '3', copayment: 15 },
    }),
  );
  expect(added).toMatchObject({ event_type: 'patient.insurance.added', data: { member_id: 'CHG-1', copayment: 15 } });
  const { emr_insurance_id } = added.data;
  const changed = await ended(
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
  expect(trail).toContainEqual(['relationship_to_subscriber', null, '02']);
  expect(trail).toContainEqual(['subscriber_demographics.first_name', null, 'Kit']);
  const coverages = await server.resources<fhir.Coverage>('Coverage');
  expect(coverages.find(({ id }) => id === emr_insurance_id)).toMatchObject({ subscriberId: 'CHG-2', order: 3 });
});

test('what the EMR has no place for fails by its name, and the patient can be put right', async () => {
  const body = { ...newcomer, last_name: 'Checker', check_eligibility: 'true' };
  const failed = await ended(await api.call('POST', '/v1/patients', { body }));
  expect(failed).toMatchObject({
    event_type: 'patient.failed',
    data: { failure_reason: "This EMR does not support 'check_eligibility'." },
  });
  const { patient_id } = failed.data;
  const again = await api.call('PATCH', `/v1/patients/${patient_id}`, { body: { check_eligibility: 'false' } });
  expect(await ended(again)).toMatchObject({ event_type: 'patient.created', data: { patient_id } });
  expect(await named('Checker')).toHaveLength(1);
});

test.each([
  ['that creates once by itself', true],
  ['that must be asked', false],
])(
  'a patient whose answers were lost stands once, with one insurance, on a server %s',
  async (_server, conditional) => {
    server.faults.conditional_create = conditional;
    const last_name = conditional ? 'Lostonce' : 'Lostasked';
    server.fail({ kind: 'reset', method: 'POST', path: '/Patient', performed: true });
    server.fail({ kind: 'reset', method: 'POST', path: '/Coverage', performed: true });
    const body = { ...newcomer, last_name, insurance_name: 'Mock Mutual', insurance_subscriber_number: 'LOST-1' };
    const { body: accepted } = await api.call('POST', '/v1/patients', { body });
    const event = await until('the patient to be created', async () => {
      await endPauses(world.owner);
      const found = await api.call('GET', `/v1/webhook-events?job_id=${accepted.job_id}`);
      return found.body.webhook_events?.[0];
    });
    expect(event.event_type).toBe('patient.created');
    const [stored, ...others] = await named(last_name);
    expect(others).toStrictEqual([]);
    const coverages = await server.resources<fhir.Coverage>('Coverage');
    expect(coverages.filter(({ beneficiary }) => beneficiary.reference === `Patient/${stored?.id}`)).toHaveLength(1);
  },
);
