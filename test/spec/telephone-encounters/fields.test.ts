import { beforeAll, expect, test } from 'vitest';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, signInToLarkspur } from '../../journeys/support.ts';
import { expectCallRejected, expectRejected, not_strings } from '../support/expectErrors.ts';

let fixture: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
});

/** Creates a telephone encounter and returns it from the chart. */
async function recorded(fields: Record<string, unknown>) {
  const accepted = await fixture.api.callIn(fields);
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const event = await fixture.api.untilEvent(accepted.body.job_id);
  expect(event.event_type).toBe('telephone_encounter.created');
  return chart.encounter(event.data.emr_encounter_id);
}

async function expectRequiredString(field: string): Promise<void> {
  for (const absent of [undefined, null, '']) {
    await expectCallRejected(fixture, { [field]: absent }, { message: `Missing required field: ${field}`, field });
  }
  await expectStringOnly(field);
}

async function expectStringOnly(field: string): Promise<void> {
  for (const value of not_strings) {
    await expectCallRejected(fixture, { [field]: value }, { message: new RegExp(`^${field} `), field });
  }
}

test(row('TEL-01'), async () => {
  const { body } = await fixture.api.call('GET', '/link/emrs', { headers: { access_token: null } });
  const able = body.emrs.filter((emr: { capabilities: string[] }) =>
    emr.capabilities.includes('createTelephoneEncounter'),
  );
  // Some FHIR servers can store them, too, and so does OpenEMR. The text is for those that cannot.
  const names = able.map((emr: { display_name: string }) => emr.display_name);
  expect(names).toStrictEqual(['Larkspur', 'FHIR R4', 'OpenEMR']);
  expect((await recorded({})).mrn).toBe(fixture.sandbox.example.patient_mrn);
  const { api } = await fhirAccount(fixture);
  const message = 'Telephone encounters are only supported for Larkspur EMR.';
  await expectRejected(fixture, () => api.callIn(), { message });
});

test(row('TEL-02'), async () => {
  await expectRequiredString('patient_mrn');
  expect((await recorded({ patient_mrn: 'LK100007' })).mrn).toBe('LK100007');
});

test(row('TEL-03'), async () => {
  await expectRequiredString('provider_id');
  expect((await recorded({ provider_id: '503' })).providerId).toBe('503');
  const { body } = await fixture.api.control('POST', '/control/providers', { displayName: 'Not Synced, MD' });
  for (const provider_id of ['599', body.providerId]) {
    const message = `Provider with EMR ID '${provider_id}' not found.`;
    await expectCallRejected(fixture, { provider_id }, { status: 404, message, field: 'provider_id' });
  }
});

test(row('TEL-04'), async () => {
  await expectRequiredString('location_id');
  expect((await recorded({ location_id: '12' })).facilityId).toBe('12');
  const { body } = await fixture.api.control('POST', '/control/facilities', { name: 'Not Synced' });
  for (const location_id of ['99', body.facilityId]) {
    const message = `Location with EMR ID '${location_id}' not found.`;
    await expectCallRejected(fixture, { location_id }, { status: 404, message, field: 'location_id' });
  }
});

test(row('TEL-05'), async () => {
  await expectRequiredString('assigned_to_id');
  const { body } = await fixture.api.call('GET', '/v1/staff');
  const listed: string[] = body.staff.map(({ ehr_id }: { ehr_id: string }) => ehr_id);
  expect(listed).toContain('704');
  expect((await recorded({ assigned_to_id: '704' })).assignedTo).toBe('704');
  expect(listed).not.toContain('799');
  const message = "Staff member with ID '799' not found.";
  await expectCallRejected(fixture, { assigned_to_id: '799' }, { status: 404, message, field: 'assigned_to_id' });
});

test(row('TEL-06'), async () => {
  expect((await recorded({ reason: 'Cough – “since Monday” 💊' })).reason).toBe('Cough – “since Monday” 💊');
  expect((await recorded({})).reason).toBeNull();
  await expectStringOnly('reason');
});

test(row('TEL-07'), async () => {
  const { refills } = await recorded({ refill_medication_name: 'Lisinopril 10 mg' });
  expect(refills).toMatchObject([{ medicationName: 'Lisinopril 10 mg' }]);
  expect((await recorded({})).refills).toStrictEqual([]);
  await expectStringOnly('refill_medication_name');
});

test(row('TEL-08'), async () => {
  const { body } = await fixture.api.call('GET', '/v1/pharmacies');
  const listed: string[] = body.pharmacies.map(({ ehr_id }: { ehr_id: string }) => ehr_id);
  expect(listed).toContain('9003');
  expect((await recorded({ pharmacy_ehr_id: '9003' })).pharmacyId).toBe('9003');
  expect((await recorded({})).pharmacyId).toBeNull();
  expect(listed).not.toContain('9999');
  const message = "Pharmacy with EMR ID '9999' not found.";
  await expectCallRejected(fixture, { pharmacy_ehr_id: '9999' }, { status: 404, message, field: 'pharmacy_ehr_id' });
  await expectStringOnly('pharmacy_ehr_id');
});

test(row('TEL-09'), async () => {
  expect((await recorded({ caller: 'Zoë Ångström' })).caller).toBe('Zoë Ångström');
  expect((await recorded({})).caller).toBeNull();
  await expectStringOnly('caller');
});

test(row('TEL-10'), async () => {
  const message = 'Line one\nLine two — “quoted” 💊';
  expect((await recorded({ message })).message).toBe(message);
  expect((await recorded({})).message).toBeNull();
  await expectStringOnly('message');
});

test(row('TEL-11'), async () => {
  expect((await recorded({ is_high_priority: 'true' })).priority).toBe('H');
  expect((await recorded({ is_high_priority: 'false' })).priority).toBe('N');
  expect((await recorded({})).priority).toBe('N');
  expect((await recorded({ is_high_priority: true })).priority).toBe('H');
  expect((await recorded({ is_high_priority: false })).priority).toBe('N');
  for (const is_high_priority of [1, 0, 'TRUE', 'yes', '1']) {
    const refused = { message: /^is_high_priority must be /, field: 'is_high_priority' };
    await expectCallRejected(fixture, { is_high_priority }, refused);
  }
});

test(row('TEL-12'), async () => {
  expect((await recorded({ template_name: 'Telephone call' })).templateName).toBe('Telephone call');
  expect((await recorded({})).templateName).toBeNull();
  await expectStringOnly('template_name');
});

test(row('TEL-13'), async () => {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = fixture.sandbox.example;
  const body = { patient_mrn, provider_id, location_id, assigned_to_id };
  const response = await fixture.api.call('POST', '/v1/telephone-encounters', { body });
  expect(response.status).toBe(200);
  const event = await fixture.api.untilEvent(response.body.job_id);
  expect(event.event_type).toBe('telephone_encounter.created');
  expect(await chart.encounter(event.data.emr_encounter_id)).toMatchObject({
    mrn: patient_mrn,
    providerId: provider_id,
  });
});

test(row('TEL-14'), async () => {
  const { status, body } = await fixture.api.callIn();
  expect(status).toBe(200);
  expect(body).toStrictEqual({
    success: true,
    message: expect.any(String),
    telephone_encounter_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
  expect(Number.isSafeInteger(body.job_id)).toBe(true);
  const event = await fixture.api.untilEvent(body.job_id);
  expect(event.data.telephone_encounter_id).toBe(body.telephone_encounter_id);
});

test(row('TEL-15'), async () => {
  const { body } = await fixture.api.callIn();
  expect(body.message).toMatch(/webhook event follows on completion/i);
  await fixture.api.untilEvent(body.job_id);
});

test('saves all fields together, in the name of the user who linked the account', async () => {
  const { example } = fixture.sandbox;
  const encounter = await recorded({
    reason: 'Cough since Monday',
    pharmacy_ehr_id: '9003',
    caller: 'Zoë Ångström',
    message: 'Line one\nLine two — “quoted” 💊',
    is_high_priority: 'true',
    template_name: 'Telephone call',
  });
  expect(encounter).toMatchObject({
    mrn: example.patient_mrn,
    providerId: example.provider_id,
    facilityId: example.location_id,
    assignedTo: example.assigned_to_id,
    reason: 'Cough since Monday',
    caller: 'Zoë Ångström',
    message: 'Line one\nLine two — “quoted” 💊',
    priority: 'H',
    pharmacyId: '9003',
    templateName: 'Telephone call',
    refills: [],
    actions: [],
    createdBy: 'Avery Deskwell',
  });
});

test('the event of a call without optional fields has a null reason, and polling returns the whole envelope', async () => {
  const { example, access_token_reference_id } = fixture.sandbox;
  const { body } = await fixture.api.callIn();
  const event = await fixture.api.untilEvent(body.job_id);
  expect(event).toStrictEqual({
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    event_id: event.id,
    object: 'event',
    created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    created_at: event.created,
    type: 'telephone_encounter.created',
    event_type: 'telephone_encounter.created',
    job_id: String(body.job_id),
    access_token_reference_id,
    delivery_status: null,
    data: {
      telephone_encounter_id: body.telephone_encounter_id,
      emr_encounter_id: expect.any(String),
      patient_mrn: example.patient_mrn,
      provider_id: example.provider_id,
      location_id: example.location_id,
      assigned_to_id: example.assigned_to_id,
      reason: null,
    },
  });
});
