import { beforeAll, beforeEach, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { signInToLarkspur } from '../../journeys/support.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';
import { type Charts, createCharts, type Fields, newPerson } from './charts.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

/** Checks that each value is rejected with a message that names the field. */
const rejectsValues = (field: string, values: unknown[], extra: Fields = {}) =>
  charts.rejects(
    400,
    new RegExp(field),
    values.map((value) => () => charts.create({ ...extra, [field]: value })),
  );
/** A new patient without one field. */
function without(field: string) {
  const { [field]: _left, ...body } = newPerson();
  return () => fixture.api.call('POST', '/v1/patients', { body });
}
const strings_only = [5, true, ['text'], { text: 'text' }];

test(row('PAT-01'), async () => {
  const response = await withJobsPaused(fixture, async () => {
    const accepted = await charts.create({ last_name: 'Atonce' });
    expect(await charts.rows('patients', { lastName: 'Atonce' })).toStrictEqual([]);
    return accepted;
  });
  expect(response.status).toBe(200);
  expect(response.body).toMatchObject({
    success: true,
    data: { patient_id: expect.any(String), job_id: expect.any(Number) },
  });
  const event = await fixture.api.untilEvent(response.body.data.job_id);
  expect(event.data.patient_id).toBe(response.body.data.patient_id);
});

test(row('PAT-02'), async () => {
  const good = await charts.outcome(await charts.create());
  expect(good.event_type).toBe('patient.created');
  const { event: bad } = await charts.failed();
  expect(bad.event_type).toBe('patient.failed');
});

test(row('PAT-03'), async () => {
  const { chart } = await charts.created({ address_line2: 'Apartment 2, Suite 3, Unit 4' });
  expect(chart.address.line2).toBe('Apartment 2, Suite 3, Unit 4');
  await rejectsValues('address_line2', strings_only);
});

test(row('PAT-04'), async () => {
  const { chart } = await charts.created({ email: 'nova@example.test' });
  expect(chart.email).toBe('nova@example.test');
  await rejectsValues('email', strings_only);
});

test(row('PAT-10'), async () => {
  const insured = { insurance_name: 'Demo Medicare', insurance_subscriber_number: 'E-1' };
  for (const check_eligibility of ['true', 'false']) await charts.created({ ...insured, check_eligibility });
  await rejectsValues('check_eligibility', ['yes', 'no', 'TRUE', 'True', '1', 1, 0, {}], insured);
});

test(row('PAT-11'), async () => {
  const insured = { insurance_name: 'Demo Medicare' };
  for (const [insurance_sequence, priority] of Object.entries({ primary: 1, secondary: 2, tertiary: 3 })) {
    const { chart } = await charts.created({ ...insured, insurance_sequence });
    expect(await charts.insurances(chart)).toMatchObject([{ companyName: 'Demo Medicare', priority }]);
  }
  await rejectsValues('insurance_sequence', ['quaternary', 'Primary', '1', 1], insured);
});

test(row('PAT-18'), async () => {
  for (const [sex, sexCode] of Object.entries({ male: 'M', female: 'F', unknown: 'U' })) {
    expect((await charts.created({ sex })).chart.sexCode).toBe(sexCode);
  }
  await rejectsValues('sex', ['M', 'Male', 'other', 'FEMALE', 1]);
});

test(row('DEC-124'), async () => {
  for (const field of ['first_name', 'last_name']) {
    const blank = [undefined, '', null].map((value) => () => charts.create({ [field]: value }));
    await charts.rejects(400, `Missing required field: ${field}`, [without(field), ...blank]);
  }
});

test(row('DEC-125'), async () => {
  await charts.rejects(400, 'Missing required field: dob', [without('dob')]);
  const forms = ['02/29/2004', '2004-2-29', '20040229', '2005-02-29', '2004-13-01', 20040229];
  await rejectsValues('dob', forms);
  expect((await charts.created({ dob: '1931-12-07' })).chart.birthDate).toBe('12/07/1931');
});

test(row('DEC-126'), async () => {
  await charts.rejects(400, 'Missing required field: sex', [without('sex'), () => charts.create({ sex: '' })]);
  await rejectsValues('sex', ['m', 'f', 'none']);
  for (const sex of ['male', 'female', 'unknown']) {
    expect((await charts.created({ sex })).chart.sexCode).toBe(sex[0]?.toUpperCase());
  }
});

test(row('DEC-127'), async () => {
  const fields = { middle_name: 'Quill', email: 'q@example.test', no_email_reason: 'Uses the phone' };
  const { chart } = await charts.created(fields);
  expect(chart).toMatchObject({ middleName: 'Quill', email: 'q@example.test', noEmailReason: 'Uses the phone' });
  for (const field of Object.keys(fields)) await rejectsValues(field, strings_only);
});

test(row('DEC-128'), async () => {
  const { chart } = await charts.created({ phone: '518-555-0101', cell_phone: '518-555-0102' });
  expect(chart).toMatchObject({ homePhone: '518-555-0101', cellPhone: '518-555-0102' });
  const forms = ['5185550101', '(518) 555-0101', '518-555-010', '518-555-01012', '+1-518-555-0101', '518-555-01O1', 5];
  for (const field of ['phone', 'cell_phone']) await rejectsValues(field, forms);
});

test(row('DEC-129'), async () => {
  const { chart } = await charts.created({
    address_street: '1 Fresh Street',
    address_line2: 'Floor 2',
    address_city: 'Exampleton',
    address_state: 'VT',
    address_zip: '05001-0002',
  });
  expect(chart.address).toStrictEqual({
    line1: '1 Fresh Street',
    line2: 'Floor 2',
    city: 'Exampleton',
    state: 'VT',
    zip: '05001-0002',
  });
});

test(row('DEC-130'), async () => {
  const { body } = await fixture.api.call('GET', '/v1/insurance-providers?name=placebo');
  const [company] = body.insurance_providers;
  const { chart } = await charts.created({
    insurance_name: 'Demo Medicare',
    insurance_provider_id: company.id,
    insurance_subscriber_number: 'S-130',
    insurance_sequence: 'tertiary',
  });
  expect(await charts.insurances(chart)).toMatchObject([
    { companyId: company.ehr_id, companyName: company.name, subscriberNumber: 'S-130', priority: 3 },
  ]);
  const named = await charts.created({ insurance_name: 'Demo Medicare' });
  expect(await charts.insurances(named.chart)).toMatchObject([{ companyName: 'Demo Medicare', priority: 1 }]);
});

test(row('DEC-131'), async () => {
  const { chart } = await charts.created({
    insurance_name: 'Demo Medicare',
    insurance_subscriber_number: 'S-1',
    secondary_insurance_name: 'Prototype PPO',
    secondary_insurance_subscriber_number: 'S-2',
  });
  const rows = await charts.insurances(chart);
  expect(rows.find((row) => row.priority === 2)).toMatchObject({
    companyName: 'Prototype PPO',
    subscriberNumber: 'S-2',
  });
  expect(rows.find((row) => row.priority === 1)).toMatchObject({
    companyName: 'Demo Medicare',
    subscriberNumber: 'S-1',
  });
});

test(row('DEC-132'), async () => {
  for (const check_eligibility of ['true', 'false']) {
    const { chart } = await charts.created({ insurance_name: 'Demo Medicare', check_eligibility });
    const checks = await charts.rows('eligibility-checks', { patientId: chart.patientId });
    expect(checks).toHaveLength(check_eligibility === 'true' ? 1 : 0);
  }
});

test(row('DEC-135'), async () => {
  const { chart } = await charts.created({
    emergency_contact_first_name: 'Em',
    emergency_contact_last_name: 'Ergency',
    emergency_contact_relation: 'Aunt',
    emergency_contact_phone: '518-555-0135',
  });
  expect(chart.emergencyContact).toStrictEqual({
    firstName: 'Em',
    lastName: 'Ergency',
    relation: 'Aunt',
    phone: '518-555-0135',
  });
});

test(row('DEC-136'), async () => {
  const { body } = await fixture.api.call('GET', '/v1/pharmacies');
  const pharmacy = body.pharmacies.find(({ status }: { status: string }) => status === 'active');
  const { chart } = await charts.created({ pharmacy_id: pharmacy.id });
  const clinic = await signInToLarkspur(fixture.sandbox, fixture.api);
  expect(await clinic.pharmacies(chart.patientId)).toStrictEqual([pharmacy.ehr_id]);
  await charts.rejects(404, /Pharmacy .* not found/, [() => charts.create({ pharmacy_id: 'f'.repeat(32) })]);
});

test(row('DEC-137'), async () => {
  const { chart } = await charts.created({ language: 'French', race: 'Asian', ethnicity: 'Hispanic or Latino' });
  expect(chart).toMatchObject({ languageCode: 'FRE', raceCode: 'A', ethnicityCode: 'H' });
});

test(row('DEC-138'), async () => {
  const { chart } = await charts.created({
    release_of_info: false,
    rx_history_consent: false,
    self_pay: false,
    default_facility_id: '12',
  });
  expect(chart).toMatchObject({
    releaseOfInfoFlag: 'N',
    rxConsentFlag: 'N',
    selfPayFlag: 'N',
    defaultFacilityId: '12',
  });
});

test(row('DEC-140'), async () => {
  const { status, body } = await charts.create();
  expect(status).toBe(200);
  const { patient_id, job_id } = body;
  expect(body).toStrictEqual({
    success: true,
    message: expect.any(String),
    patient_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
    data: { patient_id, job_id },
  });
  await fixture.api.untilEvent(job_id);
});

test(row('DEC-141'), async () => {
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = fixture.sandbox.example;
  const { status, body } = await fixture.api.call('POST', '/v1/appointments', {
    body: { mrn, location, provider, type: 'FU', datetime: '2027-03-01T09:00:00-05:00' },
  });
  expect(status, JSON.stringify(body)).toBe(200);
  const { appointment_id, job_id } = body;
  expect(body).toStrictEqual({
    success: true,
    message: expect.any(String),
    appointment_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
    data: { appointment_id, job_id },
  });
  await fixture.api.untilEvent(job_id);
});
