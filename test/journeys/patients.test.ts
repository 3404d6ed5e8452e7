import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Answer } from '../harness/api.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { countRows, endPauses, setFault, until, untilFailedTry } from './journey.ts';

let world: TestSandbox;
let named = 0;
beforeAll(async () => {
  world = await startSandbox({ small: true });
});
afterAll(() => world.close());
beforeEach(() => world.api.control('DELETE', '/control/faults'));

/** A person nobody has a chart of. */
function newcomer(fields: Record<string, unknown> = {}) {
  named += 1;
  return { first_name: 'Nova', last_name: `Fresh${named}`, dob: '2004-02-29', sex: 'female', ...fields };
}
const create = (body: Record<string, unknown>, headers = {}) =>
  world.api.call('POST', '/v1/patients', { body, headers });
const patch = (id: string, body: Record<string, unknown>, headers = {}) =>
  world.api.call('PATCH', `/v1/patients/${id}`, { body, headers });

async function listed(id: string): Promise<Answer['body']> {
  const { body } = await world.api.call('GET', '/v1/patients?page_size=1000');
  return body.patients.find((patient: { id: string }) => patient.id === id);
}

/** Creates a patient and waits for its chart. */
async function created(fields: Record<string, unknown> = {}): Promise<{ id: string; mrn: string }> {
  const { body } = await create(newcomer(fields));
  const event = await world.api.untilEvent(body.job_id);
  expect(event, JSON.stringify(event)).toMatchObject({ event_type: 'patient.created' });
  return { id: body.patient_id, mrn: event.data.mrn };
}

async function chart(mrn: string): Promise<Answer['body']> {
  const { body } = await world.api.control('GET', `/control/patients?mrn=${mrn}`);
  expect(body.rows).toHaveLength(1);
  return body.rows[0];
}

describe('a new patient', () => {
  test('is pending, then has a chart with everything that was sent', async () => {
    const { body: companies } = await world.api.call('GET', '/v1/insurance-providers?name=mock');
    const { body: doctors } = await world.api.call('GET', '/v1/referring-providers');
    const { body: pharmacies } = await world.api.call('GET', '/v1/pharmacies');
    const [company, doctor, pharmacy] = [
      companies.insurance_providers[0],
      doctors.referring_providers[0],
      pharmacies.pharmacies[0],
    ];
    const person = newcomer({
      middle_name: 'Q',
      phone: '518-555-0101',
      cell_phone: '518-555-0102',
      email: 'nova@example.test',
      address_street: '1 New Street',
      address_line2: 'Unit 2',
      address_city: 'Exampleton',
      address_state: 'ny',
      address_zip: '12999-0001',
      insurance_provider_id: company.id,
      insurance_subscriber_number: 'S1',
      secondary_insurance_name: 'Nowhere Health',
      secondary_insurance_subscriber_number: 'S2',
      check_eligibility: 'true',
      responsible_party: 'parent',
      responsible_party_first_name: 'Pat',
      responsible_party_last_name: 'Fresh',
      responsible_party_sex: 'male',
      responsible_party_dob: '1970-01-31',
      responsible_party_phone: '518-555-0103',
      referring_provider_id: doctor.id,
      pcp_first_name: 'Known',
      pcp_last_name: 'Byname',
      referred_to_provider_id: world.sandbox.example.provider_id,
      emergency_contact_first_name: 'Em',
      emergency_contact_phone: '518-555-0104',
      pharmacy_id: pharmacy.id,
      language: 'Spanish',
      release_of_info: false,
      default_facility_id: world.sandbox.example.location_id,
    });
    const { status, body } = await create(person);
    expect(status, JSON.stringify(body)).toBe(200);
    const { patient_id, job_id } = body;
    expect(body).toStrictEqual({
      success: true,
      message: expect.stringContaining('queued'),
      patient_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      job_id: expect.any(Number),
      data: { patient_id, job_id },
    });
    const event = await world.api.untilEvent(job_id);
    expect(event.data).toStrictEqual({ patient_id, mrn: expect.stringMatching(/^LK/) });
    const row = await chart(event.data.mrn);
    expect(row).toMatchObject({
      middleName: 'Q',
      birthDate: '02/29/2004',
      address: { line1: '1 New Street', line2: 'Unit 2', city: 'Exampleton', state: 'NY', zip: '12999-0001' },
      primaryInsuranceName: company.name,
      languageCode: 'SPA',
      releaseOfInfoFlag: 'N',
      rxConsentFlag: 'Y',
      selfPayFlag: 'N',
      responsiblePartyCode: '18',
      referringId: doctor.ehr_id,
      pcpFirstName: 'Known',
      renderingProviderId: world.sandbox.example.provider_id,
      emergencyContact: { firstName: 'Em', phone: '518-555-0104' },
    });
    const of = `patientId=${row.patientId}`;
    const guarantors = (await world.api.control('GET', `/control/guarantors?${of}`)).body.rows;
    expect(guarantors).toMatchObject([
      { firstName: 'Pat', sexCode: 'M', birthDate: '01/31/1970', relationshipCode: '18' },
    ]);
    const insurances = (await world.api.control('GET', `/control/patient-insurances?${of}`)).body.rows;
    expect(insurances).toMatchObject([
      { companyId: company.ehr_id, subscriberNumber: 'S1', priority: 1, guarantorId: guarantors[0].guarantorId },
      { companyId: null, companyName: 'Nowhere Health', subscriberNumber: 'S2', priority: 2 },
    ]);
    expect((await world.api.control('GET', `/control/eligibility-checks?${of}`)).body.rows).toHaveLength(1);
    expect(await listed(patient_id)).toMatchObject({
      ehr_id: row.patientId,
      mrn: event.data.mrn,
      status: 'active',
      address_state: 'NY',
      insurance_name: company.name,
      insurance_subscriber_number: 'S1',
    });
  });

  test('that the EMR knows already fails with the MRN it has, and can be mended', async () => {
    const person = newcomer();
    const first = await world.api.untilEvent((await create(person)).body.job_id);
    const { body } = await create(person);
    const failed = await world.api.untilEvent(body.job_id);
    expect(failed).toMatchObject({
      event_type: 'patient.failed',
      data: { failure_reason: expect.stringContaining('duplicate'), duplicate_patient_mrn: first.data.mrn },
    });
    expect(await listed(body.patient_id)).toMatchObject({ status: 'failed', mrn: null });
    const mended = await patch(body.patient_id, { middle_name: 'B', dob: '2004-02-28' });
    expect(mended.body).toStrictEqual({
      success: true,
      message: expect.stringContaining('queued'),
      job_id: expect.any(Number),
    });
    const made = await world.api.untilEvent(mended.body.job_id);
    expect(made).toMatchObject({ event_type: 'patient.created', data: { patient_id: body.patient_id } });
    expect(await chart(made.data.mrn)).toMatchObject({ middleName: 'B', birthDate: '02/28/2004' });
    expect(await listed(body.patient_id)).toMatchObject({ status: 'active', middle_name: 'B' });
  });

  test('is made once, whatever becomes of the answer', async () => {
    await setFault(world.api, 'create_patient', 'lose_answer');
    const { mrn, id } = await created({ phone: '518-555-0199' });
    const applied = (await world.api.ledger()).filter((entry) => entry.operation === 'create_patient' && entry.applied);
    expect(applied.filter((entry) => entry.marker.startsWith(id))).toHaveLength(1);
    expect(await chart(mrn)).toMatchObject({ homePhone: '518-555-0199' });
  });

  test('asked for twice under one Idempotency-Key is one patient', async () => {
    const person = newcomer();
    const headers = { 'idempotency-key': 'twice' };
    const answers = await Promise.all([1, 2, 3].map(() => create(person, headers)));
    expect(new Set(answers.map(({ body }) => body.patient_id)).size).toBe(1);
    await world.api.untilEvent(answers[0]?.body.job_id);
    expect((await world.owner`SELECT FROM patients WHERE last_folded = ${person.last_name.toLowerCase()}`).length).toBe(
      1,
    );
  });
});

describe('a patient changed while it is made', () => {
  test('is created with the new values when the creation has not begun', async () => {
    await setFault(world.api, 'create_patient', 'error_429', { times: 50 });
    const { body } = await create(newcomer({ phone: '518-555-0001' }));
    await untilFailedTry(world.api, body.job_id);
    const patched = await patch(body.patient_id, { phone: '518-555-0002', email: 'new@example.test' });
    expect(patched.body).toStrictEqual({ success: true, message: expect.stringContaining('queued') });
    expect(await listed(body.patient_id)).toMatchObject({ status: 'pending', phone: '518-555-0002' });
    await world.api.control('DELETE', '/control/faults');
    await endPauses(world.owner);
    const event = await world.api.untilEvent(body.job_id);
    expect(await chart(event.data.mrn)).toMatchObject({ homePhone: '518-555-0002', email: 'new@example.test' });
  });

  test('is updated after the creation that was under way, in every field', async () => {
    await setFault(world.api, 'create_patient', 'delay', { delay_ms: 5_000 });
    const { body } = await create(
      newcomer({ phone: '518-555-0003', insurance_name: 'Mock Mutual', insurance_subscriber_number: 'OLD' }),
    );
    await until(
      'the intent',
      async () => (await world.owner`SELECT FROM job_steps WHERE job_id = ${body.job_id} AND kind = 'intent'`)[0],
    );
    const { pharmacy_ehr_id } = world.sandbox.example;
    const patched = await patch(body.patient_id, {
      phone: '518-555-0004',
      first_name: 'Renamed',
      insurance_subscriber_number: 'NEW',
      pharmacy_id: pharmacy_ehr_id,
      responsible_party: 'spouse',
      responsible_party_first_name: 'Sam',
      responsible_party_last_name: 'Fresh',
      check_eligibility: 'true',
    });
    expect(patched.status, JSON.stringify(patched.body)).toBe(200);
    const event = await world.api.untilEvent(body.job_id);
    expect(event.event_type).toBe('patient.created');
    await until('the update', async () => (await listed(body.patient_id)).status === 'active');
    const row = await chart(event.data.mrn);
    expect(row).toMatchObject({
      firstName: 'Renamed',
      homePhone: '518-555-0004',
      responsiblePartyCode: '2',
      primarySubscriberNumber: 'NEW',
    });
    const of = `patientId=${row.patientId}`;
    expect((await world.api.control('GET', `/control/patient-insurances?${of}`)).body.rows).toHaveLength(1);
    expect((await world.api.control('GET', `/control/eligibility-checks?${of}`)).body.rows).toHaveLength(1);
    expect(await listed(body.patient_id)).toMatchObject({ first_name: 'Renamed', insurance_subscriber_number: 'NEW' });
    const { body: all } = await world.api.call('GET', '/v1/webhook-events?event_type=patient.updated');
    expect(all.webhook_events[0].data).toMatchObject({ patient_id: body.patient_id, mrn: event.data.mrn });
  });
});

describe('an active patient', () => {
  test('is changed in the EMR, told field by field, and its address kept as history', async () => {
    const { id, mrn } = await created({
      address_street: '1 Old Street',
      address_city: 'Oldton',
      address_state: 'NY',
      address_zip: '12999',
    });
    const { body } = await patch(id, { address_street: '2 New Street', phone: '518-555-0200' });
    expect((await listed(id)).status).toMatch(/^(pending_update|active)$/);
    const event = await world.api.untilEvent(body.job_id);
    expect(event).toMatchObject({ event_type: 'patient.updated', data: { patient_id: id, mrn } });
    expect(event.data.audit_trail).toStrictEqual(
      expect.arrayContaining([
        { field_label: 'Address line 1', before: '1 Old Street', after: '2 New Street', property: 'address_street' },
        { field_label: 'Home phone', before: null, after: '518-555-0200', property: 'phone' },
      ]),
    );
    expect(event.data.audit_trail).toHaveLength(2);
    expect(await listed(id)).toMatchObject({
      status: 'active',
      address_street: '2 New Street',
      address_city: 'Oldton',
    });
  });

  test('stays active as it was when the EMR refuses', async () => {
    const { id, mrn } = await created({ phone: '518-555-0301' });
    await setFault(world.api, 'update_patient', 'refuse', { reason: 'The chart is locked.' });
    const { body } = await patch(id, { phone: '518-555-0302' });
    const event = await world.api.untilEvent(body.job_id);
    expect(event).toMatchObject({
      event_type: 'patient.update_failed',
      data: { patient_id: id, mrn, failure_reason: 'The chart is locked.' },
    });
    expect(await listed(id)).toMatchObject({ status: 'active', phone: '518-555-0301' });
  });

  test('takes several changes in their order and is active after the last', async () => {
    const { id, mrn } = await created();
    await setFault(world.api, 'update_patient', 'delay', { times: 3, delay_ms: 200 });
    const answers = await Promise.all([1, 2, 3].map((n) => patch(id, { phone: `518-555-040${n}` })));
    const jobs = answers.map(({ body }) => body.job_id as number).sort((a, b) => a - b);
    await world.api.untilEvent(jobs[0] ?? 0);
    const rows = await world.owner`SELECT status, open_updates FROM patients WHERE id = ${id}`;
    expect(rows[0]?.status === 'pending_update').toBe(rows[0]?.open_updates !== 0);
    await Promise.all(jobs.map((job) => world.api.untilEvent(job)));
    const { phone, status } = await listed(id);
    expect(status).toBe('active');
    expect((await chart(mrn)).homePhone).toBe(phone);
  });

  test('refuses what cannot be, and nothing of the request is applied', async () => {
    const { id } = await created();
    const before = await countRows(world.owner);
    const cases: [Record<string, unknown>, number, RegExp][] = [
      [{}, 400, /At least one field/],
      [{ save_previous_address: false }, 400, /At least one field/],
      [{ first_name: 'X' }, 400, /Field 'first_name' cannot be changed on an active patient\./],
      [{ phone: '5185550101' }, 400, /phone/],
      [{ address_state: 'ZZ' }, 400, /address_state/],
      [{ phone: '518-555-0101', pcp_first_name: 'A' }, 400, /pcp_first_name and pcp_last_name must be used together/],
      [
        { phone: '518-555-0101', pcp_first_name: 'A', pcp_last_name: 'Nobody' },
        404,
        /No referring provider is named 'A Nobody'/,
      ],
      [{ phone: '518-555-0101', referring_provider_id: 'f'.repeat(32) }, 404, /Referring provider with ID/],
      [{ phone: '518-555-0101', referred_to_provider_id: 'nobody' }, 404, /Provider with EMR ID 'nobody' not found/],
    ];
    for (const [body, status, message] of cases) {
      const answer = await patch(id, body);
      expect(answer, JSON.stringify(body)).toMatchObject({ status, body: { message: expect.stringMatching(message) } });
    }
    expect(await countRows(world.owner)).toStrictEqual(before);
    expect(await listed(id)).toMatchObject({ status: 'active', phone: null });
    expect((await patch('f'.repeat(32), { phone: '518-555-0101' })).status).toBe(404);
  });
});

test('a sync while a patient is made leaves one patient, the client’s', async () => {
  await setFault(world.api, 'create_patient', 'lose_answer');
  const { body } = await create(newcomer());
  const synced = await world.api.call('POST', '/v1/sync');
  await Promise.all([world.api.untilEvent(body.job_id), world.api.untilEvent(synced.body.job_id)]);
  const { mrn } = await listed(body.patient_id);
  expect((await world.api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients).toHaveLength(1);
  const again = await world.api.call('POST', '/v1/sync');
  await world.api.untilEvent(again.body.job_id);
  expect(await listed(body.patient_id)).toMatchObject({ mrn, status: 'active' });
});

test('what this practice requires beyond ours is asked for by name', async () => {
  const value = ['email', 'insurances', 'cellPhone'];
  await world.api.control('PATCH', '/control/settings/requiredPatientFields', { value });
  const synced = await world.api.call('POST', '/v1/sync');
  await world.api.untilEvent(synced.body.job_id);
  const { body } = await world.api.call('GET', '/v1/settings');
  expect(body.data.required_patient_fields).toStrictEqual(['email', 'insurance_name', 'cell_phone']);
  const missing = async (fields: Record<string, unknown>) => (await create(newcomer(fields))).body.message;
  expect(await missing({})).toBe('Missing required field: email');
  expect(await missing({ no_email_reason: 'Has none' })).toBe('Missing required field: insurance_name');
  const told = { no_email_reason: 'Has none', insurance_name: 'Mock Mutual' };
  expect(await missing(told)).toBe('Missing required field: cell_phone');
  await created({ ...told, cell_phone: '518-555-0500' });
  await world.api.control('PATCH', '/control/settings/requiredPatientFields', { value: [] });
});
