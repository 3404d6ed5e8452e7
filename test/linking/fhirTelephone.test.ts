import type * as fhir from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../api/support.ts';
import type { Api } from '../harness/api.ts';
import { linkFhir } from '../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let fixture: TestSandbox;
let server: FhirServer;
let api: Api;
beforeAll(async () => {
  [fixture, server] = await Promise.all([startSandbox({ small: true }), startFhirServer({ data: 'small' })]);
  await server.storeUnchecked({
    resourceType: 'MedicationRequest',
    id: 'rx-refillable',
    status: 'active',
    intent: 'order',
    subject: { reference: 'Patient/pat-1' },
    medicationCodeableConcept: { text: 'Synthetium 10 mg' },
  });
  api = await linkFhir(fixture, server, { user_id: 'phone', org_id: 'phone' });
  await api.sync();
});
afterEach(() => server.reset());
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const ids = { patient_mrn: 'MB100001', provider_id: 'prac-1', location_id: 'loc-1', assigned_to_id: 'staff-1' };
const refill = { refill_medication_name: 'Synthetium', pharmacy_ehr_id: 'pharm-1' };
const encounterWith = async (id: string) =>
  (await server.resources<fhir.Encounter>('Encounter')).find((each) => each.id === id);

test('a telephone encounter with a refill, and an action, are written to a FHIR server', async () => {
  const accepted = await api.callIn({ ...ids, ...refill, message: 'Synthetic message' });
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const { event_type, data } = await api.untilEvent(accepted.body.job_id);
  expect([event_type, data.refill_medication_name]).toEqual(['telephone_encounter.created', 'Synthetium 10 mg']);
  const { emr_encounter_id } = data;
  expect(await encounterWith(emr_encounter_id)).toMatchObject({ class: { code: 'VR' } });
  const prescriptions = await server.resources<fhir.MedicationRequest>('MedicationRequest');
  expect(prescriptions.filter(({ intent }) => intent === 'proposal')).toMatchObject([
    {
      priorPrescription: { reference: 'MedicationRequest/rx-refillable' },
      dispenseRequest: { performer: { reference: 'Organization/pharm-1' } },
    },
  ]);
  const body = { emr_appointment_id: emr_encounter_id, text: 'Called back.' };
  const action = await api.call('POST', '/v1/telephone-encounters/actions', { body });
  expect((await api.untilEvent(action.body.job_id)).event_type).toBe('telephone_encounter_action.created');
  const notes = await server.resources<fhir.Communication>('Communication');
  expect(notes.map(({ payload }) => payload?.[0]?.contentString)).toEqual([
    expect.stringMatching(/ \d\d\/\d\d\/\d{4} .*: Called back\.$/),
  ]);
});

test('an encounter whose refill the server refuses is reported as created partially', async () => {
  server.faults.refused_writes = { MedicationRequest: { create: 422 } };
  const accepted = await api.callIn({ ...ids, ...refill });
  const { event_type, data } = await api.untilEvent(accepted.body.job_id);
  expect(event_type).toBe('telephone_encounter.created_partial');
  expect(await encounterWith(data.emr_encounter_id)).toBeDefined();
});

test('a server without refills takes telephone encounters, and refuses the field of a refill by name', async () => {
  server.faults.withheld = { MedicationRequest: ['create'], Task: 'all' };
  const other = await linkFhir(fixture, server, { user_id: 'no-refills', org_id: 'no-refills' });
  await other.sync();
  const field = 'refill_medication_name';
  expectApiError(
    await other.callIn({ ...ids, ...refill }),
    400,
    `Field '${field}' is not supported by this EMR.`,
    field,
  );
  const accepted = await other.callIn({ ...ids, pharmacy_ehr_id: 'pharm-1' });
  expect((await other.untilEvent(accepted.body.job_id)).event_type).toBe('telephone_encounter.created');
});

test('a field that FHIR has no place for is refused by name', async () => {
  const response = await api.callIn({ ...ids, template_name: 'Synthetic template' });
  expectApiError(response, 400, "Field 'template_name' is not supported by this EMR.", 'template_name');
});
