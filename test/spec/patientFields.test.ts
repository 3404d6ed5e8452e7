import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { openChart } from '../journeys/journey.ts';
import { whileNoJobStarts } from './heldJobs.ts';
import { type Charts, type Fields, newcomer, openCharts } from './patientCharts.ts';

let world: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  world = await startSandbox({ small: true });
  charts = openCharts(world);
});
afterAll(() => world.close());
beforeEach(() => world.api.control('DELETE', '/control/faults'));

/** Every one of these values of a field is refused by the field's name. */
const refusesValues = (field: string, values: unknown[], beside: Fields = {}) =>
  charts.refuses(
    400,
    new RegExp(field),
    values.map((value) => () => charts.create({ ...beside, [field]: value })),
  );
/** A new patient without one field. */
function without(field: string) {
  const { [field]: _left, ...body } = newcomer();
  return () => world.api.call('POST', '/v1/patients', { body });
}
const strings_only = [5, true, ['text'], { text: 'text' }];

test('PAT-01 `POST /v1/patients` answers at once with at least `{ success, data: { patient_id, job_id } }`.', async () => {
  const answer = await whileNoJobStarts(world, async () => {
    const accepted = await charts.create({ last_name: 'Atonce' });
    expect(await charts.rows('patients', { lastName: 'Atonce' })).toStrictEqual([]);
    return accepted;
  });
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({
    success: true,
    data: { patient_id: expect.any(String), job_id: expect.any(Number) },
  });
  const event = await world.api.untilEvent(answer.body.data.job_id);
  expect(event.data.patient_id).toBe(answer.body.data.patient_id);
});

test('PAT-02 The completion events are `patient.created` and `patient.failed`.', async () => {
  const good = await charts.outcome(await charts.create());
  expect(good.event_type).toBe('patient.created');
  const { event: bad } = await charts.failed();
  expect(bad.event_type).toBe('patient.failed');
});

test('PAT-03 `address_line2` is a string (apartment, suite, unit).', async () => {
  const { chart } = await charts.created({ address_line2: 'Apartment 2, Suite 3, Unit 4' });
  expect(chart.address.line2).toBe('Apartment 2, Suite 3, Unit 4');
  await refusesValues('address_line2', strings_only);
});

test('PAT-04 `email` is a string.', async () => {
  const { chart } = await charts.created({ email: 'nova@example.test' });
  expect(chart.email).toBe('nova@example.test');
  await refusesValues('email', strings_only);
});

test('PAT-10 The eligibility flag takes `true` or `false`; any other value is refused.', async () => {
  const insured = { insurance_name: 'Demo Medicare', insurance_subscriber_number: 'E-1' };
  for (const check_eligibility of ['true', 'false']) await charts.created({ ...insured, check_eligibility });
  await refusesValues('check_eligibility', ['yes', 'no', 'TRUE', 'True', '', '1', 1, 0, {}], insured);
});

test('PAT-11 The insurance sequence takes `primary`, `secondary`, `tertiary`; any other value is refused.', async () => {
  const insured = { insurance_name: 'Demo Medicare' };
  for (const [insurance_sequence, priority] of Object.entries({ primary: 1, secondary: 2, tertiary: 3 })) {
    const { chart } = await charts.created({ ...insured, insurance_sequence });
    expect(await charts.insurances(chart)).toMatchObject([{ companyName: 'Demo Medicare', priority }]);
  }
  await refusesValues('insurance_sequence', ['quaternary', 'Primary', '1', 1, ''], insured);
});

test('PAT-18 `sex` takes `male`, `female`, `unknown`; any other value is refused.', async () => {
  for (const [sex, sexCode] of Object.entries({ male: 'M', female: 'F', unknown: 'U' })) {
    expect((await charts.created({ sex })).chart.sexCode).toBe(sexCode);
  }
  await refusesValues('sex', ['M', 'Male', 'other', 'FEMALE', 1]);
});

test('DEC-124 `POST /v1/patients` requires first_name and last_name.', async () => {
  for (const field of ['first_name', 'last_name']) {
    const blank = [undefined, '', null].map((value) => () => charts.create({ [field]: value }));
    await charts.refuses(400, `Missing required field: ${field}`, [without(field), ...blank]);
  }
});

test('DEC-125 `POST /v1/patients` requires dob in the form `YYYY-MM-DD`.', async () => {
  await charts.refuses(400, 'Missing required field: dob', [without('dob')]);
  const forms = ['02/29/2004', '2004-2-29', '20040229', '2004-02-29T00:00:00Z', '2005-02-29', '2004-13-01', 20040229];
  await refusesValues('dob', forms);
  expect((await charts.created({ dob: '1931-12-07' })).chart.birthDate).toBe('12/07/1931');
});

test('DEC-126 `POST /v1/patients` requires sex: `male`, `female` or `unknown`.', async () => {
  await charts.refuses(400, 'Missing required field: sex', [without('sex'), () => charts.create({ sex: '' })]);
  await refusesValues('sex', ['m', 'f', 'none']);
  for (const sex of ['male', 'female', 'unknown']) {
    expect((await charts.created({ sex })).chart.sexCode).toBe(sex[0]?.toUpperCase());
  }
});

test('DEC-127 `POST /v1/patients` takes middle_name, email, no_email_reason.', async () => {
  const fields = { middle_name: 'Quill', email: 'q@example.test', no_email_reason: 'Uses the phone' };
  const { chart } = await charts.created(fields);
  expect(chart).toMatchObject({ middleName: 'Quill', email: 'q@example.test', noEmailReason: 'Uses the phone' });
  for (const field of Object.keys(fields)) await refusesValues(field, strings_only);
});

test('DEC-128 `POST /v1/patients` takes phone and cell_phone in the form `NNN-NNN-NNNN`.', async () => {
  const { chart } = await charts.created({ phone: '518-555-0101', cell_phone: '518-555-0102' });
  expect(chart).toMatchObject({ homePhone: '518-555-0101', cellPhone: '518-555-0102' });
  const forms = ['5185550101', '(518) 555-0101', '518-555-010', '518-555-01012', '+1-518-555-0101', '518-555-01O1', 5];
  for (const field of ['phone', 'cell_phone']) await refusesValues(field, forms);
});

test('DEC-129 `POST /v1/patients` takes address_street, address_line2, address_city, address_state, address_zip.', async () => {
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

test('DEC-130 `POST /v1/patients` takes insurance_name, insurance_provider_id, insurance_subscriber_number, insurance_sequence.', async () => {
  const { body } = await world.api.call('GET', '/v1/insurance-providers?name=placebo');
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

test('DEC-131 `POST /v1/patients` takes secondary_insurance_name and secondary_insurance_subscriber_number.', async () => {
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

test('DEC-132 `POST /v1/patients` takes check_eligibility, `true` or `false`.', async () => {
  for (const check_eligibility of ['true', 'false']) {
    const { chart } = await charts.created({ insurance_name: 'Demo Medicare', check_eligibility });
    const checks = await charts.rows('eligibility-checks', { patientId: chart.patientId });
    expect(checks).toHaveLength(check_eligibility === 'true' ? 1 : 0);
  }
});

test('DEC-135 `POST /v1/patients` takes emergency_contact_first_name, emergency_contact_last_name, emergency_contact_relation, emergency_contact_phone.', async () => {
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

test('DEC-136 `POST /v1/patients` takes pharmacy_id.', async () => {
  const { body } = await world.api.call('GET', '/v1/pharmacies');
  const pharmacy = body.pharmacies.find(({ status }: { status: string }) => status === 'active');
  const { chart } = await charts.created({ pharmacy_id: pharmacy.id });
  const clinic = await openChart(world.sandbox, world.api);
  expect(await clinic.pharmacies(chart.patientId)).toStrictEqual([pharmacy.ehr_id]);
  await charts.refuses(404, /Pharmacy .* not found/, [() => charts.create({ pharmacy_id: 'f'.repeat(32) })]);
});

test('DEC-137 `POST /v1/patients` takes language, race, ethnicity.', async () => {
  const { chart } = await charts.created({ language: 'French', race: 'Asian', ethnicity: 'Hispanic or Latino' });
  expect(chart).toMatchObject({ languageCode: 'FRE', raceCode: 'A', ethnicityCode: 'H' });
});

test('DEC-138 `POST /v1/patients` takes release_of_info, rx_history_consent, self_pay, default_facility_id.', async () => {
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

test('DEC-140 `POST /v1/patients` answers `{ success, message, patient_id, job_id, data: { patient_id, job_id } }`, both places with the same values.', async () => {
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
  await world.api.untilEvent(job_id);
});

test('DEC-141 `POST /v1/appointments` answers `{ success, message, appointment_id, job_id, data: { appointment_id, job_id } }`, both places with the same values.', async () => {
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = world.sandbox.example;
  const { status, body } = await world.api.call('POST', '/v1/appointments', {
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
  await world.api.untilEvent(job_id);
});
