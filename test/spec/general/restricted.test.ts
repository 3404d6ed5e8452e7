import { beforeAll, expect, test } from 'vitest';
import { apiAs, expectApiError } from '../../api/support.ts';
import type { Api, ApiResponse } from '../../harness/api.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { signInToLarkspur, until } from '../../journeys/support.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { fetchLive } from '../support/fetchLive.ts';
import { sendDocument } from '../support/sendDocument.ts';

let fixture: TestSandbox;
/** An account of an EMR that does not support the restricted features, and a patient there. */
let fhir: Api;
let fhir_mrn: string;
let fhir_patient_id: string;
beforeAll(async () => {
  fixture = await sharedSandbox();
  ({ api: fhir, mrn: fhir_mrn } = await fhirAccount(fixture));
  fhir_patient_id = (await fhir.call('GET', `/v1/patients?mrn=${fhir_mrn}`)).body.patients[0].id;
});

let people = 0;
const newPerson = (more: object = {}) => {
  people += 1;
  return { first_name: 'Nova', last_name: `Restricted${people}`, dob: '1990-01-31', sex: 'female', ...more };
};
const unknown_id = 'f'.repeat(32);
/** The fields that the specification marks [R]: of a new patient, and of an active one. */
const on_create = {
  responsible_party: 'spouse',
  responsible_party_first_name: 'Pat',
  responsible_party_last_name: 'Payer',
  responsible_party_sex: 'male',
  responsible_party_dob: '1970-01-31',
  responsible_party_phone: '518-555-0103',
  language: 'Spanish',
  race: 'Asian',
  ethnicity: 'H',
  release_of_info: false,
  rx_history_consent: false,
  self_pay: true,
  default_facility_id: '11',
};
const by_id = { insurance_provider_id: unknown_id, referring_provider_id: unknown_id, pcp_id: unknown_id };
const on_update = {
  save_previous_address: false,
  referring_provider_first_name: 'A',
  referring_provider_last_name: 'B',
  referring_provider_id: unknown_id,
  pcp_first_name: 'A',
  pcp_last_name: 'B',
  pcp_id: unknown_id,
  referred_to_provider_id: '501',
};
const create = (api: Api, more: object) => api.call('POST', '/v1/patients', { body: newPerson(more) });
const update = (body: object) => fhir.call('PATCH', `/v1/patients/${fhir_patient_id}`, { body });
async function expectFieldsRejected(): Promise<void> {
  const before = await countAcceptedWork(fixture);
  for (const [field, value] of Object.entries({ ...on_create, ...by_id })) {
    const response = await create(fhir, { [field]: value });
    expectApiError(response, 400, `Field '${field}' is only supported for Larkspur EMR.`, field);
  }
  for (const [field, value] of Object.entries(on_update)) {
    const response = await update({ email: 'x@example.org', [field]: value });
    expectApiError(response, 400, `Field '${field}' is only supported for Larkspur EMR.`, field);
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
}

test(row('GEN-01'), async () => {
  const { patient_mrn: mrn } = fixture.sandbox.example;
  const accepted = await create(fixture.api, on_create);
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const event = await fixture.api.untilEvent(accepted.body.job_id);
  const [chart] = (await fixture.api.control('GET', `/control/patients?mrn=${event.data.mrn}`)).body.rows;
  expect(chart).toMatchObject({
    selfPayFlag: 'Y',
    releaseOfInfoFlag: 'N',
    rxConsentFlag: 'N',
    defaultFacilityId: '11',
  });
  expect([chart.responsiblePartyCode, chart.ethnicityCode]).toStrictEqual(['2', 'H']);
  await expectFieldsRejected();
  expect((await fixture.api.callIn()).status).toBe(200);
  expectApiError(await fhir.callIn(), 400, 'Telephone encounters are only supported for Larkspur EMR.');
  const change = { body: { group_id: 'G1' } };
  const path = `/v1/patients/${mrn}/insurances/85001`;
  expect((await fixture.api.call('PATCH', path, change)).status).toBe(200);
  const fhir_path = `/v1/patients/${fhir_mrn}/insurances/cov-1`;
  expectApiError(await fhir.call('PATCH', fhir_path, change), 400, 'This EMR does not offer insurance updates.');
  const own = (await fetchLive(fixture.api, { search_by: 'mrn', mrn })).data;
  expect(own).toMatchObject({ patient_balance: expect.any(Number), alerts: { global_alerts: expect.any(Array) } });
  const { data } = await fetchLive(fhir, { search_by: 'mrn', mrn: fhir_mrn });
  const empty = { guarantors: null, alerts: null, patient_balance: null, account_balance: null };
  expect(data).toMatchObject({ mrn: fhir_mrn, ...empty });
});

test(row('DEC-048'), async () => {
  await expectFieldsRejected();
  const search = { search_by: 'mrn', mrn: fhir_mrn };
  for (const body of [
    { ...search, include: 'insurances' },
    { ...search, include: ['insurances'] },
  ]) {
    const fetched = await fhir.call('POST', '/v1/patients/fetch', { body });
    expectApiError(fetched, 400, "Field 'include' is only supported for Larkspur EMR.", 'include');
  }
  // The other fields are accepted and saved.
  const names = { pcp_first_name: 'Other', pcp_last_name: 'Doctor', insurance_name: 'Mock Mutual' };
  const created = await create(fhir, { responsible_party: 'self', ...names });
  expect(created.status, JSON.stringify(created.body)).toBe(200);
  expect((await fhir.untilEvent(created.body.job_id)).event_type).toBe('patient.created');
  const updated = await update({ email: 'x@example.org' });
  expect((await fhir.untilEvent(updated.body.job_id)).event_type).toBe('patient.updated');
});

test(row('GEN-02'), async () => {
  const access_token = await fixture.api.link({ user_id: 'reader-and-writer', staff: 3 });
  const api = apiAs(fixture, { access_token });
  const chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = fixture.sandbox.example;
  const done = async ({ body }: ApiResponse, type: string) => {
    const event = await api.untilEvent(body.job_id);
    expect(event.event_type).toBe(type);
    return event.data;
  };
  for (const list of ['patients', 'providers', 'claims', 'pharmacies']) {
    expect((await api.call('GET', `/v1/${list}`)).body[list].length, list).toBeGreaterThan(0);
  }
  expect((await api.call('GET', `/v1/orders?patient_mrn=${mrn}`)).body.orders).toEqual(expect.any(Array));
  const created = await done(await create(api, {}), 'patient.created');
  expect((await fixture.api.control('GET', `/control/patients?mrn=${created.mrn}`)).body.rows).toHaveLength(1);
  const hidden = await api.call('PATCH', '/v1/providers/ehr/504', { body: { hide_in_availability: 'true' } });
  expect(hidden.status).toBe(200);
  const datetime = `${new Date().getUTCFullYear() + 2}-07-09T09:30:00-04:00`;
  const visit = { mrn, location, provider, type: 'FU', datetime };
  const booking = await api.call('POST', '/v1/appointments', { body: visit });
  const { ehr_appointment_id } = await done(booking, 'appointment.created');
  const booked = await api.call('GET', `/v1/appointments/${booking.body.appointment_id}`);
  expect(booked.body.appointment.ehr_appointment_id).toBe(ehr_appointment_id);
  const called = await done(await api.callIn({ caller: 'Reader' }), 'telephone_encounter.created');
  expect((await chart.encounter(called.emr_encounter_id)).caller).toBe('Reader');
  const policy = { member_id: 'M-77', insurance_name: 'Mock Mutual' };
  const insured = await api.call('POST', `/v1/patients/${mrn}/insurances`, { body: policy });
  const { emr_insurance_id } = await done(insured, 'patient.insurance.added');
  const live = await fetchLive(api, { search_by: 'mrn', mrn, include: 'insurances' });
  const ids = live.data.insurances.map((each: ApiResponse['body']) => each.emr_insurance_id);
  expect(ids).toContain(emr_insurance_id);
  const sandbox = { ...fixture.sandbox, access_token };
  expect((await sendDocument({ sandbox }, { notes: 'Written by the linked user' })).status).toBe(200);
  await until('the document', async () => {
    const { rows } = await chart.read('/api/patients/10001/documents');
    return rows.some(({ notes }: ApiResponse['body']) => notes === 'Written by the linked user');
  });
});
