import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import {
  type Chart,
  createMarker,
  endPauses,
  endRetries,
  openChart,
  patient,
  setFault,
  until,
  untilFaultsMet,
} from './journey.ts';

let world: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  world = await startSandbox();
  chart = await openChart(world.sandbox, world.api);
});
afterAll(() => world.close());
afterEach(async () => {
  await world.api.control('DELETE', '/control/faults');
});

const create = 'create_telephone_encounter';
const refill = { refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9004' };

type Step = { step: string; kind: string; attempt: number; detail: Record<string, unknown> | null };

async function accept(
  fields: Record<string, unknown> = {},
): Promise<{ job_id: number; telephone_encounter_id: string }> {
  const answer = await world.api.callIn(fields);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

async function ended(accepted: { job_id: number; telephone_encounter_id: string }) {
  const event = await world.api.untilEvent(accepted.job_id);
  const job = await world.api.job(accepted.job_id);
  const steps: Step[] = job.timeline;
  const entries = (await world.api.ledger()).filter((entry) =>
    entry.marker?.startsWith(accepted.telephone_encounter_id),
  );
  const applied = entries.filter((entry) => entry.applied).map((entry) => entry.operation);
  return { event, job, steps, entries, applied };
}

/** Waits until the job has failed so many times and pauses. */
function untilRetry(job_id: number, times = 1): Promise<boolean> {
  return until(`try ${times} of job ${job_id} to fail`, async () => {
    const job = await world.api.job(job_id);
    const retries = job.timeline.filter(({ step }: Step) => step === 'retry');
    return retries.length >= times && job.status !== 'running';
  });
}

describe('a create that meets trouble ends as documented, with one encounter in the chart', () => {
  test('slow: it is waited for', async () => {
    await setFault(world.api, create, 'delay', { delay_ms: 700 });
    const { event, job, applied } = await ended(await accept());
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(job.attempts).toBe(1);
    expect(applied).toStrictEqual([create]);
  });

  test('429: nothing was applied, so it is sent again, no sooner than the EMR asked', async () => {
    await setFault(world.api, create, 'error_429');
    const accepted = await accept();
    await untilRetry(accepted.job_id);
    const { event, steps, applied, entries } = await ended(accepted);
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
  ])('%s: the outcome is unknown, so the EMR is asked before anything is sent again', async (kind, reason, sent) => {
    await setFault(world.api, create, kind);
    const accepted = await accept();
    await untilRetry(accepted.job_id);
    await endPauses(world.owner);
    const { event, job, steps, entries } = await ended(accepted);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(job).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect(entries.map((entry) => entry.applied)).toStrictEqual(sent);
    expect(await chart.encounter(event.data.emr_encounter_id)).toMatchObject({ mrn: patient(1).mrn });
    const retry = steps.find(({ step }) => step === 'retry');
    expect(retry?.attempt).toBe(1);
    if (reason !== undefined) expect(retry?.detail?.reason).toBe(reason);
    expect(JSON.stringify(job)).not.toMatch(/<html|doctype|at .*\.(ts|js):\d+|127\.0\.0\.1/i);
  });

  test('refuse: it is final, in the EMR’s own words', async () => {
    await setFault(world.api, create, 'refuse', { reason: 'This chart is locked.' });
    const accepted = await accept();
    const { event, job, applied } = await ended(accepted);
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      patient_mrn: patient(1).mrn,
      refill_medication_name: null,
      failure_reason: 'This chart is locked.',
    });
    expect(job).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'refused' } });
    expect(applied).toStrictEqual([]);
  });

  test.each([
    ['unknown', 'LK999999'],
    ['in another case', 'lk100001'],
    ['full of the signs of an address', '../LK100001?mrn=LK100001&x=#%'],
    ['longer than any', '語'.repeat(2000)],
  ])('an MRN that is %s is a failure that names it', async (_title, patient_mrn) => {
    const accepted = await accept({ patient_mrn });
    const { event, job, entries } = await ended(accepted);
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      patient_mrn,
      refill_medication_name: null,
      failure_reason: `Patient with MRN '${patient_mrn}' not found.`,
    });
    expect(job).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'not_found' } });
    expect(entries).toStrictEqual([]);
  });
});

describe('each further write of the job is applied once as well', () => {
  test.each(['add_refill', 'add_patient_pharmacy'])('when the answer to %s is lost', async (operation) => {
    const fields = { ...refill, pharmacy_ehr_id: operation === 'add_refill' ? '9004' : '9006' };
    await setFault(world.api, operation, 'lose_answer');
    const accepted = await accept(fields);
    await untilRetry(accepted.job_id);
    await endPauses(world.owner);
    const { event, job, applied } = await ended(accepted);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(job.attempts).toBe(2);
    expect(applied).toStrictEqual([create, 'add_patient_pharmacy', 'add_refill']);
    const encounter = await chart.encounter(event.data.emr_encounter_id);
    expect(encounter.refills).toHaveLength(1);
    const listed = await chart.pharmacies(patient(1).ehr_id);
    expect(listed.filter((id) => id === fields.pharmacy_ehr_id)).toHaveLength(1);
  });

  test('when every kind of write meets trouble in turn', async () => {
    for (const operation of [create, 'add_patient_pharmacy', 'add_refill']) {
      await setFault(world.api, operation, 'lose_answer');
      await setFault(world.api, operation, 'error_500');
    }
    const accepted = await accept({ ...refill, pharmacy_ehr_id: '9008' });
    for (const times of [1, 2, 3]) {
      await untilRetry(accepted.job_id, times);
      await endPauses(world.owner);
    }
    const { event, applied } = await ended(accepted);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(applied).toStrictEqual([create, 'add_patient_pharmacy', 'add_refill']);
  });
});

describe('an EMR that is down', () => {
  test('is asked again until it is up; the timeline shows each try', async () => {
    await setFault(world.api, 'list_patients', 'error_500', { times: 3 });
    const accepted = await accept();
    for (const times of [1, 2, 3]) {
      await untilRetry(accepted.job_id, times);
      await endPauses(world.owner);
    }
    await untilFaultsMet(world.api);
    const { event, job, steps, applied } = await ended(accepted);
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

  test('for more than an hour is given up: failed, in plain words', async () => {
    await setFault(world.api, 'list_patients', 'html', { times: 50 });
    const accepted = await accept({ refill_medication_name: 'Lisinopril' });
    await untilRetry(accepted.job_id);
    await endRetries(world.owner, accepted.job_id);
    await endPauses(world.owner);
    const { event, job, applied } = await ended(accepted);
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

  test('for an hour after an answer was lost needs a person: needs_review with a failure event', async () => {
    await setFault(world.api, create, 'lose_answer');
    const accepted = await accept();
    await untilRetry(accepted.job_id);
    await setFault(world.api, 'find_receipt', 'error_500');
    await endRetries(world.owner, accepted.job_id);
    await endPauses(world.owner);
    const { event, job, applied } = await ended(accepted);
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(job.status).toBe('needs_review');
    expect(applied).toStrictEqual([create]);
    expect(
      (await world.api.ledger()).filter(({ marker }) => marker === createMarker(accepted.telephone_encounter_id)),
    ).toHaveLength(1);
  });

  test('holds back the patient’s later writes, so that order holds, and nobody else’s', async () => {
    await setFault(world.api, create, 'error_429');
    const held = await accept({ reason: 'first' });
    await untilRetry(held.job_id);
    const later = await accept({ reason: 'second' });
    const other = await accept({ patient_mrn: patient(5).mrn });
    expect((await ended(other)).event.event_type).toBe('telephone_encounter.created');
    expect((await world.api.job(later.job_id)).status).toBe('queued');
    await endPauses(world.owner);
    const ids = [(await ended(held)).event, (await ended(later)).event].map(({ data }) =>
      Number(data.emr_encounter_id),
    );
    expect(ids).toStrictEqual([...ids].sort((a, b) => a - b));
  });
});
