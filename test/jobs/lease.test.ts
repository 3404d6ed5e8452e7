import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EmrFailure } from '../../src/connectors/connector.ts';
import type { Context } from '../../src/context.ts';
import { claimLeases, extendLeases, type Lease, LeaseLost } from '../../src/db/lease.ts';
import { finishJob, type Job, startNextJob } from '../../src/jobs/jobs.ts';
import { createLaneRunner, type JobHandler } from '../../src/jobs/run.ts';
import { openLog } from '../../src/log.ts';
import { layTenant, type Tenant } from '../harness/tenant.ts';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.owner`TRUNCATE lanes, jobs CASCADE`);

const claim = (count: number, owner = 'worker', lease_ms = 10_000) =>
  claimLeases(fixture.db.system, 'lanes', { owner, count, lease_ms });
const start = (lease: Lease) => fixture.db.tenant(lease.client_id, (tx) => startNextJob(tx, lease));
const finish = (lease: Lease, job: Job) =>
  fixture.db.tenant(lease.client_id, (tx) =>
    finishJob(tx, lease, job, { state: 'succeeded', error: null, event_id: null }),
  );
const expire = (lease: Lease) =>
  fixture.owner`UPDATE lanes SET locked_until = now() - interval '1 second' WHERE id = ${lease.id}`;
const discarded = 'lease lost before the job finished; result discarded';
const only = <T>(items: T[]): T => {
  const [first] = items;
  if (first === undefined || items.length !== 1) throw new Error(`Expected one, got ${items.length}.`);
  return first;
};

describe('a claim', () => {
  test('gives each lane to only one of several concurrent claimers', async () => {
    for (let n = 0; n < 30; n++) await fixture.queue(`p${n}`, fixture.tenant, 100);
    const claims = await Promise.all(Array.from({ length: 6 }, (_, n) => claim(10, `w${n}`)));
    const ids = claims.flat().map((lease) => lease.id);
    expect(ids).toHaveLength(30);
    expect(new Set(ids).size).toBe(30);
  });

  test('respects the parallel limit of an account across concurrent and repeated claims', async () => {
    for (let n = 0; n < 20; n++) await fixture.queue(`p${n}`, fixture.tenant, 3);
    const claims = await Promise.all(Array.from({ length: 5 }, (_, n) => claim(20, `w${n}`)));
    expect(claims.flat()).toHaveLength(3);
    expect(await claim(20)).toHaveLength(0);
  });

  test('prefers the first lane of a quiet account to further lanes of a busy one', async () => {
    const busy = fixture.tenant;
    const quiet: Tenant = await layTenant(fixture.owner);
    for (let n = 0; n < 50; n++) await fixture.queue(`p${n}`, busy, 50);
    await claim(3);
    await fixture.queue('quiet', quiet, 50);
    expect(only(await claim(1)).client_id).toBe(quiet.client_id);
  });

  test('skips lanes that are not ready yet and lanes that are leased', async () => {
    await fixture.queue('later');
    await fixture.owner`UPDATE lanes SET ready_at = now() + interval '1 hour'`;
    expect(await claim(5)).toHaveLength(0);
    await fixture.owner`UPDATE lanes SET ready_at = now()`;
    expect(await claim(5)).toHaveLength(1);
    expect(await claim(5)).toHaveLength(0);
  });

  test('takes over a lane whose lease has expired, with a higher fence', async () => {
    await fixture.queue('p');
    const dead = only(await claim(1, 'dead'));
    await expire(dead);
    const heir = only(await claim(1, 'heir'));
    expect(heir.id).toBe(dead.id);
    expect(heir.fence).toBeGreaterThan(dead.fence);
  });
});

describe('a lease', () => {
  test('that expired during a failing EMR call discards the failure and logs it once', async () => {
    const id = await fixture.queue('p');
    const lease = only(await claim(1, 'frozen'));
    const lines: string[] = [];
    const handler: JobHandler = {
      run: async () => {
        await expire(lease);
        await claim(1, 'heir');
        throw new EmrFailure('unavailable', 'The EMR closed the connection.');
      },
      onFailure: () => ({ state: 'failed', error: null, event: null }),
    };
    // The parts of the context that are used here.
    const ctx = {
      db: fixture.db,
      notifications: { notify: () => {} },
      log: openLog('warn', { write: (line) => lines.push(line) }),
    };
    const metrics = { job_retries: { inc: () => {} } };
    const run = createLaneRunner(new Map([['test', handler]]), async () => false);
    await run({ ...ctx, metrics } as unknown as Context, lease, new AbortController().signal);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', job_id: id, msg: discarded }]);
    const steps = await fixture.owner`SELECT name FROM job_steps WHERE job_id = ${id}`;
    expect(steps.map(({ name }) => name)).toStrictEqual(['started']);
  });

  test('is extended by a heartbeat, which reports lost leases', async () => {
    await fixture.queue('a');
    await fixture.queue('b');
    const leases = await claim(2, 'worker', 1_000);
    const [kept, lost] = leases;
    if (!kept || !lost) throw new Error('Expected two lanes.');
    await expire(lost);
    await claim(1, 'heir');
    expect(await extendLeases(fixture.db.system, 'lanes', leases, 60_000)).toStrictEqual(new Set([kept.id]));
    const rows = await fixture.owner<{ left: number }[]>`
      SELECT extract(epoch FROM locked_until - now())::float8 AS left FROM lanes WHERE id = ${kept.id}`;
    expect(only([...rows]).left).toBeGreaterThan(50);
  });

  test('that was released is not extended by a heartbeat in progress', async () => {
    await fixture.queue('p');
    await fixture.queue('p');
    const lease = only(await claim(1));
    const job = await start(lease);
    if (!job) throw new Error('Expected a job.');
    await finish(lease, job);
    expect(await extendLeases(fixture.db.system, 'lanes', [lease], 60_000)).toStrictEqual(new Set());
    expect(await claim(1)).toHaveLength(1);
  });

  test('that expired prevents the start and the end of a job from being committed', async () => {
    await fixture.queue('p');
    const late = only(await claim(1, 'late'));
    const job = await start(late);
    if (!job) throw new Error('Expected a job.');
    await expire(late);
    await expect(finish(late, job)).rejects.toThrow(LeaseLost);
    const heir = only(await claim(1, 'heir'));
    await expect(start(late)).rejects.toThrow(LeaseLost);
    await expect(finish(late, job)).rejects.toThrow(LeaseLost);
    expect((await start(heir))?.id).toBe(job.id);
    await finish(heir, job);
    expect(only([...(await fixture.owner`SELECT state FROM jobs WHERE id = ${job.id}`)]).state).toBe('succeeded');
  });
});

describe('a lane', () => {
  test('runs its jobs one at a time in the order of acceptance, and is deleted when empty', async () => {
    const queued = [await fixture.queue('p'), await fixture.queue('p'), await fixture.queue('p')];
    const ran: number[] = [];
    for (;;) {
      const leases = await claim(10);
      if (leases.length === 0) break;
      const lease = only(leases);
      const job = await start(lease);
      if (!job) throw new Error('Expected a job.');
      ran.push(job.id);
      expect(await claim(10)).toHaveLength(0);
      await finish(lease, job);
    }
    expect(ran).toStrictEqual(queued);
    expect(await fixture.owner`SELECT FROM lanes`).toHaveLength(0);
  });

  test('loses no job that is accepted while the lane is being deleted', async () => {
    for (let round = 0; round < 25; round++) {
      await fixture.queue('race');
      const lease = only(await claim(1));
      const job = await start(lease);
      if (!job) throw new Error('Expected a job.');
      const [second] = await Promise.all([fixture.queue('race'), finish(lease, job)]);
      const next = only(await claim(1));
      expect((await start(next))?.id).toBe(second);
      await fixture.owner`TRUNCATE lanes, jobs CASCADE`;
    }
  });

  test('is claimed through the index of ready lanes, not by scanning jobs or lanes', async () => {
    const { client_id, organization_id, account_id } = fixture.tenant;
    const id = await fixture.queue('p');
    await fixture.owner`INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane, state)
      SELECT client_id, organization_id, account_id, operation_id, type, 'done', 'succeeded'
        FROM jobs, generate_series(1, 20000) WHERE id = ${id}`;
    await fixture.owner`INSERT INTO lanes (client_id, organization_id, account_id, key, parallel_max)
      SELECT ${client_id}, ${organization_id}, ${account_id}, 'k' || n, 4 FROM generate_series(1, 10000) AS n`;
    await fixture.owner`ANALYZE lanes`;
    const plan = await fixture.owner<{ 'QUERY PLAN': string }[]>`
      EXPLAIN SELECT id FROM lanes WHERE account_id = ${account_id} AND ready_at <= now() ORDER BY ready_at LIMIT 16`;
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('lanes_ready');
    expect(await claim(16)).toHaveLength(4);
  });
});
