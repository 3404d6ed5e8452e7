import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { unparkExpiredJobs } from '../../src/workers.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { appliedMarkers, createMarker, patient, setFault, until, untilEnded, untilFaultsMet } from './journey.ts';

let world: TestSandbox;
beforeEach(async () => {
  world = await startSandbox({ small: true });
});
afterEach(() => world.close());

type Accepted = { job_id: number; telephone_encounter_id: string; mrn: string };

/** Calls for several patients in turn. */
async function queue(count: number, patients: number): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  for (let n = 0; n < count; n++) {
    const { mrn } = patient(1 + (n % patients));
    const answer = await world.api.callIn({ patient_mrn: mrn });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    accepted.push({ ...answer.body, mrn });
  }
  return accepted;
}

/** The link ends while jobs of `count` calls wait and the first ones read: all are accepted before anyone knows. */
async function expireInMidBatch(count: number, patients: number): Promise<Accepted[]> {
  const reading = Math.min(patients, larkspur.limits.parallel_max);
  await setFault(world.api, 'list_patients', 'delay', { times: reading, delay_ms: 5_000 });
  const accepted = await withJobsPaused(world, () => queue(count, patients));
  await untilFaultsMet(world.api);
  await world.api.control('POST', '/control/sessions/expire', { mode: 'link' });
  await until('the account to need a person', async () => {
    return (await world.api.call('GET', '/v1/providers')).status === 403;
  });
  // Jobs that had begun find out one by one.
  await until('all jobs to be parked', async () => {
    const [row] = await world.owner<{ parked: boolean }[]>`
      SELECT bool_and(parked) AS parked FROM jobs WHERE id = ANY (${accepted.map(({ job_id }) => job_id)})
         AND finished_at IS NULL`;
    return row?.parked;
  });
  return accepted;
}

async function loginEvents() {
  const { body } = await world.api.call('GET', '/v1/webhook-events?event_type=login_required');
  return body.webhook_events;
}

describe('a session that has ended', () => {
  test('is renewed by the remembered device: nobody is asked, nothing is parked', async () => {
    await world.api.control('POST', '/control/sessions/expire', { mode: 'session' });
    const accepted = await queue(8, 4);
    await untilEnded(
      world.owner,
      accepted.map(({ job_id }) => job_id),
    );
    for (const { job_id } of accepted) {
      const job = await world.api.job(job_id);
      expect(job.status).toBe('succeeded');
      expect(job.timeline.map(({ step }: { step: string }) => step)).not.toContain('parked');
    }
    expect(await loginEvents()).toStrictEqual([]);
  });
});

describe('a link that has expired', () => {
  test('is reported once, parks everything, answers 403, and loses nothing after update mode', async () => {
    const { api, sandbox, owner } = world;
    const accepted = await expireInMidBatch(20, 5);

    const reported = await loginEvents();
    expect(reported).toHaveLength(1);
    expect(reported[0]).not.toHaveProperty('job_id');
    expect(reported[0].access_token_reference_id).toBe(sandbox.access_token_reference_id);
    expect(reported[0].data).toStrictEqual({
      access_token_reference_id: sandbox.access_token_reference_id,
      user_id: sandbox.user_id,
      org_id: sandbox.org_id,
      emr_name: 'larkspur',
      reason: 'Larkspur requires a new one-time code.',
    });

    const refused = [
      await api.callIn(),
      await api.call('GET', '/v1/providers'),
      await api.call('GET', '/v1/patients'),
      await api.call('POST', '/v1/sync'),
    ];
    for (const answer of refused) {
      expect(answer.status).toBe(403);
      expect(answer.body).toStrictEqual({
        success: false,
        error: 'login_required',
        message: expect.stringContaining('expired'),
      });
    }
    for (const path of ['/v1/webhook-events', `/v1/jobs/${accepted[19]?.job_id}`, '/v1/webhook']) {
      expect((await api.call('GET', path)).status, path).toBe(200);
    }

    expect(await api.link({ access_token: sandbox.access_token })).toBe(sandbox.access_token);
    expect((await api.call('GET', '/v1/providers')).status).toBe(200);
    const job_ids = accepted.map(({ job_id }) => job_id);
    await untilEnded(owner, job_ids);
    const events = await owner<{ job_id: number; type: string }[]>`
      SELECT job_id, type FROM events WHERE job_id = ANY (${job_ids}) ORDER BY job_id`;
    expect(events).toHaveLength(20);
    expect(new Set(events.map(({ type }) => type))).toStrictEqual(new Set(['telephone_encounter.created']));
    const markers = await appliedMarkers(api);
    expect(markers).toHaveLength(20);
    for (let n = 1; n <= 5; n++) {
      const own = accepted
        .filter(({ mrn }) => mrn === patient(n).mrn)
        .map((one) => createMarker(one.telephone_encounter_id));
      expect(markers.filter((marker) => own.includes(marker))).toStrictEqual(own);
    }
    expect(await loginEvents()).toHaveLength(1);
  });

  test('of one account leaves another of the same organization at work, for the same patients too', async () => {
    const { api, owner } = world;
    const parked = await expireInMidBatch(6, 2);
    const access_token = await api.link({ user_id: 'colleague', staff: 1 });
    const jobs: number[] = [];
    for (const { mrn } of parked) {
      const answer = await api.callIn({ patient_mrn: mrn }, { access_token });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      jobs.push(answer.body.job_id);
    }
    await untilEnded(owner, jobs);
    const states = await owner`SELECT DISTINCT state FROM jobs WHERE id = ANY (${jobs})`;
    expect([...states]).toStrictEqual([{ state: 'succeeded' }]);
    const waiting = await owner`SELECT FROM jobs WHERE parked AND id = ANY (${parked.map(({ job_id }) => job_id)})`;
    expect(waiting.length).toBeGreaterThanOrEqual(4);
    expect((await api.callIn()).status).toBe(403);
  });

  test('for more than 14 days fails what waits for it, one failure event each', async () => {
    const { api, owner } = world;
    const accepted = await expireInMidBatch(6, 3);
    const job_ids = accepted.map(({ job_id }) => job_id);
    await owner`UPDATE jobs SET parked_since = now() - interval '13 days 23 hours' WHERE id = ANY (${job_ids})`;
    await unparkExpiredJobs(world.ctx);
    const parked = async () => (await owner`SELECT FROM jobs WHERE parked AND id = ANY (${job_ids})`).length;
    expect(await parked()).toBe(6);

    await owner`UPDATE jobs SET parked_since = now() - interval '14 days 1 hour' WHERE id = ANY (${job_ids})`;
    await unparkExpiredJobs(world.ctx);
    await untilEnded(owner, job_ids);
    for (const { job_id, telephone_encounter_id, mrn } of accepted) {
      const event = await api.untilEvent(job_id);
      expect(event.event_type).toBe('telephone_encounter.failed');
      expect(event.data).toStrictEqual({
        telephone_encounter_id,
        patient_mrn: mrn,
        refill_medication_name: null,
        failure_reason: 'The account was not re-linked within 14 days.',
      });
      expect((await api.job(job_id)).status).toBe('failed');
    }
    expect(await appliedMarkers(api)).toStrictEqual([]);
    expect(await loginEvents()).toHaveLength(1);
  });
});
