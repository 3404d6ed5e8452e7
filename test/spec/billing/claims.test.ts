import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { newClient } from '../../api/support.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, patient, setFault, signInToLarkspur } from '../../journeys/support.ts';
import { completeBooking, free_day } from '../support/completedJobs.ts';
import { addClinicRow, changeClinicRow, clinicRows } from '../support/emrRecords.ts';
import { expectRejected } from '../support/expectErrors.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
});

const { mrn } = patient(23);
let hour = 8;
/** Books a visit and returns the data of its event. */
async function visit(): Promise<{ appointment_id: string; ehr_appointment_id: string }> {
  hour += 1;
  const time = `${String(hour).padStart(2, '0')}:00:00-04:00`;
  return (await completeBooking(fixture, { mrn, type: 'NP', datetime: `${free_day}T${time}` })).event.data;
}
const send = (appointment_id?: unknown, headers: Record<string, string> = {}) =>
  fixture.api.call('POST', '/v1/claims', { body: { appointment_id }, headers });

async function created() {
  const booked = await visit();
  const { status, body: accepted } = await send(booked.appointment_id);
  expect(status, JSON.stringify(accepted)).toBe(202);
  return { booked, accepted, event: await fixture.api.untilEvent(accepted.job_id) };
}

const listed = async (claim_id: string) =>
  (await fixture.api.call('GET', `/v1/claims?patient_mrn=${mrn}`)).body.claims.find(
    ({ id }: { id: string }) => id === claim_id,
  );

test(row('BIL-16'), async () => {
  const { booked, accepted, event } = await created();
  expect(accepted).toStrictEqual({
    success: true,
    message: 'Claim creation queued. A webhook event follows on completion.',
    claim_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    appointment_id: booked.appointment_id,
    job_id: expect.any(Number),
  });
  const claim = await chart.read(`/api/claims/${event.data.emr_claim_id}`);
  expect(claim).toMatchObject({
    ...{ appointmentId: booked.ehr_appointment_id, mrn, statusCode: 'NEW', totalCharge: '175.00', balance: '175.00' },
    lineItems: [{ cptCode: '99203', billedAmount: '175.00' }],
  });
  expect(claim.insurances.length).toBeGreaterThan(0);
  expect(await chart.page(`/claims?q=${claim.claimId}`)).toContain(`/claims/${claim.claimId}`);
});

test(row('BIL-17'), async () => {
  const field = 'appointment_id';
  const required = { message: "'appointment_id' is required.", field, code: 'missing_field' };
  for (const missing of [undefined, null, '', ' ']) await expectRejected(fixture, () => send(missing), required);
  for (const invalid of ['x', '600000', 'g'.repeat(32), 5, ['a']]) {
    await expectRejected(fixture, () => send(invalid), { message: /^appointment_id must be/, field });
  }
  const unknown = { status: 404, message: 'Appointment not found.', field };
  await expectRejected(fixture, () => send(randomUUID().replaceAll('-', '')), unknown);
  // An ID of another kind of record is unknown, too.
  const [{ id: provider_id }] = (await fixture.api.call('GET', '/v1/providers')).body.providers;
  await expectRejected(fixture, () => send(provider_id), unknown);
  const unfinished = {
    status: 409,
    message: 'The appointment has no EMR ID. Wait for the event of its booking, or correct it if it has failed.',
    field,
  };
  const { accepted } = await withJobsPaused(fixture, async () => {
    const body = { mrn, location: '11', provider: '501', type: 'FU', datetime: `${free_day}T07:00:00-04:00` };
    const { body: accepted } = await fixture.api.call('POST', '/v1/appointments', { body });
    expect((await send(accepted.appointment_id)).status).toBe(409);
    return { accepted };
  });
  await fixture.api.untilEvent(accepted.job_id);
  await setFault(fixture.api, 'create_appointment', 'refuse', { reason: 'Closed.' });
  const failed = await completeBooking(fixture, { mrn });
  expect(failed.event.event_type).toBe('appointment.failed');
  await expectRejected(fixture, () => send(failed.accepted.appointment_id), unfinished);
  const other = await newClient(fixture);
  const foreign = await other.api.call('POST', '/v1/claims', {
    body: { appointment_id: accepted.appointment_id },
    headers: { access_token: null },
  });
  expect(foreign.status).toBe(401);
});

test(row('BIL-18'), async () => {
  const { booked, accepted } = await created();
  const expectExists = (response: Awaited<ReturnType<typeof send>>, claim_id: string) => {
    expect([response.status, response.body.code, response.body.claim_id]).toStrictEqual([
      409,
      'claim_exists',
      claim_id,
    ]);
    expect(response.body.message).toBe(`The appointment has a claim already: ${claim_id}.`);
  };
  expectExists(await send(booked.appointment_id), accepted.claim_id);
  const next = await visit();
  const key = { 'idempotency-key': randomUUID() };
  const [first, jobs] = await withJobsPaused(fixture, async () => {
    const [one, ...others] = await Promise.all(
      [0, 1, 2, 3].map((n) => send(next.appointment_id, n === 0 ? key : {})),
    ).then((all) => all.sort((a, b) => a.status - b.status));
    expect(one?.status).toBe(202);
    for (const other of others) expectExists(other, one?.body.claim_id);
    expectExists(await send(next.appointment_id), one?.body.claim_id);
    return [one?.body, others.length];
  });
  expect(jobs).toBe(3);
  expect((await fixture.api.untilEvent(first.job_id)).event_type).toBe('claim.created');
  expect(await clinicRows(fixture, 'claims', { appointmentId: next.ehr_appointment_id })).toHaveLength(1);
  const billed = await visit();
  const { claimId } = await addClinicRow(fixture, 'claims', {
    ...{ appointmentId: billed.ehr_appointment_id, patientId: patient(23).ehr_id, mrn, providerId: '501' },
    ...{ serviceDate: '07/09/2026', claimDate: '07/09/2026' },
  });
  // The cache does not know the claim of staff yet, but the EMR does.
  const { body } = await send(billed.appointment_id);
  const event = await fixture.api.untilEvent(body.job_id);
  expect(event).toMatchObject({ event_type: 'claim.failed', data: { reasons: [{ code: 'duplicate_record' }] } });
  await fixture.api.sync();
  const { claims } = (await fixture.api.call('GET', `/v1/claims?patient_mrn=${mrn}`)).body;
  const { id } = claims.find(({ emr_claim_id }: { emr_claim_id: string }) => emr_claim_id === claimId);
  expectExists(await send(billed.appointment_id), id);
});

test(row('BIL-19'), async () => {
  const booked = await visit();
  await setFault(fixture.api, 'create_claim', 'refuse', { reason: 'Not today.' });
  const failed = await send(booked.appointment_id);
  expect((await fixture.api.untilEvent(failed.body.job_id)).event_type).toBe('claim.failed');
  const second = await send(booked.appointment_id);
  const { data } = await fixture.api.untilEvent(second.body.job_id);
  await changeClinicRow(fixture, 'claims', data.emr_claim_id, { voidFlag: 'Y' });
  await fixture.api.sync();
  const third = await send(booked.appointment_id);
  expect(third.status).toBe(202);
  expect((await fixture.api.untilEvent(third.body.job_id)).event_type).toBe('claim.created');
});

test(row('BIL-20'), async () => {
  const { booked, accepted, event } = await created();
  expect(event.event_type).toBe('claim.created');
  expect(event.data).toStrictEqual({
    claim_id: accepted.claim_id,
    emr_claim_id: expect.stringMatching(/^\d+$/),
    appointment_id: booked.appointment_id,
    patient_mrn: mrn,
  });
  const claim = await listed(accepted.claim_id);
  expect(claim).toMatchObject({
    ...{ emr_claim_id: event.data.emr_claim_id, emr_appointment_id: booked.ehr_appointment_id, total_charge: 175 },
    ...{ claim_status: 'NEW', void_flag: false },
  });
  await fixture.api.sync();
  expect(await listed(accepted.claim_id)).toMatchObject({ emr_claim_id: event.data.emr_claim_id });
});

test(row('BIL-21'), async () => {
  const booked = await visit();
  await changeClinicRow(fixture, 'appointments', booked.ehr_appointment_id, { statusCode: 'CAN' });
  const { body } = await send(booked.appointment_id);
  const event = await fixture.api.untilEvent(body.job_id);
  expect(event.event_type).toBe('claim.failed');
  const failure_reason = 'The visit did not take place: it was canceled, missed or moved.';
  expect(event.data).toStrictEqual({
    claim_id: body.claim_id,
    appointment_id: booked.appointment_id,
    patient_mrn: mrn,
    failure_reason,
    reasons: [{ code: 'emr_validation', description: failure_reason }],
  });
});

test(row('BIL-22'), async () => {
  const { api } = await fhirAccount(fixture);
  const response = await api.call('POST', '/v1/claims', { body: { appointment_id: 'a'.repeat(32) } });
  expect([response.status, response.body.message]).toStrictEqual([
    400,
    'New claims are only supported for Larkspur EMR.',
  ]);
});

test(row('BIL-23'), async () => {
  for (const kind of ['lose_answer', 'truncate', 'reset']) {
    await setFault(fixture.api, 'create_claim', kind);
    const { booked, event } = await created();
    expect(event.event_type, kind).toBe('claim.created');
    expect(await clinicRows(fixture, 'claims', { appointmentId: booked.ehr_appointment_id })).toHaveLength(1);
  }
});
