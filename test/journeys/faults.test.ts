import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import {
  appliedMarkers,
  type Chart,
  createMarker,
  endPauses,
  endRetries,
  patient,
  pauseAfterFailure,
  setFault,
  signInToLarkspur,
  until,
  untilFaultsApplied,
} from './support.ts';

let fixture: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  await fixture.owner`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'Jane Doe, LK100001, cannot be stored'; END $$`;
});
afterAll(() => fixture.close());
afterEach(async () => {
  await fixture.api.control('DELETE', '/control/faults');
  await fixture.owner`DROP TRIGGER IF EXISTS refuse_events ON events`;
});

const create = 'create_telephone_encounter';
const refill = { refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9004' };

type Step = { step: string; kind: string; attempt: number; detail: Record<string, unknown> | null };

async function accept(
  fields: Record<string, unknown> = {},
): Promise<{ job_id: number; telephone_encounter_id: string }> {
  const response = await fixture.api.callIn(fields);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return response.body;
}

async function awaitOutcome(accepted: { job_id: number; telephone_encounter_id: string }) {
  const event = await fixture.api.untilEvent(accepted.job_id);
  const job = await fixture.api.job(accepted.job_id);
  const steps: Step[] = job.timeline;
  const entries = (await fixture.api.ledger()).filter((entry) =>
    entry.marker?.startsWith(accepted.telephone_encounter_id),
  );
  const applied = entries.filter((entry) => entry.applied).map((entry) => entry.operation);
  return { event, job, steps, entries, applied };
}

/** Waits until this many attempts of the job have failed. */
function untilRetry(job_id: number, times = 1): Promise<boolean> {
  return until(`attempt ${times} of job ${job_id} to fail`, async () => {
    const job = await fixture.api.job(job_id);
    const retries = job.timeline.filter(({ step }: Step) => step === 'retry');
    return retries.length >= times && job.status !== 'running';
  });
}

describe('a create during an EMR fault', () => {
  test('delay: waits for the response', async () => {
    await setFault(fixture.api, create, 'delay', { delay_ms: 700 });
    const { event, job, applied } = await awaitOutcome(await accept());
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(job.attempts).toBe(1);
    expect(applied).toStrictEqual([create]);
  });

  test('error_429: is sent again, no earlier than Retry-After', async () => {
    await setFault(fixture.api, create, 'error_429');
    const accepted = await accept();
    await untilRetry(accepted.job_id);
    const { event, steps, applied, entries } = await awaitOutcome(accepted);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(applied).toStrictEqual([create]);
    expect(entries.map((entry) => entry.applied)).toStrictEqual([false, true]);
    const retry = steps.find(({ step }) => step === 'retry');
    expect(retry?.detail).toMatchObject({ reason: 'Larkspur is receiving too many requests.' });
    expect(retry?.detail?.in_ms).toBeGreaterThanOrEqual(1_000);
  });

  test.each([
    ['error_500', 'Larkspur responded with an error (500).', [false, true]],
    ['reset', 'The connection to Larkspur was lost.', [false, true]],
    ['html', 'Larkspur sent an unreadable response.', [false, true]],
    ['empty', 'Larkspur sent an unreadable response.', [false, true]],
    ['lose_answer', 'The connection to Larkspur was lost.', [true]],
    ['truncate', undefined, [true]],
  ])('%s: is looked up in the EMR before anything is sent again', async (kind, reason, sent) => {
    await setFault(fixture.api, create, kind);
    const accepted = await accept();
    await untilRetry(accepted.job_id);
    await endPauses(fixture.owner);
    const { event, job, steps, entries } = await awaitOutcome(accepted);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(job).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect(entries.map((entry) => entry.applied)).toStrictEqual(sent);
    expect(await chart.encounter(event.data.emr_encounter_id)).toMatchObject({ mrn: patient(1).mrn });
    const retry = steps.find(({ step }) => step === 'retry');
    expect(retry?.attempt).toBe(1);
    if (reason !== undefined) expect(retry?.detail?.reason).toBe(reason);
    expect(JSON.stringify(job)).not.toMatch(/<html|doctype|at .*\.(ts|js):\d+|127\.0\.0\.1/i);
  });

  test('refuse: fails with the EMR’s message and is not retried', async () => {
    await setFault(fixture.api, create, 'refuse', { reason: 'This chart is locked.' });
    const accepted = await accept();
    const { event, job, applied } = await awaitOutcome(accepted);
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      patient_mrn: patient(1).mrn,
      refill_medication_name: null,
      failure_reason: 'This chart is locked.',
    });
    expect(job).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'emr_refused' } });
    expect(applied).toStrictEqual([]);
  });

  test.each([
    ['unknown', 'LK999999'],
    ['in lower case', 'lk100001'],
    ['full of URL syntax', '../LK100001?mrn=LK100001&x=#%'],
    ['2,000 characters long', '語'.repeat(2000)],
  ])('fails with the MRN in the message if it is %s', async (_title, patient_mrn) => {
    const accepted = await accept({ patient_mrn });
    const { event, job, entries } = await awaitOutcome(accepted);
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      patient_mrn,
      refill_medication_name: null,
      failure_reason: `Patient with MRN '${patient_mrn}' not found.`,
    });
    expect(job).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'patient_not_found' } });
    expect(entries).toStrictEqual([]);
  });
});

describe('every write of a job is applied once', () => {
  test.each(['add_refill', 'add_patient_pharmacy'])('if the response to %s is lost', async (operation) => {
    const fields = { ...refill, pharmacy_ehr_id: operation === 'add_refill' ? '9004' : '9006' };
    await setFault(fixture.api, operation, 'lose_answer');
    const accepted = await accept(fields);
    await untilRetry(accepted.job_id);
    await endPauses(fixture.owner);
    const { event, job, applied } = await awaitOutcome(accepted);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(job.attempts).toBe(2);
    expect(applied).toStrictEqual([create, 'add_patient_pharmacy', 'add_refill']);
    const encounter = await chart.encounter(event.data.emr_encounter_id);
    expect(encounter.refills).toHaveLength(1);
    const listed = await chart.pharmacies(patient(1).ehr_id);
    expect(listed.filter((id) => id === fields.pharmacy_ehr_id)).toHaveLength(1);
  });

  test('if each write in turn loses its response and fails', async () => {
    for (const operation of [create, 'add_patient_pharmacy', 'add_refill']) {
      await setFault(fixture.api, operation, 'lose_answer');
      await setFault(fixture.api, operation, 'error_500');
    }
    const accepted = await accept({ ...refill, pharmacy_ehr_id: '9008' });
    for (const times of [1, 2, 3]) {
      await untilRetry(accepted.job_id, times);
      await endPauses(fixture.owner);
    }
    const { event, applied } = await awaitOutcome(accepted);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(applied).toStrictEqual([create, 'add_patient_pharmacy', 'add_refill']);
  });
});

describe('an unavailable EMR', () => {
  test('is retried with growing pauses until it responds; the timeline shows each attempt', async () => {
    await setFault(fixture.api, 'list_patients', 'error_500', { times: 3 });
    const accepted = await accept();
    for (const times of [1, 2, 3]) {
      await untilRetry(accepted.job_id, times);
      await endPauses(fixture.owner);
    }
    await untilFaultsApplied(fixture.api);
    const { event, job, steps, applied } = await awaitOutcome(accepted);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(job.attempts).toBe(4);
    expect(steps.map(({ step }) => step)).toStrictEqual([
      ...['started', 'retry', 'started', 'retry', 'started', 'retry'],
      ...['started', 'create_encounter', 'create_encounter', 'succeeded'],
    ]);
    const pauses = steps.flatMap(({ detail }) => (typeof detail?.in_ms === 'number' ? [detail.in_ms] : []));
    for (const [n, pause_ms] of pauses.entries()) {
      expect(pause_ms).toBeGreaterThanOrEqual(800 * 2 ** n);
      expect(pause_ms).toBeLessThanOrEqual(1200 * 2 ** n);
    }
    expect(applied).toStrictEqual([create]);
  });

  test('fails the job after an hour, with a readable reason', async () => {
    await setFault(fixture.api, 'list_patients', 'html', { times: 50 });
    const accepted = await accept({ refill_medication_name: 'Lisinopril' });
    await untilRetry(accepted.job_id);
    await endRetries(fixture.owner, accepted.job_id);
    await endPauses(fixture.owner);
    const { event, job, applied } = await awaitOutcome(accepted);
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      patient_mrn: patient(1).mrn,
      refill_medication_name: 'Lisinopril',
      failure_reason: 'Larkspur sent an unreadable response.',
    });
    expect(job).toMatchObject({ status: 'failed', error: { code: 'unavailable' } });
    expect(applied).toStrictEqual([]);
  });

  test('leaves the job in needs_review after an hour if a response was lost, with a failure event', async () => {
    await setFault(fixture.api, create, 'lose_answer');
    await setFault(fixture.api, 'find_receipt', 'error_500', { times: 50 });
    const accepted = await accept();
    await untilRetry(accepted.job_id);
    await endRetries(fixture.owner, accepted.job_id);
    await endPauses(fixture.owner);
    const { event, job, applied } = await awaitOutcome(accepted);
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(job).toMatchObject({ status: 'needs_review', error: { code: 'outcome_unknown' } });
    expect(applied).toStrictEqual([create]);
    expect(
      (await fixture.api.ledger()).filter(({ marker }) => marker === createMarker(accepted.telephone_encounter_id)),
    ).toHaveLength(1);
  });

  test('delays later writes for the same patient, but not for others', async () => {
    await setFault(fixture.api, create, 'error_429', { times: 50 });
    const delayed = await accept({ reason: 'first' });
    await pauseAfterFailure(fixture.owner, delayed.job_id);
    await fixture.api.control('DELETE', '/control/faults');
    const later = await accept({ reason: 'second' });
    const other = await accept({ patient_mrn: patient(5).mrn });
    expect((await awaitOutcome(other)).event.event_type).toBe('telephone_encounter.created');
    expect((await fixture.api.job(later.job_id)).status).toBe('queued');
    await endPauses(fixture.owner);
    const ids = [(await awaitOutcome(delayed)).event, (await awaitOutcome(later)).event].map(({ data }) =>
      Number(data.emr_encounter_id),
    );
    expect(ids).toStrictEqual([...ids].sort((a, b) => a - b));
  });
});

/** Runs a write that the EMR applies, with our final transaction failing once. */
async function writeWithFailedCommit(fields: Record<string, unknown>) {
  await fixture.owner`CREATE TRIGGER refuse_events BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()`;
  const { body } = await fixture.api.callIn(fields);
  await pauseAfterFailure(fixture.owner, body.job_id);
  const job = await fixture.api.job(body.job_id);
  await fixture.owner`DROP TRIGGER refuse_events ON events`;
  return { accepted: body, job };
}

describe('an internal error after the EMR applied the write', () => {
  test('is retried without a second write, and its message contains no patient data', async () => {
    const { accepted, job } = await writeWithFailedCommit({ refill_medication_name: 'Lisinopril' });
    expect(job).toMatchObject({
      status: 'queued',
      error: { code: 'internal', message: 'Internal error.' },
    });
    await endPauses(fixture.owner);
    const event = await fixture.api.untilEvent(accepted.job_id);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(event.data.refill_medication_name).toBe('Lisinopril 10 mg');
    const job_after = await fixture.api.job(accepted.job_id);
    expect(job_after).toMatchObject({ status: 'succeeded', attempts: job.attempts + 1, error: null });
    expect(JSON.stringify(job_after)).not.toContain('Jane Doe');
    const marker = createMarker(accepted.telephone_encounter_id);
    expect((await appliedMarkers(fixture.api)).filter((each) => each === marker)).toHaveLength(1);
    const refills = (await fixture.api.ledger()).filter(
      (entry) => entry.marker?.startsWith(accepted.telephone_encounter_id) && entry.operation === 'add_refill',
    );
    expect(refills).toHaveLength(1);
  });

  test('ends in created even if the patient was deleted in the meantime', async () => {
    const { mrn, ehr_id } = patient(120);
    const { accepted } = await writeWithFailedCommit({ patient_mrn: mrn });
    await fixture.api.control('DELETE', `/control/patients/${ehr_id}`);
    await endPauses(fixture.owner);
    const event = await fixture.api.untilEvent(accepted.job_id);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(event.data).toMatchObject({ patient_mrn: mrn, emr_encounter_id: expect.any(String) });
    expect((await fixture.api.job(accepted.job_id)).status).toBe('succeeded');
  });
});
