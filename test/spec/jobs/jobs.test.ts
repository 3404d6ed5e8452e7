import { beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { endPauses, endRetries, patient, setFault, until, untilFailedAttempt } from '../../journeys/support.ts';
import {
  type Completed,
  complete,
  completeCall,
  completeUpload,
  failedFetch,
  rejectedWrites,
  rejection_reason,
} from '../support/completedJobs.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

async function completePartially(): Promise<Completed> {
  await setFault(fixture.api, 'add_refill', 'refill_fails', { reason: 'No refills left.' });
  return completeCall(fixture, { refill_medication_name: 'Lisinopril' });
}

/** The response to the write is lost, and the EMR cannot report for an hour whether it arrived. */
async function completeWithUnknownOutcome(): Promise<Completed> {
  await setFault(fixture.api, 'create_telephone_encounter', 'lose_answer');
  await setFault(fixture.api, 'find_receipt', 'error_500', { times: 50 });
  const { body: accepted } = await fixture.api.callIn();
  await until('the response to be lost', async () => (await fixture.api.job(accepted.job_id)).error);
  await endRetries(fixture.owner, accepted.job_id);
  await endPauses(fixture.owner);
  const event = await fixture.api.untilEvent(accepted.job_id);
  await fixture.api.control('DELETE', '/control/faults');
  return { accepted, event };
}

const readStatus = async (job_id: number): Promise<string> => (await fixture.api.job(job_id)).status;

test(row('DEC-276'), async () => {
  const outcomes: [string, Completed][] = [
    ['succeeded', await completeCall(fixture)],
    ['partial', await completePartially()],
    ['failed', await rejectedWrites['telephone_encounter.failed'](fixture)],
    ['needs_review', await completeWithUnknownOutcome()],
  ];
  for (const [status, { accepted }] of outcomes) expect(await readStatus(accepted.job_id)).toBe(status);
  await setFault(fixture.api, 'create_telephone_encounter', 'delay', { delay_ms: 4_000 });
  const first = (await fixture.api.callIn()).body;
  const second = (await fixture.api.callIn()).body;
  await until('the first job to run', async () => (await readStatus(first.job_id)) === 'running');
  expect(await readStatus(second.job_id)).toBe('queued');
  await fixture.api.untilEvent(second.job_id);
  const rows = await fixture.owner<{ state: string }[]>`SELECT DISTINCT state FROM jobs`;
  const known = ['queued', 'running', 'succeeded', 'partial', 'failed', 'needs_review', 'cancelled'];
  for (const { state } of rows) expect(known).toContain(state);
});

test(row('DEC-277'), async () => {
  const { accepted, event } = await completeCall(fixture);
  const failed = await rejectedWrites['telephone_encounter.failed'](fixture);
  const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
  const timing = { created_at: instant, started_at: instant, finished_at: instant, attempts: 1 };
  const response = await fixture.api.call('GET', `/v1/jobs/${accepted.job_id}`);
  expect(response.status).toBe(200);
  const type = 'telephone_encounter.create';
  expect(response.body).toMatchObject({ ...timing, type, status: 'succeeded', error: null, event_id: event.id });
  const { body } = await fixture.api.call('GET', `/v1/jobs/${failed.accepted.job_id}`);
  const error = { code: 'emr_refused', message: rejection_reason };
  expect(body).toMatchObject({ ...timing, type, status: 'failed', error, event_id: failed.event.id });
  const { queued, job_id } = await withJobsPaused(fixture, async () => {
    const waiting = (await fixture.api.callIn()).body;
    return { queued: await fixture.api.call('GET', `/v1/jobs/${waiting.job_id}`), job_id: waiting.job_id };
  });
  expect(queued.body).toMatchObject({ attempts: 0, created_at: instant, started_at: null, finished_at: null });
  expect([queued.body.error, queued.body.event_id]).toStrictEqual([null, null]);
  await fixture.api.untilEvent(job_id);
});

test(row('DEC-278'), async () => {
  const { accepted } = await completeCall(fixture, { refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9008' });
  const { timeline, created_at, finished_at } = (await fixture.api.call('GET', `/v1/jobs/${accepted.job_id}`)).body;
  const formatSteps = (entries: ApiResponse['body'][]) => entries.map(({ step, kind }) => `${kind} ${step}`);
  const steps = formatSteps(timeline);
  expect(steps).toStrictEqual([
    ...['note started', 'intent create_encounter', 'outcome create_encounter'],
    ...['intent add_pharmacy', 'outcome add_pharmacy', 'intent add_refill', 'outcome add_refill', 'note succeeded'],
  ]);
  const times: number[] = timeline.map(({ at }: { at: string }) => Date.parse(at));
  for (const at of times) {
    expect(at).toBeGreaterThanOrEqual(Date.parse(created_at));
    expect(at).toBeLessThanOrEqual(Date.parse(finished_at) + 1);
  }
  expect(times).toStrictEqual([...times].sort((a, b) => a - b));
  const plain = await fixture.api.job((await completeCall(fixture)).accepted.job_id);
  expect(formatSteps(plain.timeline)).toStrictEqual([
    ...['note started', 'intent create_encounter', 'outcome create_encounter', 'note succeeded'],
  ]);
});

test(row('DEC-279'), async () => {
  await setFault(fixture.api, 'create_telephone_encounter', 'lose_answer');
  const first = await fixture.api.callIn({ patient_mrn: patient(9).mrn });
  await untilFailedAttempt(fixture.api, first.body.job_id);
  await endPauses(fixture.owner);
  const retried = { accepted: first.body, event: await fixture.api.untilEvent(first.body.job_id) };
  const outcomes: Completed[] = [
    retried,
    await completePartially(),
    await completeWithUnknownOutcome(),
    await completeUpload(fixture),
  ];
  for (const refuse of Object.values(rejectedWrites)) outcomes.push(await refuse(fixture));
  for (const { accepted, event } of outcomes) {
    const [job] = await fixture.owner<{ id: number; event_id: string }[]>`
      SELECT id, replace(event_id::text, '-', '') AS event_id FROM jobs WHERE operation_id = (
        SELECT operation_id FROM jobs WHERE id = (SELECT job_id FROM events WHERE id = ${event.id}))`;
    const events = await fixture.owner<{ id: string }[]>`
      SELECT replace(id::text, '-', '') AS id FROM events WHERE job_id = ${job?.id ?? 0}`;
    expect([...events]).toStrictEqual([{ id: event.id }]);
    expect(job?.event_id).toBe(event.id);
    if (accepted.job_id) expect(job?.id).toBe(accepted.job_id);
  }
});

test(row('DEC-304'), async () => {
  const failures: [string, Completed][] = [['patient.live_fetch_failed', await failedFetch(fixture)]];
  for (const type of [
    'patient.failed',
    'appointment.failed',
    'telephone_encounter_action.failed',
    'patient.update_failed',
  ] as const) {
    failures.push([type, await rejectedWrites[type](fixture)]);
  }
  for (const [type, { event }] of failures) {
    const { failure_reason, reasons } = event.data;
    expect([event.event_type, typeof failure_reason]).toStrictEqual([type, 'string']);
    expect(failure_reason).toBe(type === 'patient.live_fetch_failed' ? failure_reason : rejection_reason);
    expect(reasons.length).toBeGreaterThan(0);
    for (const reason of reasons) {
      expect(reason).toStrictEqual({
        code: expect.stringMatching(/^[a-z_]+$/),
        description: expect.stringMatching(/\S/),
      });
    }
  }
});

test(row('DEC-305'), async () => {
  const expected_fields = {
    'telephone_encounter.failed': ['failure_reason', 'patient_mrn', 'refill_medication_name', 'telephone_encounter_id'],
    'patient.insurance.failed': ['error', 'patient_insurance_id', 'patient_mrn'],
    'document.upload_failed': ['document_id', 'failure_reason', 'folder_name', 'patient_mrn'],
  } as const;
  for (const [type, fields] of Object.entries(expected_fields)) {
    const { event } = await rejectedWrites[type as keyof typeof expected_fields](fixture);
    expect(event.event_type).toBe(type);
    expect(Object.keys(event.data).sort()).toStrictEqual([...fields]);
  }
  // A failed insurance update has the same event as a failed addition.
  const { body } = await fixture.api.control('GET', `/control/patient-insurances?patientId=${patient(1).ehr_id}`);
  await setFault(fixture.api, 'update_patient_insurance', 'refuse', { reason: rejection_reason });
  const path = `/v1/patients/${patient(1).mrn}/insurances/${body.rows[0].insuranceId}`;
  const { event } = await complete(fixture, path, { group_id: 'G1' }, 'PATCH');
  expect(event.event_type).toBe('patient.insurance.failed');
  expect(Object.keys(event.data).sort()).toStrictEqual([...expected_fields['patient.insurance.failed']]);
});
