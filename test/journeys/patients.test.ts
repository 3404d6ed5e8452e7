import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ApiResponse } from '../harness/api.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { countRows, endPauses, setFault, until, untilFailedAttempt } from './support.ts';

let fixture: TestSandbox;
let names_used = 0;
beforeAll(async () => {
  fixture = await sharedSandbox();
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

/** The fields of a person without a chart. */
function newPatient(fields: Record<string, unknown> = {}) {
  names_used += 1;
  return { first_name: 'Nova', last_name: `Fresh${names_used}`, dob: '2004-02-29', sex: 'female', ...fields };
}
const create = (body: Record<string, unknown>, headers = {}) =>
  fixture.api.call('POST', '/v1/patients', { body, headers });
const patch = (id: string, body: Record<string, unknown>, headers = {}) =>
  fixture.api.call('PATCH', `/v1/patients/${id}`, { body, headers });

async function listed(id: string): Promise<ApiResponse['body']> {
  const { body } = await fixture.api.call('GET', '/v1/patients?page_size=1000');
  return body.patients.find((patient: { id: string }) => patient.id === id);
}

/** Creates a patient and waits for its chart. */
async function created(fields: Record<string, unknown> = {}): Promise<{ id: string; mrn: string }> {
  const { body } = await create(newPatient(fields));
  const event = await fixture.api.untilEvent(body.job_id);
  expect(event, JSON.stringify(event)).toMatchObject({ event_type: 'patient.created' });
  return { id: body.patient_id, mrn: event.data.mrn };
}

async function chart(mrn: string): Promise<ApiResponse['body']> {
  const { body } = await fixture.api.control('GET', `/control/patients?mrn=${mrn}`);
  expect(body.rows).toHaveLength(1);
  return body.rows[0];
}

describe('a new patient', () => {
  test('is stored in the EMR with every field', async () => {
    const { body: companies } = await fixture.api.call('GET', '/v1/insurance-providers?name=mock');
    const { body: doctors } = await fixture.api.call('GET', '/v1/referring-providers');
    const { body: pharmacies } = await fixture.api.call('GET', '/v1/pharmacies');
    const [company, doctor, pharmacy] = [
      companies.insurance_providers[0],
      doctors.referring_providers[0],
      pharmacies.pharmacies[0],
    ];
    const person = newPatient({
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
      referred_to_provider_id: fixture.sandbox.example.provider_id,
      emergency_contact_first_name: 'Em',
      emergency_contact_phone: '518-555-0104',
      pharmacy_id: pharmacy.id,
      language: 'Spanish',
      release_of_info: false,
      default_facility_id: fixture.sandbox.example.location_id,
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
    const event = await fixture.api.untilEvent(job_id);
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
      renderingProviderId: fixture.sandbox.example.provider_id,
      emergencyContact: { firstName: 'Em', phone: '518-555-0104' },
    });
    const of = `patientId=${row.patientId}`;
    const guarantors = (await fixture.api.control('GET', `/control/guarantors?${of}`)).body.rows;
    expect(guarantors).toMatchObject([
      { firstName: 'Pat', sexCode: 'M', birthDate: '01/31/1970', relationshipCode: '18' },
    ]);
    const insurances = (await fixture.api.control('GET', `/control/patient-insurances?${of}`)).body.rows;
    expect(insurances).toMatchObject([
      { companyId: company.ehr_id, subscriberNumber: 'S1', priority: 1, guarantorId: guarantors[0].guarantorId },
      { companyId: null, companyName: 'Nowhere Health', subscriberNumber: 'S2', priority: 2 },
    ]);
    expect((await fixture.api.control('GET', `/control/eligibility-checks?${of}`)).body.rows).toHaveLength(1);
    expect(await listed(patient_id)).toMatchObject({
      ehr_id: row.patientId,
      mrn: event.data.mrn,
      status: 'active',
      address_state: 'NY',
      insurance_name: company.name,
      insurance_subscriber_number: 'S1',
    });
  });

  test('a new patient that duplicates a chart fails with the MRN of that chart, and can be corrected', async () => {
    const person = newPatient();
    const first = await fixture.api.untilEvent((await create(person)).body.job_id);
    const { body } = await create(person);
    const failed = await fixture.api.untilEvent(body.job_id);
    expect(failed).toMatchObject({
      event_type: 'patient.failed',
      data: { failure_reason: expect.stringContaining('duplicate'), duplicate_patient_mrn: first.data.mrn },
    });
    expect(await listed(body.patient_id)).toMatchObject({ status: 'failed', mrn: null });
    const corrected = await patch(body.patient_id, { middle_name: 'B', dob: '2004-02-28' });
    expect(corrected.body).toStrictEqual({
      success: true,
      message: expect.stringContaining('queued'),
      job_id: expect.any(Number),
    });
    const recreated = await fixture.api.untilEvent(corrected.body.job_id);
    expect(recreated).toMatchObject({ event_type: 'patient.created', data: { patient_id: body.patient_id } });
    expect(await chart(recreated.data.mrn)).toMatchObject({ middleName: 'B', birthDate: '02/28/2004' });
    expect(await listed(body.patient_id)).toMatchObject({ status: 'active', middle_name: 'B' });
  });

  test('is created once if the response is lost', async () => {
    await setFault(fixture.api, 'create_patient', 'lose_answer');
    const { mrn, id } = await created({ phone: '518-555-0199' });
    const applied = (await fixture.api.ledger()).filter(
      (entry) => entry.operation === 'create_patient' && entry.applied,
    );
    expect(applied.filter((entry) => entry.marker.startsWith(id))).toHaveLength(1);
    expect(await chart(mrn)).toMatchObject({ homePhone: '518-555-0199' });
  });

  test('requested several times with one Idempotency-Key is created once', async () => {
    const person = newPatient();
    const headers = { 'idempotency-key': 'twice' };
    const responses = await Promise.all([1, 2, 3].map(() => create(person, headers)));
    expect(new Set(responses.map(({ body }) => body.patient_id)).size).toBe(1);
    await fixture.api.untilEvent(responses[0]?.body.job_id);
    expect(
      (await fixture.owner`SELECT FROM patients WHERE last_folded = ${person.last_name.toLowerCase()}`).length,
    ).toBe(1);
  });
});

describe('a PATCH of a pending patient', () => {
  test('changes the creation if it has not started', async () => {
    await setFault(fixture.api, 'create_patient', 'error_429', { times: 50 });
    const { body } = await create(newPatient({ phone: '518-555-0001' }));
    await untilFailedAttempt(fixture.api, body.job_id);
    const patched = await patch(body.patient_id, { phone: '518-555-0002', email: 'new@example.test' });
    expect(patched.body).toStrictEqual({ success: true, message: expect.stringContaining('queued') });
    expect(await listed(body.patient_id)).toMatchObject({ status: 'pending', phone: '518-555-0002' });
    await fixture.api.control('DELETE', '/control/faults');
    await endPauses(fixture.owner);
    const event = await fixture.api.untilEvent(body.job_id);
    expect(await chart(event.data.mrn)).toMatchObject({ homePhone: '518-555-0002', email: 'new@example.test' });
  });

  test('is applied as an update if the creation is running', async () => {
    await setFault(fixture.api, 'create_patient', 'delay', { delay_ms: 5_000 });
    const { body } = await create(
      newPatient({ phone: '518-555-0003', insurance_name: 'Mock Mutual', insurance_subscriber_number: 'OLD' }),
    );
    await until(
      'the intent',
      async () => (await fixture.owner`SELECT FROM job_steps WHERE job_id = ${body.job_id} AND kind = 'intent'`)[0],
    );
    const { pharmacy_ehr_id } = fixture.sandbox.example;
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
    const event = await fixture.api.untilEvent(body.job_id);
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
    expect((await fixture.api.control('GET', `/control/patient-insurances?${of}`)).body.rows).toHaveLength(1);
    expect((await fixture.api.control('GET', `/control/eligibility-checks?${of}`)).body.rows).toHaveLength(1);
    expect(await listed(body.patient_id)).toMatchObject({ first_name: 'Renamed', insurance_subscriber_number: 'NEW' });
    const { body: all } = await fixture.api.call('GET', '/v1/webhook-events?event_type=patient.updated');
    expect(all.webhook_events[0].data).toMatchObject({ patient_id: body.patient_id, mrn: event.data.mrn });
  });
});

describe('an active patient', () => {
  test('is updated in the EMR, and the event lists every changed field', async () => {
    const { id, mrn } = await created({
      address_street: '1 Old Street',
      address_city: 'Oldton',
      address_state: 'NY',
      address_zip: '12999',
    });
    const { body } = await patch(id, { address_street: '2 New Street', phone: '518-555-0200' });
    expect((await listed(id)).status).toMatch(/^(pending_update|active)$/);
    const event = await fixture.api.untilEvent(body.job_id);
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

  test('keeps its values and status if the EMR rejects the update', async () => {
    const { id, mrn } = await created({ phone: '518-555-0301' });
    await setFault(fixture.api, 'update_patient', 'refuse', { reason: 'The chart is locked.' });
    const { body } = await patch(id, { phone: '518-555-0302' });
    const event = await fixture.api.untilEvent(body.job_id);
    expect(event).toMatchObject({
      event_type: 'patient.update_failed',
      data: { patient_id: id, mrn, failure_reason: 'The chart is locked.' },
    });
    expect(await listed(id)).toMatchObject({ status: 'active', phone: '518-555-0301' });
  });

  test('applies several updates in order and is active after the last one', async () => {
    const { id, mrn } = await created();
    await setFault(fixture.api, 'update_patient', 'delay', { times: 3, delay_ms: 200 });
    const responses = await Promise.all([1, 2, 3].map((n) => patch(id, { phone: `518-555-040${n}` })));
    const jobs = responses.map(({ body }) => body.job_id as number).sort((a, b) => a - b);
    await fixture.api.untilEvent(jobs[0] ?? 0);
    const rows = await fixture.owner`SELECT status, open_updates FROM patients WHERE id = ${id}`;
    expect(rows[0]?.status === 'pending_update').toBe(rows[0]?.open_updates !== 0);
    await Promise.all(jobs.map((job) => fixture.api.untilEvent(job)));
    const { phone, status } = await listed(id);
    expect(status).toBe('active');
    expect((await chart(mrn)).homePhone).toBe(phone);
  });

  test('rejects an invalid update without applying any of it', async () => {
    const { id } = await created();
    const before = await countRows(fixture.owner);
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
      const response = await patch(id, body);
      expect(response, JSON.stringify(body)).toMatchObject({
        status,
        body: { message: expect.stringMatching(message) },
      });
    }
    expect(await countRows(fixture.owner)).toStrictEqual(before);
    expect(await listed(id)).toMatchObject({ status: 'active', phone: null });
    expect((await patch('f'.repeat(32), { phone: '518-555-0101' })).status).toBe(404);
  });
});

test('a sync during a creation does not duplicate the patient', async () => {
  await setFault(fixture.api, 'create_patient', 'lose_answer');
  const { body } = await create(newPatient());
  const synced = await fixture.api.call('POST', '/v1/sync');
  await Promise.all([fixture.api.untilEvent(body.job_id), fixture.api.untilEvent(synced.body.job_id)]);
  const { mrn } = await listed(body.patient_id);
  expect((await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients).toHaveLength(1);
  const again = await fixture.api.call('POST', '/v1/sync');
  await fixture.api.untilEvent(again.body.job_id);
  expect(await listed(body.patient_id)).toMatchObject({ mrn, status: 'active' });
});
