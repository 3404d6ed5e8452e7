import { beforeAll, beforeEach, expect, test } from 'vitest';
import { PatientRequest } from '../../../../src/model/requests/patients.ts';
import { expectApiError } from '../../../api/support.ts';
import { row } from '../../../harness/row.ts';
import type { TestSandbox } from '../../../harness/sandbox.ts';
import { sharedSandbox } from '../../../harness/sharedSandbox.ts';
import { signInToLarkspur } from '../../../journeys/support.ts';
import { anotherPatient, type Charts, createCharts, type Fields } from '../../patients/charts.ts';
import { countAcceptedWork } from '../../support/databaseState.ts';
import { sendDocument } from '../../support/sendDocument.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const blanks = ['   ', '\t\n', '\u00a0\u2003', '\u200b\ufeff'];
const post = (path: string, body: Fields) => fixture.api.call('POST', path, { body });

/** A link token for a new user of the sandbox's practice. */
async function linkToken(): Promise<string> {
  const { body } = await post('/link/token/create', { user_id: 'text-user', org_id: fixture.sandbox.org_id });
  return body.token;
}

test(row('TXT-01'), async () => {
  const { chart } = await charts.created({
    first_name: '  Nova\u00a0',
    middle_name: '\tJo \n',
    sex: ' female ',
    phone: ' 518-555-0101 ',
    address_street: ' 1  Inner   Blanks ',
  });
  expect(chart).toMatchObject({
    firstName: 'Nova',
    middleName: 'Jo',
    homePhone: '518-555-0101',
    address: { line1: '1  Inner   Blanks' },
  });
  const { job_id } = (await fixture.api.callIn({ reason: ` ${'r'.repeat(50)} `, message: ' One\n\n two ' })).body;
  const { data } = await fixture.api.untilEvent(job_id);
  expect(data.reason).toBe('r'.repeat(50));
  const clinic = await signInToLarkspur(fixture.sandbox, fixture.api);
  expect(await clinic.encounter(data.emr_encounter_id)).toMatchObject({ message: 'One\n\n two' });
  const long = await fixture.api.callIn({ reason: ` ${'r'.repeat(51)} ` });
  expectApiError(long, 400, 'Reason exceeds maximum length of 50 characters', 'reason');
  // A blank is part of a password.
  const [person] = fixture.sandbox.larkspur.staff;
  const { username, password } = person ?? { username: '', password: '' };
  const wrong = { username: ` ${username} `, password: `${password} ` };
  const one_time_code = '000000';
  const sign_in = { link_token: await linkToken(), credentials: wrong, one_time_code };
  expectApiError(await post('/sandbox/public_token/create', sign_in), 400, /password/);
  const right = { ...sign_in, credentials: { ...wrong, password } };
  expectApiError(await post('/sandbox/public_token/create', right), 400, /code/);
});

test(row('TXT-02'), async () => {
  const { patient_mrn, ...call } = fixture.sandbox.example;
  const { mrn } = anotherPatient();
  const token = await linkToken();
  const sent: [string, (blank: string) => ReturnType<typeof post>][] = [
    ['patient_mrn', (blank) => fixture.api.callIn({ ...call, patient_mrn: blank })],
    ['text', (blank) => post('/v1/telephone-encounters/actions', { emr_appointment_id: '30001', text: blank })],
    ['first_name', (blank) => charts.create({ first_name: blank })],
    ['sex', (blank) => charts.create({ sex: blank })],
    ['dob', (blank) => charts.create({ dob: blank })],
    ['member_id', (blank) => charts.add(mrn, { insurance_name: 'Mock Mutual', member_id: blank })],
    [
      'subscriber_demographics.last_name',
      (blank) =>
        charts.add(mrn, {
          ...{ insurance_name: 'Mock Mutual', member_id: 'M', relationship_to_subscriber: 'spouse' },
          subscriber_demographics: { first_name: 'Sub', last_name: blank },
        }),
    ],
    [
      'patient_mrn',
      (blank) => charts.add(encodeURIComponent(blank), { insurance_name: 'Mock Mutual', member_id: 'M' }),
    ],
    ['last_name', (blank) => post('/v1/patients/fetch', { search_by: 'name', first_name: 'Ada', last_name: blank })],
    ['folder_name', (blank) => sendDocument(fixture, { folder_name: blank })],
    ['patient_mrn', (blank) => fixture.api.call('GET', `/v1/orders?patient_mrn=${encodeURIComponent(blank)}`)],
    ['user_id', (blank) => post('/link/token/create', { user_id: blank, org_id: fixture.sandbox.org_id })],
    ['webhook_url', (blank) => post('/v1/webhook', { webhook_url: blank })],
    [
      'credentials.username',
      (blank) =>
        post('/sandbox/public_token/create', { link_token: token, credentials: { username: blank, password: 'x' } }),
    ],
  ];
  const before = await countAcceptedWork(fixture);
  for (const [field, send] of sent) {
    for (const blank of blanks) expectApiError(await send(blank), 400, `Missing required field: ${field}`);
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
});

test(row('TXT-03'), async () => {
  const required = new Set<string>(PatientRequest.required);
  const optional = Object.keys(PatientRequest.properties).filter((name) => !required.has(name));
  for (const blank of ['', ' ', null]) {
    const { chart } = await charts.created(Object.fromEntries(optional.map((name) => [name, blank])));
    expect(chart).toMatchObject({ email: null, homePhone: null, languageCode: null, middleName: null });
  }
  for (const blank of ['', ' ']) {
    for (const name of ['last_name', 'mrn']) {
      const all = await fixture.api.call('GET', `/v1/patients?${name}=${encodeURIComponent(blank)}`);
      expectApiError(all, 400, `${name} must not be empty`, name);
    }
  }
  // Nothing of a lone accent is left to search for.
  const { body } = await fixture.api.call('GET', `/v1/patients?last_name=${encodeURIComponent('\u0301')}`);
  expect(body.patients).toStrictEqual([]);
});

test(row('TXT-04'), async () => {
  const contact = { phone: '518-555-0100', cell_phone: '518-555-0101', email: 'old@example.test' };
  const address = { address_street: '1 Old Street', address_line2: 'Unit 1', address_city: 'Oldton' };
  const place = { ...address, address_state: 'NY', address_zip: '12999' };
  const { providers } = (await fixture.api.call('GET', '/v1/providers')).body;
  const doctor = { pcp_id: providers[0].id, referred_to_provider_id: providers[0].ehr_id };
  for (const empty of [null, '']) {
    const own = await charts.created({ ...contact, ...place, ...doctor });
    expect(own.chart).toMatchObject({ pcpId: providers[0].ehr_id, homePhone: '518-555-0100' });
    const cleared = Object.fromEntries(Object.keys({ ...contact, ...place, ...doctor }).map((name) => [name, empty]));
    const event = await charts.outcome(await charts.patch(own.id, cleared));
    expect(event.event_type).toBe('patient.updated');
    expect(await charts.chart(own.mrn)).toMatchObject({
      ...{ homePhone: null, cellPhone: null, email: null, pcpId: null, pcpLastName: null, renderingProviderId: null },
      address: { line1: '', line2: null, city: '', state: '', zip: '' },
    });
    const nothing = Object.fromEntries(Object.keys({ ...contact, ...place }).map((name) => [name, null]));
    expect(await charts.listed(own.id)).toMatchObject(nothing);
    const trail = event.data.audit_trail.map(({ property, after }: Fields) => [property, after]);
    expect(trail).toContainEqual(['phone', null]);
    expect(trail).toContainEqual(['address_city', null]);
    // A wrong value of a failed patient is removed, and the creation succeeds.
    const wrong = { language: 'Klingon', insurance_name: 'Mock Mutual', insurance_subscriber_number: 'X', ...contact };
    const failed = await charts.outcome(await charts.create(wrong));
    expect(failed.event_type).toBe('patient.failed');
    const amended = Object.fromEntries(Object.keys({ ...wrong, self_pay: true }).map((name) => [name, empty]));
    const created = await charts.outcome(await charts.patch(failed.data.patient_id, amended));
    expect(created.event_type, JSON.stringify(created.data)).toBe('patient.created');
    expect(await charts.chart(created.data.mrn)).toMatchObject({
      ...{ languageCode: null, homePhone: null, primaryInsuranceName: null },
    });
    const fields = { group_id: 'G', plan_begin_date: '2026-01-01', copayment: 5, relationship_to_subscriber: 'self' };
    const { data } = await charts.added(own.mrn, fields);
    const gone = Object.fromEntries(Object.keys(fields).map((name) => [name, empty]));
    const changed = await charts.changed(own.mrn, data.emr_insurance_id, gone);
    expect(changed.data).toMatchObject({ group_id: null, plan_begin_date: null, copayment: null });
    expect(changed.row).toMatchObject({ groupNumber: null, planBegins: null, copayment: null, relationshipCode: null });
  }
});

test('a value cleared while the creation is being sent is cleared by an update afterwards', async () => {
  const contact = { emergency_contact_first_name: 'Erin', emergency_contact_phone: '518-555-0109' };
  const { id, job_id } = await charts.inProgress({ phone: '518-555-0100', language: 'English', ...contact });
  const cleared = { phone: null, language: '', emergency_contact_first_name: null, emergency_contact_phone: null };
  expect((await charts.patch(id, cleared)).status).toBe(200);
  const { mrn } = (await fixture.api.untilEvent(job_id)).data;
  await expect.poll(async () => (await charts.listed(id)).status).toBe('active');
  expect(await charts.chart(mrn)).toMatchObject({ homePhone: null, languageCode: null, emergencyContact: null });
});

test(row('TXT-05'), async () => {
  const failed = await charts.failed();
  const active = await charts.created({ phone: '518-555-0100' });
  const { data } = await charts.added(active.mrn);
  for (const empty of [null, '', '  ']) {
    for (const field of ['first_name', 'last_name', 'dob', 'sex']) {
      await charts.rejects(400, `Missing required field: ${field}`, [
        () => charts.patch(failed.id, { [field]: empty }),
      ]);
    }
    for (const field of ['member_id', 'insurance_name', 'insurance_provider_id']) {
      await charts.rejects(400, `Missing required field: ${field}`, [
        () => charts.change(active.mrn, data.emr_insurance_id, { [field]: empty, group_id: 'G' }),
      ]);
    }
  }
  // A field that the practice requires.
  const { organization_id } = await readOrganization();
  await setRequired(organization_id, '["phone"]');
  try {
    await charts.rejects(400, 'Missing required field: phone', [
      () => charts.patch(active.id, { phone: null }),
      () => charts.patch(failed.id, { phone: '' }),
    ]);
  } finally {
    await setRequired(organization_id, '[]');
  }
});

async function readOrganization(): Promise<{ organization_id: string }> {
  const [row] = await fixture.owner<{ organization_id: string }[]>`
    SELECT id AS organization_id FROM organizations WHERE org_id = ${fixture.sandbox.org_id}`;
  if (!row) throw new Error('The sandbox has no organization.');
  return row;
}

async function setRequired(organization_id: string, fields: string): Promise<void> {
  await fixture.owner`UPDATE organizations
    SET code_lists = (code_lists::jsonb || jsonb_build_object('required_patient_fields', ${fields}::text::jsonb))::json
    WHERE id = ${organization_id}`;
}

test(row('TXT-06'), async () => {
  for (const time of ['T23:30:00-05:00', 'T00:00:00Z', 'T00:00:00.000+14:00', ' 12:00', 'T12:00:00']) {
    const { chart } = await charts.created({ dob: `1990-05-14${time}` });
    expect(chart.birthDate, time).toBe('05/14/1990');
    const { patient_mrn } = fixture.sandbox.example;
    const day = encodeURIComponent(`2026-01-01${time}`);
    const list = await fixture.api.call('GET', `/v1/orders?patient_mrn=${patient_mrn}&start_date=${day}`);
    expect(list.status, time).toBe(200);
  }
  for (const dob of ['1990-02-30T00:00:00Z', '1990-05-14T25:00:00Z', '1990-05-14Tnoon', '1990-05-14T', '05/14/1990']) {
    await charts.rejects(400, 'dob must be a date that exists, in the form YYYY-MM-DD', [() => charts.create({ dob })]);
  }
});

test(row('TXT-07'), async () => {
  const later = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  const failed = await charts.failed();
  const { mrn } = anotherPatient();
  const payer = { responsible_party: 'parent', responsible_party_first_name: 'P', responsible_party_last_name: 'Q' };
  await charts.rejects(400, 'dob must not be in the future', [
    () => charts.create({ dob: later }),
    () => charts.create({ dob: '2999-01-01T00:00:00Z' }),
    () => charts.patch(failed.id, { dob: later }),
  ]);
  await charts.rejects(400, 'responsible_party_dob must not be in the future', [
    () => charts.create({ ...payer, responsible_party_dob: later }),
  ]);
  const subscriber = { first_name: 'Sub', last_name: 'Scriber', dob: later };
  const spouse = { relationship_to_subscriber: 'spouse', subscriber_demographics: subscriber };
  await charts.rejects(400, 'subscriber_demographics.dob must not be in the future', [
    () => charts.add(mrn, { insurance_name: 'Mock Mutual', member_id: 'M', ...spouse }),
  ]);
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/New_York' }).format(new Date());
  await charts.created({ dob: today });
});

test(row('TXT-08'), async () => {
  const rule = 'email must be an email address with a domain, such as name@example.org';
  for (const email of [
    'ada',
    'ada@',
    'ada@example',
    '@example.org',
    'ada@example.',
    'ada@@example.org',
    'a b@example.org',
  ]) {
    await charts.rejects(400, rule, [() => charts.create({ email })]);
  }
  expect((await charts.created({ email: ' ada.o+x@mail.example.org ' })).chart.email).toBe('ada.o+x@mail.example.org');
});

test(row('TXT-09'), async () => {
  const { mrn } = anotherPatient();
  for (const [sex, saved] of Object.entries({ M: 'M', F: 'F', U: 'U', male: 'M', unknown: 'U' })) {
    const person = { first_name: 'Sub', last_name: `Scriber${sex}`, sex };
    const { row } = await charts.added(mrn, { relationship_to_subscriber: 'spouse', subscriber_demographics: person });
    const [guarantor] = await charts.rows('guarantors', { guarantorId: row.guarantorId });
    expect(guarantor.sexCode, sex).toBe(saved);
  }
});

test(row('TXT-11'), async () => {
  const headers = { 'idempotency-key': `order-${Date.now()}` };
  const body = { member_id: 'M', insurance_name: 'Mock Mutual', relationship_to_subscriber: 'spouse' };
  const person = { first_name: 'Sub', last_name: 'Scriber' };
  const { mrn } = anotherPatient();
  const send = (sent: Fields) => fixture.api.call('POST', `/v1/patients/${mrn}/insurances`, { body: sent, headers });
  const first = await send({ ...body, subscriber_demographics: person });
  const { last_name, first_name } = person;
  const again = await send({ subscriber_demographics: { last_name, first_name }, ...body, member_id: ' M ' });
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.body).toStrictEqual(first.body);
  const other = await send({ ...body, subscriber_demographics: { first_name: last_name, last_name: first_name } });
  expect(other.status).toBe(422);
  await fixture.api.untilEvent(first.body.job_id);
});
