import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { setFault, signInToLarkspur } from '../../journeys/support.ts';
import { isoDay } from '../support/emrRecords.ts';
import { fetchLive } from '../support/fetchLive.ts';

type Body = ApiResponse['body'];

const ehr_id = '10001';
/** Larkspur codes and the values that the API returns for them. */
const relationships = { '1': 'self', '2': 'spouse', '53': 'spouse', '3': 'child', '13': 'child', '18': 'other' };

let fixture: TestSandbox;
let mrn: string;
/** The live-fetched patient, with insurances. */
let complete: Body;
let medications: Body[];
let pharmacies: Body[];
const rows = async (kind: string): Promise<Body[]> =>
  (await fixture.api.control('GET', `/control/${kind}?patientId=${ehr_id}`)).body.rows;
const fetched = async (more: object = {}) => (await fetchLive(fixture.api, { search_by: 'mrn', mrn, ...more })).data;

beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  mrn = fixture.sandbox.example.patient_mrn;
  const { control } = fixture.api;
  for (const relationshipCode of Object.keys(relationships)) {
    const person = { patientId: ehr_id, firstName: 'Robin', lastName: `Payer${relationshipCode}` };
    const own = { birthDate: '02/03/1961', guarantorIsPatient: relationshipCode === '1' ? 'Y' : 'N' };
    await control('POST', '/control/guarantors', { ...person, ...own, relationshipCode });
  }
  const [payer] = await rows('guarantors');
  const [first, second] = await rows('patient-insurances');
  await control('PATCH', `/control/patient-insurances/${first.insuranceId}`, {
    guarantorId: payer.guarantorId,
    guarantorIsPatient: 'N',
    relationshipCode: '02',
  });
  const unknown = { copayment: null, relationshipCode: null, guarantorId: null, guarantorIsPatient: 'Y' };
  await control('PATCH', `/control/patient-insurances/${second.insuranceId}`, unknown);
  await control('PATCH', `/control/alerts/${ehr_id}`, { billingAlert: 'Y', billingNotes: 'Ask for the new card.' });
  await control('PATCH', `/control/balances/${ehr_id}`, { patientBalance: '42.50', accountBalance: '1307.09' });
  const chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  medications = (await chart.read(`/api/patients/${ehr_id}/medications`)).rows;
  await fixture.api.untilEvent(
    (await fixture.api.callIn({ refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9002' })).body.job_id,
  );
  pharmacies = (await chart.read(`/api/patients/${ehr_id}/pharmacies`)).rows;
  complete = await fetched({ include: 'insurances' });
});
afterAll(() => fixture.close());

test(row('LFP-01'), async () => {
  const [patient] = (await fixture.api.control('GET', `/control/patients?mrn=${mrn}`)).body.rows;
  expect(patient.primaryInsuranceName).toMatch(/\w/);
  expect(complete).toMatchObject({
    insurance_name: patient.primaryInsuranceName,
    insurance_subscriber_number: patient.primarySubscriberNumber,
  });
});

test(row('LFP-03'), async () => {
  expect(await fetched()).not.toHaveProperty('insurances');
  expect(await fetched({ include: [] })).not.toHaveProperty('insurances');
  expect(await fetched({ include: '' })).not.toHaveProperty('insurances');
  expect(complete.insurances).toHaveLength(2);
});

test(row('LFP-04'), async () => {
  const fhir = await fhirAccount(fixture);
  const search = { search_by: 'mrn', mrn: fhir.mrn };
  const response = await fhir.api.call('POST', '/v1/patients/fetch', { body: { ...search, include: 'insurances' } });
  expectApiError(response, 400, "Field 'include' is only supported for Larkspur EMR.", 'include');
  const { event_type, data } = await fetchLive(fhir.api, search);
  expect([event_type, data.mrn]).toStrictEqual(['patient.live_fetch_completed', fhir.mrn]);
  expect(data).not.toHaveProperty('insurances');
  expect(complete).toHaveProperty('insurances');
});

test(row('LFP-05'), async () => {
  const known = (await rows('patient-insurances')).map(({ insuranceId }) => insuranceId);
  const fetchedIds = async () =>
    (await fetched({ include: 'insurances' })).insurances.map((each: Body) => each.emr_insurance_id);
  expect(complete.insurances.map((each: Body) => each.emr_insurance_id)).toStrictEqual(known);
  expect(await fetchedIds()).toStrictEqual(known);
  const body = { member_id: 'TST100001' };
  const path = `/v1/patients/${mrn}/insurances/${known[0]}`;
  const { job_id } = (await fixture.api.call('PATCH', path, { body })).body;
  const event = await fixture.api.untilEvent(job_id);
  expect([event.event_type, event.data.emr_insurance_id]).toStrictEqual(['patient.insurance.updated', known[0]]);
  expect(await fetchedIds()).toStrictEqual(known);
});

test(row('LFP-06'), async () => {
  const known = (await rows('patient-insurances')).map(({ priority }) => priority);
  expect(known).toStrictEqual([1, 2]);
  expect(complete.insurances.map(({ priority }: Body) => priority)).toStrictEqual(known);
});

test(row('LFP-07'), async () => {
  const known = await rows('patient-insurances');
  for (const [n, each] of known.entries()) {
    expect(complete.insurances[n]).toMatchObject({
      insurance_ehr_id: each.companyId,
      insurance_name: each.companyName,
      insurance_subscriber_number: each.subscriberNumber,
      group_id: each.groupNumber,
      plan_begin_date: isoDay(each.planBegins),
    });
    for (const field of ['insurance_ehr_id', 'insurance_name', 'insurance_subscriber_number', 'group_id']) {
      expect(complete.insurances[n][field]).toEqual(expect.any(String));
    }
  }
});

test(row('LFP-08'), async () => {
  const [{ guarantorId, copayment }] = await rows('patient-insurances');
  const [first, second] = complete.insurances;
  expect(first).toMatchObject({ copayment, relationship_to_subscriber: '02', guarantor_id: guarantorId });
  expect([typeof copayment, typeof guarantorId]).toStrictEqual(['string', 'string']);
  expect(second).toMatchObject({ copayment: null, relationship_to_subscriber: null, guarantor_id: null });
});

test(row('LFP-09'), () => {
  expect(complete.insurances.map((each: Body) => each.is_guarantor_patient)).toStrictEqual([false, true]);
});

test(row('LFP-10'), async () => {
  const known = await rows('guarantors');
  expect(known).toHaveLength(6);
  expect(complete.guarantors.map(({ id, name, dob }: Body) => ({ id, name, dob }))).toStrictEqual(
    known.map((each) => ({ id: each.guarantorId, name: `Robin ${each.lastName}`, dob: '1961-02-03' })),
  );
});

test(row('LFP-11'), () => {
  const fetched_relationships = complete.guarantors.map(({ name, relationship }: Body) => [
    name.slice('Robin Payer'.length),
    relationship,
  ]);
  expect(Object.fromEntries(fetched_relationships)).toStrictEqual(relationships);
});

test(row('LFP-12'), () => {
  for (const { relationship, is_guarantor_patient } of complete.guarantors) {
    expect(is_guarantor_patient).toBe(relationship === 'self');
  }
});

test(row('LFP-13'), async () => {
  await setFault(fixture.api, 'list_guarantors', 'error_500');
  const event = await fetchLive(fixture.api, { search_by: 'mrn', mrn });
  expect(event.event_type).toBe('patient.live_fetch_completed');
  expect(event.data).toMatchObject({ success: true, mrn, guarantors: [] });
});

test(row('LFP-14'), () => {
  expect(complete).toMatchObject({ patient_balance: 42.5, account_balance: 1307.09 });
});

test(row('LFP-15'), async () => {
  await setFault(fixture.api, 'get_balances', 'error_500');
  const event = await fetchLive(fixture.api, { search_by: 'mrn', mrn });
  expect(event.event_type).toBe('patient.live_fetch_completed');
  expect(event.data).toMatchObject({ mrn, patient_balance: null, account_balance: null });
});

test(row('LFP-16'), async () => {
  expect(complete.alerts).toMatchObject({ billing_alert: true, billing_notes: 'Ask for the new card.' });
  // A patient without alerts.
  const quiet = (await fixture.api.control('POST', '/control/patients', { firstName: 'Q', lastName: 'Quiet' })).body
    .mrn;
  const { alerts } = await fetched({ mrn: quiet });
  expect(alerts).toStrictEqual({ billing_alert: false, billing_notes: null, global_alerts: [] });
});

test(row('LFP-17'), async () => {
  const [{ globalAlerts }] = await rows('alerts');
  expect(globalAlerts.length).toBeGreaterThan(0);
  expect(complete.alerts.global_alerts).toStrictEqual(
    globalAlerts.map((each: Body) => ({
      name: each.name,
      alert_type: each.alertType,
      notes: each.notes,
      priority: each.priority,
      expiry_date: each.expiryDate && isoDay(each.expiryDate),
    })),
  );
});

test(row('LFP-18'), async () => {
  await setFault(fixture.api, 'get_alerts', 'error_500');
  const event = await fetchLive(fixture.api, { search_by: 'mrn', mrn });
  expect(event.event_type).toBe('patient.live_fetch_completed');
  expect(event.data).toMatchObject({ mrn, alerts: null });
});

test(row('LFP-19'), () => {
  const taken = medications.filter(({ activeFlag }) => activeFlag === 'Y');
  expect([taken.length, medications.length]).toStrictEqual([2, 3]);
  expect(complete.medications.map(({ name }: Body) => name)).toStrictEqual(taken.map(({ name }) => name));
});

test(row('LFP-20'), () => {
  const taken = medications.filter(({ activeFlag }) => activeFlag === 'Y');
  for (const [n, { name, strength, frequency, notes, refills }] of taken.entries()) {
    expect(complete.medications[n]).toMatchObject({ name, strength, frequency, notes, refills });
    expect(complete.medications[n].refills).toMatch(/^\d+$/);
  }
});

test(row('LFP-21'), () => {
  const taken = medications.filter(({ activeFlag }) => activeFlag === 'Y');
  expect(complete.medications.map((each: Body) => each.start_date)).toStrictEqual(taken.map((each) => each.startDate));
  for (const { start_date } of complete.medications) expect(start_date).toMatch(/^(0[1-9]|1[0-2])\/[0-3]\d\/\d{4}$/);
});

test(row('LFP-22'), () => {
  expect(pharmacies).toHaveLength(2);
  expect(complete.pharmacies.map(({ is_primary: _, ...shown }: Body) => shown)).toStrictEqual(
    pharmacies.map(({ pharmacyId, name, phone, address }) => ({
      pharmacy_id: pharmacyId,
      name,
      address: address.line1,
      city: address.city,
      state: address.state,
      zip: address.zip,
      phone,
    })),
  );
});

test(row('LFP-23'), () => {
  const known = pharmacies.map(({ primaryFlag }) => (primaryFlag === 'Y' ? '1' : '0'));
  expect(new Set(known)).toStrictEqual(new Set(['0', '1']));
  expect(complete.pharmacies.map((each: Body) => each.is_primary)).toStrictEqual(known);
});
