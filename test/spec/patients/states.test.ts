import { beforeAll, beforeEach, expect, test } from 'vitest';
import { dereference } from '../../../src/http/openapi/describeSchema.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { endPauses, setFault, until } from '../../journeys/support.ts';
import { type Charted, type Charts, createCharts, type Row } from './charts.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const status = async (id: string): Promise<string> => (await charts.listed(id)).status;
/** Makes the EMR reject patient updates temporarily, until `resumeUpdates`. */
const pauseUpdates = () => setFault(fixture.api, 'update_patient', 'error_429', { times: 1000 });
async function resumeUpdates(): Promise<void> {
  await fixture.api.control('DELETE', '/control/faults');
  await until('all jobs to finish', async () => {
    await endPauses(fixture.owner);
    const [row] = await fixture.owner`SELECT count(*) AS left FROM jobs WHERE finished_at IS NULL`;
    return Number(row?.left) === 0;
  });
}
/** A patient whose update the EMR rejected, with the event. */
async function updateRefused(): Promise<{ charted: Charted; event: Row }> {
  const charted = await charts.created({ phone: '518-555-0101', email: 'old@example.test' });
  await setFault(fixture.api, 'update_patient', 'refuse', { reason: 'The chart is locked.' });
  const response = await charts.patch(charted.id, { phone: '518-555-0102', email: 'new@example.test' });
  return { charted, event: await charts.outcome(response) };
}
/** A patient with two updates: the EMR saved the first, and the second is paused. */
async function halfUpdated(): Promise<{ charted: Charted; second: number }> {
  const charted = await charts.created({ phone: '518-555-0100' });
  await setFault(fixture.api, 'update_patient', 'delay', { delay_ms: 300 });
  await pauseUpdates();
  const first = await charts.patch(charted.id, { phone: '518-555-0101' });
  const second = await charts.patch(charted.id, { phone: '518-555-0102' });
  expect([first.status, second.status]).toStrictEqual([200, 200]);
  const event = await fixture.api.untilEvent(first.body.job_id);
  expect(event.event_type).toBe('patient.updated');
  return { charted, second: second.body.job_id };
}

test(row('STA-01'), async () => {
  const pending = await charts.pending();
  const failed = await charts.failed();
  const changing = await charts.created();
  await pauseUpdates();
  await charts.patch(changing.id, { phone: '518-555-0101' });
  const { body } = await fixture.api.call('GET', '/v1/patients?page_size=1000');
  const shown = new Map<string, string>(body.patients.map((each: Row) => [each.id, each.status]));
  expect([pending.id, failed.id, changing.id].map((id) => shown.get(id))).toStrictEqual([
    'pending',
    'failed',
    'pending_update',
  ]);
  expect(new Set(shown.values())).toStrictEqual(new Set(['pending', 'failed', 'active', 'pending_update']));
  await resumeUpdates();
  // The published schema has the same four.
  const document = dereference((await fixture.api.call('GET', '/openapi.json')).body);
  const response = document.paths['/v1/patients']?.get?.responses['200']?.content?.['application/json']?.schema;
  expect([...(response?.properties?.patients?.items?.properties?.status?.enum ?? [])].sort()).toStrictEqual([
    'active',
    'failed',
    'pending',
    'pending_update',
  ]);
});

test(row('STA-02'), async () => {
  const { id } = await charts.created();
  await pauseUpdates();
  await charts.rejects(400, /At least one field/, [
    () => charts.patch(id, {}),
    () => charts.patch(id, { save_previous_address: true }),
  ]);
  await charts.rejects(404, /Nobody Atall/, [
    () => charts.patch(id, { phone: '518-555-0101', pcp_first_name: 'Nobody', pcp_last_name: 'Atall' }),
  ]);
  expect(await status(id)).toBe('active');
  expect((await charts.patch(id, { phone: '518-555-0101' })).status).toBe(200);
  expect(await status(id)).toBe('pending_update');
  await resumeUpdates();
  await setFault(fixture.api, 'update_patient', 'error_429', { times: 1000 });
  const named = { referring_provider_first_name: 'Tatum', referring_provider_last_name: 'Outsidely' };
  expect((await charts.patch(id, named)).status).toBe(200);
  expect(await status(id)).toBe('pending_update');
  await resumeUpdates();
});

test(row('STA-03'), async () => {
  const { id, mrn } = await charts.created({ phone: '518-555-0101' });
  await pauseUpdates();
  const { body } = await charts.patch(id, { phone: '518-555-0103' });
  expect(await status(id)).toBe('pending_update');
  expect(['queued', 'running']).toContain((await fixture.api.job(body.job_id)).status);
  expect((await charts.chart(mrn)).homePhone).toBe('518-555-0101');
  await resumeUpdates();
  expect((await charts.chart(mrn)).homePhone).toBe('518-555-0103');
});

test(row('STA-04'), async () => {
  const one = await charts.created();
  await charts.updated(one, { phone: '518-555-0104' });
  expect(await charts.listed(one.id)).toMatchObject({ status: 'active', phone: '518-555-0104' });
  const { charted } = await halfUpdated();
  expect((await charts.chart(charted.mrn)).homePhone).toBe('518-555-0101');
  expect(await status(charted.id)).toBe('pending_update');
  await resumeUpdates();
  expect((await charts.chart(charted.mrn)).homePhone).toBe('518-555-0102');
  expect(await status(charted.id)).toBe('active');
});

test(row('DEC-112'), async () => {
  const { id, job_id } = await charts.pending();
  expect(await status(id)).toBe('pending');
  await endPauses(fixture.owner);
  const event = await fixture.api.untilEvent(job_id);
  expect(event).toMatchObject({ event_type: 'patient.created', data: { patient_id: id } });
  expect(await charts.listed(id)).toMatchObject({ status: 'active', mrn: event.data.mrn });
});

test(row('DEC-113'), async () => {
  const { id, job_id } = await charts.pending({ last_name: 'Refusedly' });
  expect(await status(id)).toBe('pending');
  await setFault(fixture.api, 'create_patient', 'refuse', { reason: 'No room.' });
  await endPauses(fixture.owner);
  const event = await fixture.api.untilEvent(job_id);
  expect(event).toMatchObject({ event_type: 'patient.failed', data: { patient_id: id, failure_reason: 'No room.' } });
  expect(await status(id)).toBe('failed');
  expect(await charts.rows('patients', { lastName: 'Refusedly' })).toStrictEqual([]);
});

test(row('DEC-114'), async () => {
  const { id, job_id } = await charts.failed({ phone: '518-555-0101' });
  await setFault(fixture.api, 'create_patient', 'error_429', { times: 1000 });
  const { body } = await charts.patch(id, { phone: '518-555-0114', first_name: 'Corrected' });
  expect(await charts.listed(id)).toMatchObject({ status: 'pending', phone: '518-555-0114', first_name: 'Corrected' });
  expect(body.job_id).not.toBe(job_id);
  expect(await fixture.api.job(body.job_id)).toMatchObject({ type: 'patient.create', finished_at: null });
  await resumeUpdates();
  const { event_type, data } = await fixture.api.untilEvent(body.job_id);
  expect(event_type).toBe('patient.created');
  expect(await charts.chart(data.mrn)).toMatchObject({ homePhone: '518-555-0114', firstName: 'Corrected' });
});

test(row('DEC-115'), async () => {
  const { id } = await charts.failed();
  const { status: code, body } = await charts.patch(id, { phone: '518-555-0115' });
  expect(code).toBe(200);
  expect(Number.isInteger(body.job_id)).toBe(true);
  expect((await fixture.api.untilEvent(body.job_id)).data.patient_id).toBe(id);
});

test(row('DEC-116'), async () => {
  const { id, job_id } = await charts.pending({ phone: '518-555-0101', email: 'kept@example.test' });
  expect((await charts.patch(id, { phone: '518-555-0116' })).status).toBe(200);
  expect((await charts.patch(id, { middle_name: 'Second' })).status).toBe(200);
  expect(await status(id)).toBe('pending');
  await endPauses(fixture.owner);
  const { data } = await fixture.api.untilEvent(job_id);
  expect(await charts.chart(data.mrn)).toMatchObject({
    ...{ homePhone: '518-555-0116', middleName: 'Second', email: 'kept@example.test' },
  });
  // The changes were part of the creation, not updates after it.
  const written = (await fixture.api.ledger()).filter((entry) => entry.patient_mrn === data.mrn && entry.applied);
  expect(written.map(({ operation }) => operation)).toStrictEqual(['create_patient']);
});

test(row('DEC-117'), async () => {
  const insured = { insurance_name: 'Mock Mutual', insurance_subscriber_number: 'OLD' };
  const { id, job_id } = await charts.inProgress({ ...insured, phone: '518-555-0101', email: 'kept@example.test' });
  const changes = { phone: '518-555-0117', insurance_subscriber_number: 'NEW', insurance_sequence: 'secondary' };
  expect((await charts.patch(id, changes)).status).toBe(200);
  const { event_type, data } = await fixture.api.untilEvent(job_id);
  expect(event_type).toBe('patient.created');
  await resumeUpdates();
  const chart = await charts.chart(data.mrn);
  expect(chart).toMatchObject({ homePhone: '518-555-0117', email: 'kept@example.test' });
  expect(await charts.insurances(chart)).toMatchObject([
    { companyName: 'Mock Mutual', subscriberNumber: 'NEW', priority: 2 },
  ]);
  const written = (await fixture.api.ledger()).filter((entry) => entry.patient_mrn === data.mrn && entry.applied);
  expect(written[0]?.operation).toBe('create_patient');
  expect(written.map(({ operation }) => operation)).toContain('update_patient');
  const { body } = await fixture.api.call('GET', '/v1/webhook-events?event_type=patient.updated');
  expect(body.webhook_events[0].data).toMatchObject({ patient_id: id, mrn: data.mrn });
  expect(await charts.listed(id)).toMatchObject({ status: 'active', phone: '518-555-0117' });
  // An insurance added by such an update gets the same guarantor as one sent with the creation.
  const names = { responsible_party_first_name: 'Pay', responsible_party_last_name: 'Master' };
  const paid_for = await charts.inProgress({ responsible_party: 'parent', ...names });
  const late = { insurance_name: 'Mock Mutual', insurance_subscriber_number: 'LATE' };
  expect((await charts.patch(paid_for.id, late)).status).toBe(200);
  const created_event = await fixture.api.untilEvent(paid_for.job_id);
  await resumeUpdates();
  const payers = await charts.chart(created_event.data.mrn);
  const { responsibleGuarantorId: guarantorId } = payers;
  expect(guarantorId).toEqual(expect.any(String));
  expect(await charts.insurances(payers)).toMatchObject([{ subscriberNumber: 'LATE', priority: 1, guarantorId }]);
});

test(row('DEC-118'), async () => {
  const { id } = await charts.created();
  expect(await status(id)).toBe('active');
  await pauseUpdates();
  const { body } = await charts.patch(id, { email: 'moved@example.test' });
  expect(await status(id)).toBe('pending_update');
  await resumeUpdates();
  expect((await fixture.api.untilEvent(body.job_id)).event_type).toBe('patient.updated');
  expect(await status(id)).toBe('active');
});

test(row('DEC-119'), async () => {
  const { id, mrn } = await charts.created({ email: 'old@example.test' });
  const event = await charts.outcome(await charts.patch(id, { email: 'new@example.test' }));
  expect(event.data).toStrictEqual({
    patient_id: id,
    mrn,
    audit_trail: [
      { field_label: expect.any(String), before: 'old@example.test', after: 'new@example.test', property: 'email' },
    ],
  });
});

test(row('DEC-120'), async () => {
  const { id, mrn } = await charts.created();
  await pauseUpdates();
  const first = await charts.patch(id, { phone: '518-555-0101' });
  expect(await status(id)).toBe('pending_update');
  const later = [];
  for (const phone of ['518-555-0102', '518-555-0103']) later.push(await charts.patch(id, { phone }));
  for (const { status: code } of later) expect(code).toBe(200);
  await until('the first attempt', async () => (await fixture.api.job(first.body.job_id)).attempts > 0);
  for (const { body } of later)
    expect(await fixture.api.job(body.job_id)).toMatchObject({ status: 'queued', attempts: 0 });
  await resumeUpdates();
  expect((await charts.chart(mrn)).homePhone).toBe('518-555-0103');
  const ends = await Promise.all([first, ...later].map(({ body }) => fixture.api.untilEvent(body.job_id)));
  expect(ends.map(({ created }) => created)).toStrictEqual(ends.map(({ created }) => created).sort());
  expect(ends.map(({ data }) => data.audit_trail[0].after)).toStrictEqual([
    '518-555-0101',
    '518-555-0102',
    '518-555-0103',
  ]);
});

test(row('DEC-121'), async () => {
  const { charted, second } = await halfUpdated();
  expect(await status(charted.id)).toBe('pending_update');
  await resumeUpdates();
  expect((await fixture.api.untilEvent(second)).event_type).toBe('patient.updated');
  expect(await status(charted.id)).toBe('active');
});

test(row('DEC-122'), async () => {
  const { charted } = await updateRefused();
  const old = { phone: '518-555-0101', email: 'old@example.test' };
  expect(await charts.listed(charted.id)).toMatchObject({ status: 'active', ...old });
  // The rejected update did not touch the chart, not even its time of change.
  expect(await charts.chart(charted.mrn)).toStrictEqual(charted.chart);
});

test(row('DEC-123'), async () => {
  const { charted, event } = await updateRefused();
  expect(event.event_type).toBe('patient.update_failed');
  expect(event.data).toStrictEqual({
    patient_id: charted.id,
    mrn: charted.mrn,
    failure_reason: 'The chart is locked.',
    reasons: [{ code: expect.any(String), description: 'The chart is locked.' }],
  });
});
