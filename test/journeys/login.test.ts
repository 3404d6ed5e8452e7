import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { larkspur } from '../../src/emr/larkspur/larkspur.ts';
import { unparkExpiredJobs } from '../../src/product/workers.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import {
  appliedMarkers,
  createMarker,
  patient,
  setFault,
  until,
  untilFaultsApplied,
  untilFinished,
} from './support.ts';

let fixture: TestSandbox;
let login_events_before: number;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());
beforeEach(async () => {
  login_events_before = (await allLoginEvents()).length;
});
afterEach(async () => {
  await fixture.api.control('DELETE', '/control/faults');
  await fixture.api.link({ access_token: fixture.sandbox.access_token });
  // Syncs too: one that runs during the next test would use up its faults. Those of another account may stay parked.
  await until('all jobs to finish', async () => {
    const unfinished = await fixture.owner`
      SELECT FROM jobs WHERE finished_at IS NULL AND (type <> 'sync' OR NOT parked) LIMIT 1`;
    return unfinished.length === 0;
  });
});

type Accepted = { job_id: number; telephone_encounter_id: string; mrn: string };

/** Calls for several patients in turn. */
async function queue(count: number, patients: number): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  for (let n = 0; n < count; n++) {
    const { mrn } = patient(1 + (n % patients));
    const response = await fixture.api.callIn({ patient_mrn: mrn });
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    accepted.push({ ...response.body, mrn });
  }
  return accepted;
}

/** Expires the link while `count` accepted calls are queued and the first ones are reading from the EMR. */
async function expireInMidBatch(count: number, patients: number): Promise<Accepted[]> {
  const reading = Math.min(patients, larkspur.limits.parallel_max);
  await setFault(fixture.api, 'list_patients', 'delay', { times: reading, delay_ms: 5_000 });
  const accepted = await withJobsPaused(fixture, () => queue(count, patients));
  await untilFaultsApplied(fixture.api);
  await fixture.api.control('POST', '/control/sessions/expire', { mode: 'link' });
  await until('the account to need a login', async () => {
    return (await fixture.api.call('GET', '/v1/providers')).status === 403;
  });
  // Running jobs detect it one by one.
  await until('all jobs to be parked', async () => {
    const [row] = await fixture.owner<{ parked: boolean }[]>`
      SELECT bool_and(parked) AS parked FROM jobs WHERE id = ANY (${accepted.map(({ job_id }) => job_id)})
         AND finished_at IS NULL`;
    return row?.parked;
  });
  return accepted;
}

async function allLoginEvents() {
  return (await fixture.api.call('GET', '/v1/webhook-events?event_type=login_required')).body.webhook_events;
}

/** The login_required events of this test, newest first. */
async function loginEvents() {
  const events = await allLoginEvents();
  return events.slice(0, events.length - login_events_before);
}

describe('an expired session', () => {
  test('is renewed through the remembered device without parking a job', async () => {
    await fixture.api.control('POST', '/control/sessions/expire', { mode: 'session' });
    const accepted = await queue(8, 4);
    await untilFinished(
      fixture.owner,
      accepted.map(({ job_id }) => job_id),
    );
    for (const { job_id } of accepted) {
      const job = await fixture.api.job(job_id);
      expect(job.status).toBe('succeeded');
      expect(job.timeline.map(({ step }: { step: string }) => step)).not.toContain('parked');
    }
    expect(await loginEvents()).toStrictEqual([]);
  });
});

describe('an expired link', () => {
  const jobs = figure('EXPIRED_JOBS', 20);
  const timeout_ms = timeoutFor(jobs, 1_000);

  test(
    'is reported once, parks all jobs and returns 403; the jobs run after re-linking',
    async () => {
      const { api, sandbox, owner } = fixture;
      const accepted = await expireInMidBatch(jobs, 5);

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

      const rejected = [
        await api.callIn(),
        await api.call('GET', '/v1/providers'),
        await api.call('GET', '/v1/patients'),
        await api.call('POST', '/v1/sync'),
      ];
      for (const response of rejected) {
        expect(response.status).toBe(403);
        expect(response.body).toStrictEqual({
          success: false,
          error: 'login_required',
          message: expect.stringContaining('expired'),
        });
      }
      for (const path of ['/v1/webhook-events', `/v1/jobs/${accepted.at(-1)?.job_id}`, '/v1/webhook']) {
        expect((await api.call('GET', path)).status, path).toBe(200);
      }

      expect(await api.link({ access_token: sandbox.access_token })).toBe(sandbox.access_token);
      expect((await api.call('GET', '/v1/providers')).status).toBe(200);
      const job_ids = accepted.map(({ job_id }) => job_id);
      await untilFinished(owner, job_ids, timeout_ms);
      const events = await owner<{ job_id: number; type: string }[]>`
      SELECT job_id, type FROM events WHERE job_id = ANY (${job_ids}) ORDER BY job_id`;
      expect(events).toHaveLength(jobs);
      expect(new Set(events.map(({ type }) => type))).toStrictEqual(new Set(['telephone_encounter.created']));
      const created = accepted.map((one) => createMarker(one.telephone_encounter_id));
      const markers = (await appliedMarkers(api)).filter((marker) => created.includes(marker));
      expect(markers).toHaveLength(jobs);
      for (let n = 1; n <= 5; n++) {
        const own = accepted
          .filter(({ mrn }) => mrn === patient(n).mrn)
          .map((one) => createMarker(one.telephone_encounter_id));
        expect(markers.filter((marker) => own.includes(marker))).toStrictEqual(own);
      }
      expect(await loginEvents()).toHaveLength(1);
    },
    timeout_ms,
  );

  test('does not affect another account of the organization, even for the same patients', async () => {
    const { api, owner } = fixture;
    const parked = await expireInMidBatch(6, 2);
    const access_token = await api.link({ user_id: 'colleague', staff: 1 });
    const jobs: number[] = [];
    for (const { mrn } of parked) {
      const response = await api.callIn({ patient_mrn: mrn }, { access_token });
      expect(response.status, JSON.stringify(response.body)).toBe(200);
      jobs.push(response.body.job_id);
    }
    await untilFinished(owner, jobs);
    const states = await owner`SELECT DISTINCT state FROM jobs WHERE id = ANY (${jobs})`;
    expect([...states]).toStrictEqual([{ state: 'succeeded' }]);
    const waiting = await owner`SELECT FROM jobs WHERE parked AND id = ANY (${parked.map(({ job_id }) => job_id)})`;
    expect(waiting.length).toBeGreaterThanOrEqual(4);
    expect((await api.callIn()).status).toBe(403);
  });

  test(
    'a link that has been expired for more than 14 days fails the parked jobs, each with one event',
    async () => {
      const { api, owner } = fixture;
      const accepted = await expireInMidBatch(6, 3);
      const job_ids = accepted.map(({ job_id }) => job_id);
      await owner`UPDATE jobs SET parked_since = now() - interval '13 days 23 hours' WHERE id = ANY (${job_ids})`;
      await unparkExpiredJobs(fixture.ctx);
      const parked = async () => (await owner`SELECT FROM jobs WHERE parked AND id = ANY (${job_ids})`).length;
      expect(await parked()).toBe(6);

      await owner`UPDATE jobs SET parked_since = now() - interval '14 days 1 hour' WHERE id = ANY (${job_ids})`;
      await unparkExpiredJobs(fixture.ctx);
      await untilFinished(owner, job_ids);
      for (const { job_id, telephone_encounter_id, mrn } of accepted) {
        const event = await api.untilEvent(job_id);
        expect(event.event_type).toBe('telephone_encounter.failed');
        expect(event.data).toStrictEqual({
          telephone_encounter_id,
          patient_mrn: mrn,
          refill_medication_name: null,
          failure_reason: 'The account was not re-linked within 14 days.',
        });
        expect(await api.job(job_id)).toMatchObject({ status: 'failed', error: { code: 'login_required' } });
      }
      const markers = await appliedMarkers(api);
      for (const one of accepted) expect(markers).not.toContain(createMarker(one.telephone_encounter_id));
      expect(await loginEvents()).toHaveLength(1);
    },
    timeout_ms,
  );
});
