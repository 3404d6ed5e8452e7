import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EmrFailure } from '../../src/emr/emrFailure.ts';
import { claimLeases, createClaimer, extendLeases, type Lease, LeaseLost } from '../../src/platform/db/lease.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { telemetry_off } from '../../src/platform/telemetry/telemetry.ts';
import { createCircuits } from '../../src/platform/worker/backoff.ts';
import type { Context } from '../../src/product/context.ts';
import type { Job } from '../../src/product/jobs/jobs.ts';
import { createLaneRunner, type JobHandler } from '../../src/product/jobs/run.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';
import { endJob, type Fixture, openFixture, startNextJob } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.owner`TRUNCATE lanes, jobs CASCADE`);

const claim = (count: number, owner = 'worker', lease_ms = 10_000) =>
  claimLeases(fixture.db.system, 'lanes', { owner, count, lease_ms });
const start = (lease: Lease) => fixture.db.tenant(lease.client_id, (tx) => startNextJob(tx, lease));
const finish = (lease: Lease, job: Job) => fixture.db.tenant(lease.client_id, (tx) => endJob(tx, lease, job));
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

  test('respects what was measured for an account instead, as it is at each claim', async () => {
    const tenant = await createTenant(fixture.owner);
    const { account_id, client_id } = tenant;
    for (let n = 0; n < 6; n++) await fixture.queue(`measured-${n}`, tenant, 1);
    const measured = (parallel: number) => fixture.owner`
      INSERT INTO write_limits (account_id, client_id, parallel, creates, reason)
      VALUES (${account_id}, ${client_id}, ${parallel}, 0, 'creates')
      ON CONFLICT (account_id) DO UPDATE SET parallel = excluded.parallel`;
    expect(await claim(20)).toHaveLength(1);
    await measured(4);
    expect(await claim(20, 'another')).toHaveLength(3);
    await measured(1);
    await fixture.owner`UPDATE lanes SET locked_until = NULL
      WHERE id = (SELECT id FROM lanes WHERE account_id = ${account_id} AND locked_until IS NOT NULL LIMIT 1)`;
    expect(await claim(20)).toHaveLength(0);
  });

  test('prefers the first lane of a quiet account to further lanes of a busy one', async () => {
    const busy = fixture.tenant;
    const quiet: Tenant = await createTenant(fixture.owner);
    for (let n = 0; n < 50; n++) await fixture.queue(`p${n}`, busy, 50);
    await claim(3);
    await fixture.queue('quiet', quiet, 50);
    expect(only(await claim(1)).client_id).toBe(quiet.client_id);
  });

  test('leaves slots to other clients, however many accounts a client has', async () => {
    for (let n = 0; n < 24; n++) {
      const { client_id } = fixture.tenant;
      const busy = await createTenant(fixture.owner, { client_id });
      await fixture.queue(`p${n}`, busy);
    }
    expect(await claim(16)).toHaveLength(8);
    expect(await claim(8), 'holds as many as are free').toHaveLength(0);
    const next = await createTenant(fixture.owner);
    for (let n = 0; n < 10; n++) await fixture.queue(`q${n}`, next, 10);
    const claimed = await claim(8);
    expect(claimed).toHaveLength(4);
    expect(new Set(claimed.map((lease) => lease.client_id))).toStrictEqual(new Set([next.client_id]));
    const third = await createTenant(fixture.owner);
    await fixture.queue('third', third);
    expect(only(await claim(4)).client_id).toBe(third.client_id);
  });

  test('counts only the slots of the same worker', async () => {
    for (let n = 0; n < 20; n++) await fixture.queue(`p${n}`, fixture.tenant, 20);
    expect(await claim(8, 'one')).toHaveLength(4);
    expect(await claim(8, 'two')).toHaveLength(4);
  });

  test('does not read the versions of finished lanes that an open transaction preserves', async () => {
    const { client_id, organization_id, account_id } = fixture.tenant;
    const snapshot = await fixture.owner.begin('BEGIN ISOLATION LEVEL REPEATABLE READ', async (old) => {
      await old`SELECT count(*) FROM lanes`;
      await fixture.owner`INSERT INTO lanes (client_id, organization_id, account_id, key, parallel_max, ready_at)
        SELECT ${client_id}, ${organization_id}, ${account_id}, 'k' || n, 4, now() - interval '1 hour'
          FROM generate_series(1, 3000) AS n`;
      await fixture.owner`DELETE FROM lanes`;
      await fixture.queue('p');
      const countBuffers = async (since: string) => {
        const plan = await fixture.owner<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }[]>`
          EXPLAIN (ANALYZE, BUFFERS, FORMAT json)
            SELECT * FROM claim_lanes('w', 0, interval '1 s', ${since}::timestamptz)`;
        return plan[0]?.['QUERY PLAN'][0]?.Plan['Shared Hit Blocks'] ?? 0;
      };
      return {
        all: await countBuffers('-infinity'),
        recent: await countBuffers(new Date(Date.now() - 60_000).toISOString()),
      };
    });
    expect(snapshot.all).toBeGreaterThan(500);
    expect(snapshot.recent).toBeLessThan(snapshot.all / 5);
  });

  test('a worker’s claim finds new, old and expired work', async () => {
    const claimNext = createClaimer(fixture.db.system, 'lanes', { owner: 'w', lease_ms: 10_000 });
    expect(await claimNext(4)).toHaveLength(0);
    await fixture.queue('new');
    const lease = only(await claimNext(4));
    await fixture.queue('waiting');
    await fixture.owner`UPDATE lanes SET ready_at = now() - interval '1 hour' WHERE key = 'waiting'`;
    await expire(lease);
    const left = async () => {
      await claimNext(8);
      return fixture.owner`SELECT FROM lanes WHERE locked_until IS NULL OR locked_until < now()`;
    };
    await expect.poll(left, { interval: 50 }).toHaveLength(0);
  });

  test('finds expired work within seconds after the database did not respond for a while', async () => {
    const claimNext = createClaimer(fixture.db.system, 'lanes', { owner: 'w', lease_ms: 10_000 });
    let claimed: Promise<Lease[]> | undefined;
    await fixture.owner.begin(async (tx) => {
      await tx`SELECT pg_advisory_xact_lock(7240002)`;
      claimed = claimNext(4);
      await pause(1_000);
    });
    await claimed;
    await fixture.queue('orphaned');
    await fixture.owner`UPDATE lanes SET ready_at = now() - interval '1 hour' WHERE key = 'orphaned'`;
    const orphaned = async () => (await claimNext(8)).length;
    // A slow scan must not postpone the next one in proportion: that would be 20 s.
    await expect.poll(orphaned, { interval: 100, timeout: 10_000 }).toBe(1);
  });

  test('is a single statement: a frozen process cannot hold the lock', async () => {
    await fixture.queue('p');
    const system = new Proxy(fixture.db.system, {
      get: (target, name, receiver) => {
        if (name === 'begin') throw new Error('A transaction was started.');
        return Reflect.get(target, name, receiver);
      },
    });
    expect(await claimLeases(system, 'lanes', { owner: 'w', count: 1, lease_ms: 1_000 })).toHaveLength(1);
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
    const replacement = only(await claim(1, 'replacement'));
    expect(replacement.id).toBe(dead.id);
    expect(replacement.fence).toBeGreaterThan(dead.fence);
  });
});

describe('a lease', () => {
  test('a lease that expired during a failing EMR call discards the failure and logs it once', async () => {
    const id = await fixture.queue('p');
    const lease = only(await claim(1, 'frozen'));
    const lines: string[] = [];
    const handler: JobHandler = {
      run: async () => {
        await expire(lease);
        await claim(1, 'replacement');
        throw new EmrFailure('unavailable', 'The EMR closed the connection.');
      },
      onFailure: () => ({ state: 'failed', error: null, event: null }),
    };
    // The parts of the context that are used here.
    const ctx = {
      db: fixture.db,
      notifications: { notify: () => {} },
      telemetry: telemetry_off,
      log: createLog('warn', { write: (line) => lines.push(line) }),
    };
    const metrics = { job_retries: { inc: () => {} } };
    const run = createLaneRunner(new Map([['test', handler]]), async () => false);
    await run({ ...ctx, metrics } as unknown as Context, lease, new AbortController().signal);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', job_id: id, msg: discarded }]);
    const steps = await fixture.owner`SELECT name FROM job_steps WHERE job_id = ${id}`;
    expect(steps.map(({ name }) => name)).toStrictEqual(['started']);
  });

  test('the lease of a job at a hanging EMR is given back without counting an attempt', async () => {
    const id = await fixture.queue('p');
    const lease = only(await claim(2));
    const circuits = createCircuits({ failures_max: 1 });
    circuits.report(`${fixture.tenant.client_id} http://localhost:4100`, 'hung');
    const run = createLaneRunner(new Map(), async () => false, circuits);
    await run({ db: fixture.db } as unknown as Context, lease, new AbortController().signal);
    expect(only([...(await fixture.owner`SELECT id, state, attempts, started_at FROM jobs`)])).toStrictEqual({
      id,
      state: 'queued',
      attempts: 0,
      started_at: null,
    });
    expect(await claim(2)).toHaveLength(0);
    await fixture.owner`UPDATE lanes SET ready_at = now()`;
    expect(await claim(2)).toHaveLength(1);
  });

  test('is extended by a heartbeat, which reports lost leases', async () => {
    await fixture.queue('a');
    await fixture.queue('b');
    const leases = await claim(3, 'worker', 1_000);
    const [kept, lost] = leases;
    if (!kept || !lost) throw new Error('Expected two lanes.');
    await expire(lost);
    await claim(1, 'replacement');
    expect(await extendLeases(fixture.db.system, 'lanes', leases, 60_000)).toStrictEqual(new Set([kept.id]));
    const rows = await fixture.owner<{ left: number }[]>`
      SELECT extract(epoch FROM locked_until - now())::float8 AS left FROM lanes WHERE id = ${kept.id}`;
    expect(only([...rows]).left).toBeGreaterThan(50);
  });

  test('a lease that was released is not extended by a heartbeat in progress', async () => {
    await fixture.queue('p');
    await fixture.queue('p');
    const lease = only(await claim(1));
    const job = await start(lease);
    if (!job) throw new Error('Expected a job.');
    await finish(lease, job);
    expect(await extendLeases(fixture.db.system, 'lanes', [lease], 60_000)).toStrictEqual(new Set());
    expect(await claim(1)).toHaveLength(1);
  });

  test('a lease that expired prevents the start and the end of a job from being committed', async () => {
    await fixture.queue('p');
    const late = only(await claim(1, 'late'));
    const job = await start(late);
    if (!job) throw new Error('Expected a job.');
    await expire(late);
    await expect(finish(late, job)).rejects.toThrow(LeaseLost);
    const replacement = only(await claim(1, 'replacement'));
    await expect(start(late)).rejects.toThrow(LeaseLost);
    await expect(finish(late, job)).rejects.toThrow(LeaseLost);
    expect((await start(replacement))?.id).toBe(job.id);
    await finish(replacement, job);
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

test('a lane that a frozen process has locked in a transaction can be claimed soon after its lease', async () => {
  await fixture.queue('a');
  const [lease] = await claim(1, 'frozen', 100);
  if (!lease) throw new Error('Expected a lane.');
  let thaw = () => {};
  const thawed = new Promise<void>((resolve) => {
    thaw = resolve;
  });
  const frozen = fixture.db.tenant(lease.client_id, async (tx) => {
    await tx`SELECT FROM lanes WHERE id = ${lease.id} FOR UPDATE`;
    await thawed;
  });
  const ended = expect(frozen).rejects.toThrow();
  await expect.poll(() => claim(1, 'other'), { timeout: 30_000, interval: 200 }).toHaveLength(1);
  thaw();
  await ended;
});
