import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { type Receiver, startReceiver } from '../../harness/servers/receiver.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { setFault, until } from '../../journeys/support.ts';
import { type Charts, createCharts, newPerson, type Row } from './charts.ts';

let fixture: TestSandbox;
let charts: Charts;
let receiver: Receiver;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
  receiver = await startReceiver();
  await fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
});
afterAll(async () => {
  await receiver.close();
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

/** The webhook events of a finished job; there must be one. */
async function sent(job_id: number): Promise<Row[]> {
  const { id } = await fixture.api.untilEvent(job_id);
  const calls = () => receiver.received.map(({ body }) => JSON.parse(body));
  await until('the webhook', async () => calls().find((each) => each.id === id));
  return calls().filter((each) => each.job_id === String(job_id));
}
/** Requests a patient that the EMR already has. */
async function duplicated(): Promise<{ known: Row; event: Row; id: string }> {
  const person = newPerson();
  const known = await charts.created(person);
  const response = await charts.create(person);
  return { known, event: await charts.outcome(response), id: response.body.patient_id };
}

test(row('EVT-27'), async () => {
  const { body } = await charts.create();
  const events = await sent(body.job_id);
  expect(events.map((each) => each.type)).toStrictEqual(['patient.created']);
  expect(await charts.rows('patients', { mrn: events[0].data.mrn })).toHaveLength(1);
});

test(row('EVT-28'), async () => {
  await setFault(fixture.api, 'create_patient', 'refuse', { reason: 'New patients are not taken.' });
  const { body } = await charts.create({ last_name: 'Nottaken' });
  const events = await sent(body.job_id);
  expect(events.map((each) => each.type)).toStrictEqual(['patient.failed']);
  expect(events[0].data.failure_reason).toBe('New patients are not taken.');
  expect(await charts.rows('patients', { lastName: 'Nottaken' })).toStrictEqual([]);
});

test(row('EVT-29'), async () => {
  const { event: plain } = await charts.failed();
  const { event, known } = await duplicated();
  const extra = Object.keys(event.data).filter((field) => !(field in plain.data));
  expect(extra).toStrictEqual(['duplicate_patient_mrn']);
  expect(event.data.duplicate_patient_mrn).toBe(known.mrn);
});

test(row('EVT-36'), async () => {
  const { id, mrn } = await charts.created();
  const reason = 'Not today.';
  for (const operation of ['create_patient', 'update_patient', 'add_patient_insurance', 'update_patient_insurance']) {
    await setFault(fixture.api, operation, 'refuse', { reason });
  }
  const creation = await charts.outcome(await charts.create());
  const update = await charts.outcome(await charts.patch(id, { phone: '518-555-0136' }));
  // A live fetch fails when it matches more than 50 patients.
  const many = Array.from({ length: 51 }, (_, n) => ({
    firstName: `N${n}`,
    lastName: 'Many',
    birthDate: '01/01/1901',
  }));
  await Promise.all(many.map((person) => fixture.api.control('POST', '/control/patients', person)));
  const wide = { search_by: 'dob', dob: '1901-01-01' };
  const fetched = await charts.outcome(await fixture.api.call('POST', '/v1/patients/fetch', { body: wide }));
  for (const [event, type] of [
    [creation, 'patient.failed'],
    [update, 'patient.update_failed'],
    [fetched, 'patient.live_fetch_failed'],
  ]) {
    expect(event.event_type).toBe(type);
    expect(event.data.failure_reason).toMatch(/\S/);
  }
  expect([creation.data.failure_reason, update.data.failure_reason]).toStrictEqual([reason, reason]);
  const added = await charts.outcome(await charts.add(mrn, { member_id: 'M', insurance_name: 'Mock Mutual' }));
  const { data } = await charts.added(mrn);
  const changed = await charts.outcome(await charts.change(mrn, data.emr_insurance_id, { member_id: 'N' }));
  for (const event of [added, changed]) {
    expect(event.event_type).toBe('patient.insurance.failed');
    expect(event.data.error).toBe(reason);
    expect(event.data).not.toHaveProperty('failure_reason');
  }
});

test(row('DEC-142'), async () => {
  const { body } = await charts.create({ last_name: 'Onehundredfortytwo' });
  const { data } = await fixture.api.untilEvent(body.job_id);
  const [chart] = await charts.rows('patients', { lastName: 'Onehundredfortytwo' });
  expect(data).toStrictEqual({ patient_id: body.patient_id, mrn: chart.mrn });
});

test(row('DEC-143'), async () => {
  const { id, event } = await charts.failed();
  expect(event.data).toStrictEqual({
    patient_id: id,
    failure_reason: 'The desk is closed.',
    reasons: [{ code: expect.stringMatching(/^[a-z_]+$/), description: 'The desk is closed.' }],
  });
});

test(row('DEC-144'), async () => {
  const { event, id } = await duplicated();
  expect(event.event_type).toBe('patient.failed');
  expect(event.data.patient_id).toBe(id);
  expect(event.data.failure_reason).toMatch(/\bduplicate\b/);
});

test(row('DEC-145'), async () => {
  const { event, known, id } = await duplicated();
  expect(event.data).toStrictEqual({
    patient_id: id,
    failure_reason: expect.any(String),
    reasons: [{ code: expect.any(String), description: event.data.failure_reason }],
    duplicate_patient_mrn: known.mrn,
  });
  expect(await charts.rows('patients', { lastName: known.chart.lastName })).toHaveLength(1);
});
