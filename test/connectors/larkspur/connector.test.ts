import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectors } from '../../../src/emr/index.ts';
import { larkspur } from '../../../src/emr/larkspur/larkspur.ts';
import { createOutbound } from '../../../src/platform/security/outbound.ts';
import {
  awaitFailure,
  collect,
  createEndpoint,
  createOperations,
  type LarkspurFixture,
  openFixture,
  signedInGrant,
} from './fixture.ts';

let fixture: LarkspurFixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

test('is registered by its name', () => {
  expect(connectors.get('larkspur')).toBe(larkspur);
});

test('opens exactly the operations that it declares', () => {
  const operations = larkspur.open(createEndpoint('https://emr.example'), {
    credentials: {},
    grant: {},
    saveGrant: async () => {},
  });
  expect(Object.keys(operations).sort()).toEqual([...larkspur.capabilities].sort());
});

test.each(['https://emr.example', 'https://emr.example/', 'http://127.0.0.1:8085'])(
  'accepts the address %s',
  (address) => {
    expect(larkspur.refuseAddress(new URL(address))).toBeUndefined();
  },
);

test.each([
  'https://emr.example/api',
  'https://emr.example/?practice=1',
  'https://emr.example/?',
  'https://emr.example/a/',
])('refuses the address %s', (address) => {
  expect(larkspur.refuseAddress(new URL(address))).toBe('must be the address of the practice without a path.');
});

test('an address that is not allowed is refused and not retried', async () => {
  const endpoint = { ...createEndpoint('http://10.0.0.1'), outbound: createOutbound({ sandbox: false, allow: [] }) };
  const { emr } = createOperations(endpoint, {}, {});
  const failure = await awaitFailure(collect(emr.listStaff()));
  expect(failure).toMatchObject({
    kind: 'refused',
    code: 'emr_address_refused',
    message: 'The address of the EMR is not allowed.',
  });
});

test.each(['http://127.0.0.1:9', 'http://127.0.0.1:9/'])(
  'an unreachable %s is unavailable, for a write too',
  async (address) => {
    const { emr } = createOperations(createEndpoint(address), {}, {});
    const expected = { kind: 'unavailable', message: 'Larkspur cannot be reached.' };
    expect(await awaitFailure(emr.findPatient('LK100001'))).toMatchObject(expected);
    const input = { patient_ehr_id: '10001', pharmacy_ehr_id: '9002' };
    expect(await awaitFailure(emr.addPatientPharmacy.send(input, 'm-1'))).toMatchObject(expected);
  },
);

test('a telephone encounter with a refill at a new pharmacy is stored as sent', async () => {
  const endpoint = createEndpoint(fixture.emr.url);
  const grant = await signedInGrant(fixture);
  const { emr } = createOperations(endpoint, fixture.credentials, grant);
  const { example } = fixture.emr;
  const patient = await emr.findPatient(example.patient_mrn);
  const patient_ehr_id = patient?.ehr_id ?? '';
  const [medication] = await emr.listMedications(patient_ehr_id);
  expect(medication).toMatchObject({ ehr_id: '20001', name: 'Lisinopril 10 mg', strength: '10 mg', active: true });

  const pharmacy_ehr_id = example.pharmacy_ehr_id;
  await emr.addPatientPharmacy.send({ patient_ehr_id, pharmacy_ehr_id }, 'chart-pharmacy');
  expect(await emr.listPatientPharmacies(patient_ehr_id)).toContainEqual(
    expect.objectContaining({ ehr_id: pharmacy_ehr_id, is_primary: '0' }),
  );

  const input = {
    patient_ehr_id,
    provider_ehr_id: example.provider_id,
    location_ehr_id: example.location_id,
    assigned_to_ehr_id: example.assigned_to_id,
    high_priority: true,
    reason: 'Refill',
    caller: 'Björn',
    message: 'Line one\nLine two',
    pharmacy_ehr_id,
    template_name: null,
  };
  const encounter = await emr.createTelephoneEncounter.send(input, 'chart-call');
  const refill = { encounter_ehr_id: encounter.ehr_id, medication_ehr_id: '20001', pharmacy_ehr_id };
  await emr.addRefill.send(refill, 'chart-refill');

  const response = await fetch(`${fixture.emr.url}/api/telephone-encounters/${encounter.ehr_id}`, {
    headers: { authorization: `Bearer ${grant.session_token}` },
  });
  expect(await response.json()).toMatchObject({
    patientId: patient_ehr_id,
    providerId: '501',
    facilityId: '11',
    assignedTo: '703',
    priority: 'H',
    reason: 'Refill',
    caller: 'Björn',
    message: 'Line one\nLine two',
    pharmacyId: '9002',
    templateName: null,
    refills: [{ medicationId: '20001', pharmacyId: '9002' }],
  });
});

test('an id is encoded as one path segment', async () => {
  const { emr } = createOperations(createEndpoint(fixture.emr.url), fixture.credentials, await signedInGrant(fixture));
  const failure = await awaitFailure(emr.listMedications('10001/medications?x=#'));
  const message = "No patient with id '10001/medications?x=#'.";
  expect(failure).toMatchObject({ kind: 'not_found', code: 'patient_not_found', message });
  expect(await emr.addRefill.find?.('a/b ?', refillInput)).toBeUndefined();
});

const refillInput = { encounter_ehr_id: '1', medication_ehr_id: '1', pharmacy_ehr_id: null };
