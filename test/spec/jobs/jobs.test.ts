import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { endPauses, endRetries, patient, setFault, until, untilFailedTry } from '../../journeys/journey.ts';
import {
  type Ended,
  ended,
  endedCall,
  endedUpload,
  failedFetch,
  refused_because,
  refusedWrites,
} from '../support/completedJobs.ts';
import { whileNoJobStarts } from '../support/pauseJobs.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

async function partly(): Promise<Ended> {
  await setFault(world.api, 'add_refill', 'refill_fails', { reason: 'No refills left.' });
  return endedCall(world, { refill_medication_name: 'Lisinopril' });
}

/** The answer to the write is lost, and for an hour the EMR cannot say whether it arrived. */
async function doubtful(): Promise<Ended> {
  await setFault(world.api, 'create_telephone_encounter', 'lose_answer');
  await setFault(world.api, 'find_receipt', 'error_500', { times: 50 });
  const { body: accepted } = await world.api.callIn();
  await until('the answer to be lost', async () => (await world.api.job(accepted.job_id)).error);
  await endRetries(world.owner, accepted.job_id);
  await endPauses(world.owner);
  const event = await world.api.untilEvent(accepted.job_id);
  await world.api.control('DELETE', '/control/faults');
  return { accepted, event };
}

const statusOf = async (job_id: number): Promise<string> => (await world.api.job(job_id)).status;

test(row('DEC-276'), async () => {
  const endings: [string, Ended][] = [
    ['succeeded', await endedCall(world)],
    ['partial', await partly()],
    ['failed', await refusedWrites['telephone_encounter.failed'](world)],
    ['needs_review', await doubtful()],
  ];
  for (const [status, { accepted }] of endings) expect(await statusOf(accepted.job_id)).toBe(status);
  await setFault(world.api, 'create_telephone_encounter', 'delay', { delay_ms: 8_000 });
  const first = (await world.api.callIn()).body;
  const second = (await world.api.callIn()).body;
  await until('the first job to run', async () => (await statusOf(first.job_id)) === 'running');
  expect(await statusOf(second.job_id)).toBe('queued');
  await world.api.untilEvent(second.job_id);
  const rows = await world.owner<{ state: string }[]>`SELECT DISTINCT state FROM jobs`;
  const known = ['queued', 'running', 'succeeded', 'partial', 'failed', 'needs_review'];
  for (const { state } of rows) expect(known).toContain(state);
});

test(row('DEC-277'), async () => {
  const { accepted, event } = await endedCall(world);
  const failed = await refusedWrites['telephone_encounter.failed'](world);
  const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
  const whole = { created_at: instant, started_at: instant, finished_at: instant, attempts: 1 };
  const answer = await world.api.call('GET', `/v1/jobs/${accepted.job_id}`);
  expect(answer.status).toBe(200);
  const type = 'telephone_encounter.create';
  expect(answer.body).toMatchObject({ ...whole, type, status: 'succeeded', error: null, event_id: event.id });
  const { body } = await world.api.call('GET', `/v1/jobs/${failed.accepted.job_id}`);
  const error = { code: 'refused', message: refused_because };
  expect(body).toMatchObject({ ...whole, type, status: 'failed', error, event_id: failed.event.id });
  const { queued, job_id } = await whileNoJobStarts(world, async () => {
    const waiting = (await world.api.callIn()).body;
    return { queued: await world.api.call('GET', `/v1/jobs/${waiting.job_id}`), job_id: waiting.job_id };
  });
  expect(queued.body).toMatchObject({ attempts: 0, created_at: instant, started_at: null, finished_at: null });
  expect([queued.body.error, queued.body.event_id]).toStrictEqual([null, null]);
  await world.api.untilEvent(job_id);
});

test(row('DEC-278'), async () => {
  const { accepted } = await endedCall(world, { refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9008' });
  const { timeline, created_at, finished_at } = (await world.api.call('GET', `/v1/jobs/${accepted.job_id}`)).body;
  const steps = timeline.map(({ step, kind }: Answer['body']) => `${kind} ${step}`);
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
});

test(row('DEC-279'), async () => {
  await setFault(world.api, 'create_telephone_encounter', 'lose_answer');
  const first = await world.api.callIn({ patient_mrn: patient(9).mrn });
  await untilFailedTry(world.api, first.body.job_id);
  await endPauses(world.owner);
  const retried = { accepted: first.body, event: await world.api.untilEvent(first.body.job_id) };
  const endings: Ended[] = [retried, await partly(), await doubtful(), await endedUpload(world)];
  for (const refuse of Object.values(refusedWrites)) endings.push(await refuse(world));
  for (const { accepted, event } of endings) {
    const [job] = await world.owner<{ id: number; event_id: string }[]>`
      SELECT id, replace(event_id::text, '-', '') AS event_id FROM jobs WHERE operation_id = (
        SELECT operation_id FROM jobs WHERE id = (SELECT job_id FROM events WHERE id = ${event.id}))`;
    const told = await world.owner<{ id: string }[]>`
      SELECT replace(id::text, '-', '') AS id FROM events WHERE job_id = ${job?.id ?? 0}`;
    expect([...told]).toStrictEqual([{ id: event.id }]);
    expect(job?.event_id).toBe(event.id);
    if (accepted.job_id) expect(job?.id).toBe(accepted.job_id);
  }
});

test(row('DEC-304'), async () => {
  const failures: [string, Ended][] = [['patient.live_fetch_failed', await failedFetch(world)]];
  for (const type of [
    'patient.failed',
    'appointment.failed',
    'telephone_encounter_action.failed',
    'patient.update_failed',
  ] as const) {
    failures.push([type, await refusedWrites[type](world)]);
  }
  for (const [type, { event }] of failures) {
    const { failure_reason, reasons } = event.data;
    expect([event.event_type, typeof failure_reason]).toStrictEqual([type, 'string']);
    expect(failure_reason).toBe(type === 'patient.live_fetch_failed' ? failure_reason : refused_because);
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
  const told = {
    'telephone_encounter.failed': ['failure_reason', 'patient_mrn', 'refill_medication_name', 'telephone_encounter_id'],
    'patient.insurance.failed': ['error', 'patient_insurance_id', 'patient_mrn'],
    'document.upload_failed': ['document_id', 'failure_reason', 'folder_name', 'patient_mrn'],
  } as const;
  for (const [type, fields] of Object.entries(told)) {
    const { event } = await refusedWrites[type as keyof typeof told](world);
    expect(event.event_type).toBe(type);
    expect(Object.keys(event.data).sort()).toStrictEqual([...fields]);
  }
  // An update of an insurance fails in the same words as an addition.
  const { body } = await world.api.control('GET', `/control/patient-insurances?patientId=${patient(1).ehr_id}`);
  await setFault(world.api, 'update_patient_insurance', 'refuse', { reason: refused_because });
  const path = `/v1/patients/${patient(1).mrn}/insurances/${body.rows[0].insuranceId}`;
  const { event } = await ended(world, path, { group_id: 'G1' }, 'PATCH');
  expect(event.event_type).toBe('patient.insurance.failed');
  expect(Object.keys(event.data).sort()).toStrictEqual([...told['patient.insurance.failed']]);
});
