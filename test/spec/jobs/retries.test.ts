import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { createMarker, endPauses, patient, setFault, until } from '../../journeys/support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());
afterEach(() => fixture.api.control('DELETE', '/control/faults'));

const create = 'create_telephone_encounter';
type Call = { job_id: number; telephone_encounter_id: string };
type Step = { step: string; kind: string; attempt: number; at: string; detail: ApiResponse['body'] };

async function accept(fields: Record<string, unknown> = {}, headers: Record<string, string> = {}): Promise<Call> {
  const response = await fixture.api.callIn(fields, headers);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return response.body;
}

/** Whether the EMR applied each write that it received for this call. */
async function sentFor({ telephone_encounter_id }: Call): Promise<boolean[]> {
  const marker = createMarker(telephone_encounter_id);
  return (await fixture.api.ledger()).filter((entry) => entry.marker === marker).map((entry) => entry.applied);
}

/** Waits until so many attempts have failed and returns the pauses. */
async function untilRetried({ job_id }: Call, times = 1): Promise<number[]> {
  return until(`attempt ${times} of job ${job_id} to fail`, async () => {
    const job = await fixture.api.job(job_id);
    const retries = job.timeline.filter(({ step }: Step) => step === 'retry');
    if (retries.length < times || job.status === 'running') return undefined;
    return retries.map(({ detail }: Step) => detail.in_ms);
  });
}

const ageRetries = ({ job_id }: Call, age: string) =>
  fixture.owner`UPDATE jobs SET retry_since = now() - ${age}::text::interval WHERE id = ${job_id}`;

test(row('DEC-282'), async () => {
  for (const kind of ['error_500', 'error_429', 'reset']) {
    await setFault(fixture.api, 'list_medications', kind);
    const call = await accept({ refill_medication_name: 'Lisinopril' });
    await untilRetried(call);
    await endPauses(fixture.owner);
    expect((await fixture.api.untilEvent(call.job_id)).event_type, kind).toBe('telephone_encounter.created');
  }
  // Unreachable: nothing listens on this port.
  await fixture.owner`UPDATE organizations SET emr_address = 'http://127.0.0.1:9'`;
  const unreachable = await accept();
  await untilRetried(unreachable);
  await fixture.owner`UPDATE organizations SET emr_address = ${fixture.sandbox.larkspur.url}`;
  await endPauses(fixture.owner);
  expect((await fixture.api.untilEvent(unreachable.job_id)).event_type).toBe('telephone_encounter.created');

  // Locked: five wrong passwords lock a user for 15 minutes.
  const access_token = await fixture.api.link({ user_id: 'locked', staff: 6 });
  for (let n = 0; n < 5; n += 1) await signInWrongly(6);
  await fixture.api.control('POST', '/control/sessions/expire', { mode: 'session' });
  const locked = await accept({ patient_mrn: patient(6).mrn }, { access_token });
  const retries = async () => {
    const { body } = await fixture.api.call('GET', `/v1/jobs/${locked.job_id}`, { headers: { access_token } });
    return body.timeline.map(({ step }: Step) => step);
  };
  await until('an attempt to fail on the lock', async () => (await retries()).length > 1);
  expect(await retries()).toStrictEqual(['started', 'retry']);

  // Permanent failures are not retried.
  await setFault(fixture.api, create, 'refuse', { reason: 'No.' });
  for (const fields of [{}, { patient_mrn: 'LK999999' }, { refill_medication_name: 'Warfarin' }]) {
    const call = await accept(fields);
    expect((await fixture.api.untilEvent(call.job_id)).event_type).toBe('telephone_encounter.failed');
    expect(await fixture.api.job(call.job_id)).toMatchObject({ status: 'failed', attempts: 1 });
  }
});

async function signInWrongly(staff: number): Promise<void> {
  const userName = fixture.sandbox.larkspur.staff[staff]?.username;
  await fetch(`${fixture.sandbox.larkspur.url}/api/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ userName, password: 'wrong' }),
  });
}

test(row('DEC-283'), async () => {
  const plain_s = [1, 2, 4, 8, 16, 32, 60, 60];
  // Not an operation of a sync, which would use up some of the faults.
  await setFault(fixture.api, 'list_medications', 'error_500', { times: plain_s.length });
  const call = await accept({ refill_medication_name: 'Lisinopril' });
  for (const n of plain_s.keys()) {
    await untilRetried(call, n + 1);
    await endPauses(fixture.owner);
  }
  await fixture.api.untilEvent(call.job_id);
  const { timeline } = await fixture.api.job(call.job_id);
  const retries: Step[] = timeline.filter(({ step }: Step) => step === 'retry');
  const factors = retries.map(({ detail }, n) => detail.in_ms / ((plain_s[n] ?? 0) * 1000));
  expect(factors).toHaveLength(plain_s.length);
  for (const factor of factors) {
    expect(factor).toBeGreaterThanOrEqual(0.8);
    expect(factor).toBeLessThanOrEqual(1.2);
  }
  // With jitter, the eight factors differ.
  expect(new Set(factors).size).toBeGreaterThan(1);
});

test(row('DEC-284'), async () => {
  await setFault(fixture.api, 'list_medications', 'error_500', { times: 50 });
  const call = await accept({ refill_medication_name: 'Lisinopril' });
  await untilRetried(call);
  await ageRetries(call, '59 minutes');
  const retried = (await untilRetried(call)).length;
  await endPauses(fixture.owner);
  await untilRetried(call, retried + 1);
  await ageRetries(call, '61 minutes');
  await endPauses(fixture.owner);
  expect((await fixture.api.untilEvent(call.job_id)).event_type).toBe('telephone_encounter.failed');
  expect(await fixture.api.job(call.job_id)).toMatchObject({ status: 'failed', error: { code: 'unavailable' } });
  expect(await sentFor(call)).toStrictEqual([]);
});

test(row('DEC-287'), async () => {
  await setFault(fixture.api, create, 'refuse', { reason: 'This chart is locked.' });
  const call = await accept();
  const event = await fixture.api.untilEvent(call.job_id);
  expect([event.event_type, event.data.failure_reason]).toStrictEqual([
    'telephone_encounter.failed',
    'This chart is locked.',
  ]);
  const job = await fixture.api.job(call.job_id);
  expect(job).toMatchObject({ status: 'failed', attempts: 1 });
  expect(job.timeline.map(({ step }: Step) => step)).not.toContain('retry');
  expect(await sentFor(call)).toStrictEqual([false]);
});

test(row('DEC-288'), async () => {
  // The write arrived: the EMR knows our marker, so nothing is sent again.
  await setFault(fixture.api, create, 'lose_answer');
  // The first lookup of the marker fails; nothing may be sent until one succeeds.
  await setFault(fixture.api, 'find_receipt', 'error_500');
  const arrived = await accept();
  await untilRetried(arrived);
  await endPauses(fixture.owner);
  await untilRetried(arrived, 2);
  expect((await fixture.api.control('GET', '/control/faults')).body.faults).toStrictEqual([]);
  expect(await sentFor(arrived)).toStrictEqual([true]);
  await endPauses(fixture.owner);
  expect((await fixture.api.untilEvent(arrived.job_id)).event_type).toBe('telephone_encounter.created');
  expect(await sentFor(arrived)).toStrictEqual([true]);

  // The write did not arrive: the EMR does not know the marker, so it is sent again.
  await setFault(fixture.api, create, 'reset');
  const lost = await accept();
  await untilRetried(lost);
  await endPauses(fixture.owner);
  expect((await fixture.api.untilEvent(lost.job_id)).event_type).toBe('telephone_encounter.created');
  expect(await sentFor(lost)).toStrictEqual([false, true]);
});

test(row('DEC-289'), async () => {
  await setFault(fixture.api, create, 'lose_answer');
  await setFault(fixture.api, 'find_receipt', 'error_500', { times: 50 });
  const call = await accept();
  await untilRetried(call);
  await ageRetries(call, '61 minutes');
  await endPauses(fixture.owner);
  expect((await fixture.api.untilEvent(call.job_id)).event_type).toBe('telephone_encounter.failed');
  expect((await fixture.api.job(call.job_id)).status).toBe('needs_review');
  expect(await sentFor(call)).toStrictEqual([true]);
});
