import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../../harness/api.ts';
import { row } from '../../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../../harness/sandbox.ts';
import { setFault, until } from '../../../journeys/support.ts';
import { fetchLive } from '../../support/fetchLive.ts';
import { sendDocument } from '../../support/sendDocument.ts';

type Body = ApiResponse['body'];

let fixture: TestSandbox;
/** A patient and an appointment with the required fields only. */
let bare: Body;
let bare_visit: Body;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const add = async (kind: string, record: object) => {
    const { status, body } = await fixture.api.control('POST', `/control/${kind}`, record);
    expect(status, JSON.stringify(body)).toBe(201);
    return body;
  };
  bare = await add('patients', { firstName: 'Bare', lastName: 'Newcomer' });
  const { patientId } = bare;
  await add('providers', { displayName: 'Bare Provider' });
  await add('facilities', { name: 'Bare House' });
  await add('staff', { displayName: 'Bare Staff' });
  await add('pharmacies', { name: 'Bare Pharmacy' });
  await add('insurance-companies', { name: 'Bare Mutual' });
  await add('referring-providers', { firstName: 'Bare', lastName: 'Referrer' });
  const visit = { patientId, providerId: '501', facilityId: '11', startsAt: '01/02/2026 08:30' };
  const { appointmentId } = await add('appointments', visit);
  await add('orders', { patientId, providerId: '501', orderDate: '01/02/2026', name: 'Bare order' });
  const { mrn } = bare;
  await add('claims', { patientId, mrn, providerId: '501', serviceDate: '01/02/2026', claimDate: '01/02/2026' });
  await fixture.api.sync();
  const [stored] = await fixture.owner`SELECT id FROM appointments WHERE ehr_id = ${appointmentId}`;
  bare_visit = (await fixture.api.call('GET', `/v1/appointments/${stored?.id}`)).body.appointment;
});
afterAll(() => fixture.close());

const words = (text: string) => text.split(/\s+/).filter(Boolean);
const address = 'address_street address_city address_state address_zip';
const resources: Record<string, string[]> = {
  providers: words('id ehr_id name npi timezone status hide_in_availability hours'),
  locations: words('id ehr_id name status address phone fax'),
  staff: words('id ehr_id name role status'),
  pharmacies: words('id ehr_id name address phone email status'),
  patients: words(`id ehr_id mrn status first_name middle_name last_name dob sex phone cell_phone email ${address}
    address_line2 insurance_name insurance_subscriber_number created_at updated_at`),
  claims: words(`id emr_claim_id emr_appointment_id service_date claim_date claim_status claim_status_description
    claim_type void_flag emr_patient_id patient_name emr_provider_id provider_name total_charge total_payment
    net_payment balance net_adjustment patient_responsibility icd_codes billing_notes synced_at created_at updated_at
    insurances balances void_claim submission_history billing_activity_log line_items payments`),
  eligibility_checks: words(`id emr_id emr_patient_id patient_name patient_dob emr_encounter_id provider_name payer_name
    subscriber_name subscriber_member_id patient_relationship plan_name coverage_status status_message service_date
    response_at plan_begin_date plan_end_date benefits_summary benefit_count`),
  insurance_providers: words('id ehr_id name payer_id active status address city state created_at'),
  referring_providers: words(`id ehr_id name first_name last_name middle_initial speciality phone fax email npi
    ${address} status`),
  visit_types: ['code', 'description'],
  visit_statuses: ['code', 'description'],
};
const order = words(`order_id order_name order_date provider_id patient_mrn patient_name patient_dob appointment_id
  priority assigned_to_name emr_assigned_to_id lab_results`);
const appointment = words(`id ehr_appointment_id datetime duration status appointment_mode appointment_type location
  practice_id reason complaint_type patient_name patient_first_name patient_last_name patient_mrn patient_ehr_id
  patient_dob patient_gender patient_phone provider_ehr_id provider_name provider_npi secondary_provider_ehr_id
  insurance insurance_number insurance_group_number insurance_subscriber secondary_insurance
  secondary_insurance_number insurances diagnoses medications note progress_note created_at object_metadata`);

test(row('DEC-032'), async () => {
  for (const [name, fields] of Object.entries(resources)) {
    const paged = ['patients', 'claims'].includes(name) ? '?page_size=1000' : '';
    const records: Body[] = (await fixture.api.call('GET', `/v1/${name.replaceAll('_', '-')}${paged}`)).body[name];
    expect(records.length, name).toBeGreaterThan(0);
    for (const record of records) expect(Object.keys(record).sort(), name).toStrictEqual([...fields].sort());
  }
  const unknown = async (path: string, list: string) => (await fixture.api.call('GET', path)).body[list][0];
  expect(await unknown('/v1/patients?last_name=newcomer', 'patients')).toMatchObject({
    ...{ middle_name: null, dob: null, phone: null, cell_phone: null, email: null, address_street: null },
    ...{ address_line2: null, insurance_name: null, insurance_subscriber_number: null },
  });
  const referrer = await unknown('/v1/referring-providers?last_name=referrer', 'referring_providers');
  expect(referrer).toMatchObject({ npi: null, phone: null, fax: null, email: null, speciality: null });
  const mutual = await unknown('/v1/insurance-providers?name=bare', 'insurance_providers');
  expect(mutual).toMatchObject({ payer_id: null, address: null, city: null, state: null });
  const claim = await unknown(`/v1/claims?patient_mrn=${bare.mrn}`, 'claims');
  expect(claim).toMatchObject({
    emr_appointment_id: null,
    icd_codes: [],
    line_items: [],
    payments: [],
    insurances: [],
  });
  const ordered = await unknown(`/v1/orders?patient_mrn=${bare.mrn}`, 'orders');
  expect(Object.keys(ordered).sort()).toStrictEqual([...order].sort());
  expect(ordered).toMatchObject({ priority: null, lab_results: null, assigned_to_name: null, patient_dob: null });
  expect(Object.keys(bare_visit).sort()).toStrictEqual([...appointment].sort());
  expect(bare_visit).toMatchObject({ reason: null, patient_dob: null, insurance: null, insurances: [], diagnoses: [] });
  const { data } = await fetchLive(fixture.api, { search_by: 'mrn', mrn: bare.mrn, include: 'insurances' });
  expect(data).toMatchObject({
    ...{ insurance_name: null, insurance_subscriber_number: null, insurances: [], guarantors: [] },
    ...{ medications: [], pharmacies: [], patient_balance: 0, account_balance: 0 },
  });
});

const datetime = `${new Date().getUTCFullYear() + 2}-07-09T09:30:00-04:00`;
const book = async (fields: object = {}) => {
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = fixture.sandbox.example;
  const body = { mrn, location, provider, type: 'FU', datetime, ...fields };
  return fixture.api.untilEvent((await fixture.api.call('POST', '/v1/appointments', { body })).body.job_id);
};
const call = async (fields: object = {}) =>
  fixture.api.untilEvent((await fixture.api.callIn({ ...fields })).body.job_id);
const act = async (emr_appointment_id: string) => {
  const body = { emr_appointment_id, text: 'Called back.' };
  const { job_id } = (await fixture.api.call('POST', '/v1/telephone-encounters/actions', { body })).body;
  return fixture.api.untilEvent(job_id);
};
const upload = async (patient_mrn: string) => {
  const { document_id } = (await sendDocument(fixture, { patient_mrn })).body;
  return until('the event of the document', async () => {
    const { webhook_events } = (await fixture.api.call('GET', '/v1/webhook-events?page_size=100')).body;
    return webhook_events.find(({ data }: Body) => data.document_id === document_id);
  });
};
const failing = async () => {
  await setFault(fixture.api, 'add_refill', 'refill_fails', { reason: 'Not today.' });
  return call({ refill_medication_name: 'Lisinopril' });
};

const create = async (last_name: string, more: object = {}) => {
  const body = { first_name: 'Nova', last_name, dob: '1990-01-31', sex: 'female', ...more };
  return fixture.api.untilEvent((await fixture.api.call('POST', '/v1/patients', { body })).body.job_id);
};
const insure = async (mrn: string) => {
  const body = { member_id: 'M1', insurance_name: 'Mock Mutual' };
  return fixture.api.untilEvent(
    (await fixture.api.call('POST', `/v1/patients/${mrn}/insurances`, { body })).body.job_id,
  );
};
const change = async (path: string, body: object) =>
  fixture.api.untilEvent((await fixture.api.call('PATCH', `/v1/patients/${path}`, { body })).body.job_id);
const insurance = words(`patient_insurance_id emr_insurance_id patient_mrn member_id group_id plan_begin_date copayment
  audit_trail`);
const encounter = words(`telephone_encounter_id emr_encounter_id patient_mrn provider_id location_id assigned_to_id
  reason`);
const document = words('document_id patient_mrn folder_name');

test(row('DEC-033'), async () => {
  const created = await call();
  const { patient_mrn } = fixture.sandbox.example;
  const patient_id = (await fixture.api.call('GET', `/v1/patients?mrn=${patient_mrn}`)).body.patients[0].id;
  for (const [event, type, fields] of [
    [created, 'telephone_encounter.created', encounter],
    [
      await failing(),
      'telephone_encounter.created_partial',
      [...encounter, 'refill_medication_name', 'refill_failure_reason'],
    ],
    [
      await call({ patient_mrn: 'NOBODY' }),
      'telephone_encounter.failed',
      words('telephone_encounter_id patient_mrn refill_medication_name failure_reason'),
    ],
    [
      await act(created.data.emr_encounter_id),
      'telephone_encounter_action.created',
      words('action_id emr_appointment_id text'),
    ],
    [
      await act('999999'),
      'telephone_encounter_action.failed',
      words('action_id emr_appointment_id failure_reason reasons'),
    ],
    [await upload(patient_mrn), 'document.uploaded', document],
    [await upload('NOBODY'), 'document.upload_failed', [...document, 'failure_reason']],
    [
      await book(),
      'appointment.created',
      words('appointment_id ehr_appointment_id mrn date_time timezone provider_id provider_name secondary_provider_id'),
    ],
    [await create('Fielded'), 'patient.created', ['patient_id', 'mrn']],
    [await create('Fielded'), 'patient.failed', ['patient_id', 'failure_reason', 'reasons', 'duplicate_patient_mrn']],
    [await insure(patient_mrn), 'patient.insurance.added', insurance],
    [await change(`${patient_mrn}/insurances/85001`, { group_id: 'G1' }), 'patient.insurance.updated', insurance],
    [await change(patient_id, { email: 'x@example.org' }), 'patient.updated', ['patient_id', 'mrn', 'audit_trail']],
    [await insure('NOBODY'), 'patient.insurance.failed', ['patient_insurance_id', 'patient_mrn', 'error']],
    [await book({ mrn: 'NOBODY' }), 'appointment.failed', words('appointment_id mrn failure_reason reasons')],
  ] as const) {
    expect(event.event_type).toBe(type);
    expect(Object.keys(event.data).sort(), type).toStrictEqual([...fields].sort());
  }
});

test(row('DEC-034'), async () => {
  const refilled = await call({ refill_medication_name: 'Lisinopril' });
  expect(refilled.data.refill_medication_name).toBe('Lisinopril 10 mg');
  expect(refilled.data).not.toHaveProperty('refill_failure_reason');
  expect((await call()).data).not.toHaveProperty('refill_medication_name');
  expect((await failing()).data).toMatchObject({ refill_failure_reason: expect.stringContaining('Not today.') });
  const taken = { datetime: datetime.replace('T09', 'T11') };
  expect((await book(taken)).data).not.toHaveProperty('conflict_type');
  const conflict = await book({ ...taken, prevent_double_booking: 'true' });
  expect(conflict.event_type).toBe('appointment.failed');
  expect(conflict.data).toMatchObject({ conflict_type: 'appointment', conflict_details: expect.any(String) });
  const lost = await book({ mrn: 'NOBODY' });
  for (const field of ['conflict_type', 'conflict_details']) expect(lost.data).not.toHaveProperty(field);
  expect((await create('Unlike', { language: 'Unspoken' })).data).not.toHaveProperty('duplicate_patient_mrn');
  const { data } = await fetchLive(fixture.api, { search_by: 'mrn', mrn: 'NOBODY' });
  expect(Object.keys(data).sort()).toStrictEqual(['patient_count', 'patients', 'success']);
});
