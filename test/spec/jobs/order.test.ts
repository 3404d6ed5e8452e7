import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { larkspur } from '../../../src/emr/larkspur/larkspur.ts';
import { unparkExpiredJobs } from '../../../src/product/workers.ts';
import { apiAs } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { endPauses, patient, setFault, until, untilFinished } from '../../journeys/support.ts';
import { documentForm } from '../documents/documentForm.ts';
import { free_day } from '../support/completedJobs.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());
afterEach(() => fixture.api.control('DELETE', '/control/faults'));

type Call = { job_id: number; telephone_encounter_id: string };

async function accept(mrn: string, headers = {}, fields: Record<string, unknown> = {}): Promise<Call> {
  const response = await fixture.api.callIn({ patient_mrn: mrn, ...fields }, headers);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return response.body;
}

/** Those of `ids` whose writes the EMR has applied, in the order of the writes. */
async function applied(ids: string[]): Promise<string[]> {
  const entries = (await fixture.api.ledger()).filter((entry) => entry.applied);
  return entries.flatMap(({ marker }) => ids.filter((id) => marker.startsWith(id)));
}

/** Waits until an attempt has failed, then pauses its lane for an hour. */
async function holdBack(job_id: number): Promise<void> {
  await until(`the lane of job ${job_id} to pause`, async () => {
    const paused = await fixture.owner`
      UPDATE lanes SET ready_at = now() + interval '1 hour' WHERE locked_until IS NULL
         AND key = (SELECT lane FROM jobs WHERE id = ${job_id} AND error IS NOT NULL) RETURNING id`;
    return paused.length > 0;
  });
}

/** Expires the link and parks a call for this patient. */
async function parkWith(mrn: string): Promise<Call> {
  await fixture.api.control('POST', '/control/sessions/expire', { mode: 'link' });
  const parked = await accept(mrn);
  await until('the job to be parked', async () => {
    const [row] = await fixture.owner<{ parked: boolean }[]>`SELECT parked FROM jobs WHERE id = ${parked.job_id}`;
    return row?.parked;
  });
  return parked;
}

const relink = () => fixture.api.link({ access_token: fixture.sandbox.access_token });

test(row('DEC-280'), async () => {
  const { mrn } = patient(1);
  const { provider_id: provider, location_id: location } = fixture.sandbox.example;
  const form = documentForm(fixture);
  // The first one is retried; later ones must not overtake it.
  await setFault(fixture.api, 'create_telephone_encounter', 'error_429', { times: 50 });
  const first = await accept(mrn);
  await holdBack(first.job_id);
  const ids = [first.telephone_encounter_id];
  for (let round = 0; round < 3; round += 1) {
    ids.push((await form.upload({ patient_mrn: mrn })).body.document_id);
    const booking = { mrn, location, provider, type: 'FU', datetime: `${free_day}T09:00:00-04:00` };
    ids.push((await fixture.api.call('POST', '/v1/appointments', { body: booking })).body.appointment_id);
    const insurance = { member_id: `M${round}`, insurance_name: 'Mock Mutual' };
    const added = await fixture.api.call('POST', `/v1/patients/${mrn}/insurances`, { body: insurance });
    ids.push(added.body.patient_insurance_id, (await accept(mrn)).telephone_encounter_id);
  }
  expect(await applied(ids)).toStrictEqual([]);
  await fixture.api.control('DELETE', '/control/faults');
  await endPauses(fixture.owner);
  await until('all of them to be applied', async () => (await applied(ids)).length === ids.length);
  expect(await applied(ids)).toStrictEqual(ids);
});

test(row('DEC-281'), async () => {
  await setFault(fixture.api, 'create_telephone_encounter', 'delay', { times: 8, delay_ms: 2_000 });
  const calls = await withJobsPaused(fixture, () =>
    Promise.all(Array.from({ length: 8 }, (_, n) => accept(patient(20 + n).mrn))),
  );
  const ids = calls.map(({ job_id }) => job_id);
  await untilFinished(fixture.owner, ids);
  const spans = await fixture.owner<{ started: number; finished: number }[]>`
    SELECT extract(epoch FROM started_at)::float8 AS started, extract(epoch FROM finished_at)::float8 AS finished
      FROM jobs WHERE id = ANY (${ids})`;
  const atOnce = spans.map(
    ({ started }) => spans.filter((each) => each.started <= started && started < each.finished).length,
  );
  expect(Math.max(...atOnce)).toBe(larkspur.limits.parallel_max);
});

test(row('DEC-285'), async () => {
  const parked = await parkWith(patient(30).mrn);
  const since = (age: string) =>
    fixture.owner`UPDATE jobs SET parked_since = now() - ${age}::text::interval WHERE id = ${parked.job_id}`;
  await since('13 days 23 hours 59 minutes');
  await unparkExpiredJobs(fixture.ctx);
  const [row] = await fixture.owner`SELECT parked, state FROM jobs WHERE id = ${parked.job_id}`;
  expect(row).toMatchObject({ parked: true, state: 'queued' });
  await since('14 days 1 minute');
  await unparkExpiredJobs(fixture.ctx);
  const event = await fixture.api.untilEvent(parked.job_id);
  expect(event.event_type).toBe('telephone_encounter.failed');
  expect(event.data.failure_reason).toMatch(/14 days/);
  expect((await fixture.api.job(parked.job_id)).status).toBe('failed');
  expect(await applied([parked.telephone_encounter_id])).toStrictEqual([]);
  await relink();
});

test(row('DEC-286'), async () => {
  const { mrn } = patient(40);
  const parked = await parkWith(mrn);
  const access_token = await fixture.api.link({ user_id: 'colleague', staff: 1 });
  const colleague = apiAs(fixture, { access_token });
  // A parked job does not block other jobs for the same patient.
  const passing = (await colleague.callIn({ patient_mrn: mrn })).body;
  expect((await colleague.untilEvent(passing.job_id)).event_type).toBe('telephone_encounter.created');
  const [still] = await fixture.owner`SELECT parked FROM jobs WHERE id = ${parked.job_id}`;
  expect(still?.parked).toBe(true);
  await relink();
  await untilFinished(fixture.owner, [parked.job_id]);

  // A paused retry blocks its own patient only, even if the account runs as many jobs as it may.
  const { parallel_max } = larkspur.limits;
  await setFault(fixture.api, 'list_medications', 'error_500', { times: 200 });
  const waiting = await Promise.all(
    Array.from({ length: parallel_max }, (_, n) =>
      accept(patient(51 + 10 * n).mrn, {}, { refill_medication_name: 'li' }),
    ),
  );
  for (const { job_id } of waiting) await holdBack(job_id);
  const others = (await colleague.callIn({ patient_mrn: patient(99).mrn })).body;
  expect((await colleague.untilEvent(others.job_id)).event_type).toBe('telephone_encounter.created');
  for (const { job_id } of waiting) expect((await fixture.api.job(job_id)).status).toBe('queued');
  await fixture.api.control('DELETE', '/control/faults');
  await endPauses(fixture.owner);
  await untilFinished(
    fixture.owner,
    waiting.map(({ job_id }) => job_id),
  );
});
