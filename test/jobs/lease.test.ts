import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EmrFailure } from '../../src/connectors/connector.ts';
import type { Context } from '../../src/context.ts';
import { claimLeases, extendLeases, type Lease, LeaseLost } from '../../src/db/lease.ts';
import { endJob, type Job, startHead } from '../../src/jobs/jobs.ts';
import { type JobKind, laneRunner } from '../../src/jobs/run.ts';
import { openLog } from '../../src/log.ts';
import { layTenant, type Tenant } from '../harness/tenant.ts';
import { openWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(() => world.owner`TRUNCATE lanes, jobs CASCADE`);

const claim = (count: number, owner = 'worker', lease_ms = 10_000) =>
  claimLeases(world.db.system, 'lanes', { owner, count, lease_ms });
const start = (lease: Lease) => world.db.tenant(lease.client_id, (tx) => startHead(tx, lease));
const end = (lease: Lease, job: Job) =>
  world.db.tenant(lease.client_id, (tx) => endJob(tx, lease, job, { state: 'succeeded', error: null, event_id: null }));
const expire = (lease: Lease) =>
  world.owner`UPDATE lanes SET locked_until = now() - interval '1 second' WHERE id = ${lease.id}`;
const dropped = 'the lease ended before the work; its result is dropped';
const only = <T>(items: T[]): T => {
  const [first] = items;
  if (first === undefined || items.length !== 1) throw new Error(`Expected one, got ${items.length}.`);
  return first;
};

describe('a claim', () => {
  test('gives each lane to one of many claimers at once', async () => {
    for (let n = 0; n < 30; n++) await world.queue(`p${n}`, world.tenant, 100);
    const hands = await Promise.all(Array.from({ length: 6 }, (_, n) => claim(10, `w${n}`)));
    const ids = hands.flat().map((lease) => lease.id);
    expect(ids).toHaveLength(30);
    expect(new Set(ids).size).toBe(30);
  });

  test('never gives more of one account than its limit, whoever asks and however often', async () => {
    for (let n = 0; n < 20; n++) await world.queue(`p${n}`, world.tenant, 3);
    const hands = await Promise.all(Array.from({ length: 5 }, (_, n) => claim(20, `w${n}`)));
    expect(hands.flat()).toHaveLength(3);
    expect(await claim(20)).toHaveLength(0);
  });

  test('gives a quiet account its turn before the second lane of a busy one', async () => {
    const busy = world.tenant;
    const quiet: Tenant = await layTenant(world.owner);
    for (let n = 0; n < 50; n++) await world.queue(`p${n}`, busy, 50);
    await claim(3);
    await world.queue('quiet', quiet, 50);
    expect(only(await claim(1)).client_id).toBe(quiet.client_id);
  });

  test('leaves a lane alone whose time has not come, and one that is held', async () => {
    await world.queue('later');
    await world.owner`UPDATE lanes SET ready_at = now() + interval '1 hour'`;
    expect(await claim(5)).toHaveLength(0);
    await world.owner`UPDATE lanes SET ready_at = now()`;
    expect(await claim(5)).toHaveLength(1);
    expect(await claim(5)).toHaveLength(0);
  });

  test('takes over a lane whose holder gave no sign of life, with a higher fence', async () => {
    await world.queue('p');
    const dead = only(await claim(1, 'dead'));
    await expire(dead);
    const heir = only(await claim(1, 'heir'));
    expect(heir.id).toBe(dead.id);
    expect(heir.fence).toBeGreaterThan(dead.fence);
  });
});

describe('a lease', () => {
  test('that ended unseen while the EMR hung up: the failure is dropped like any result, and said once', async () => {
    const id = await world.queue('p');
    const lease = only(await claim(1, 'frozen'));
    const lines: string[] = [];
    const kind: JobKind = {
      perform: async () => {
        await expire(lease);
        await claim(1, 'heir');
        throw new EmrFailure('unavailable', 'The EMR hung up.');
      },
      fail: () => ({ state: 'failed', error: null, event: null }),
    };
    // All that is asked of it on this path.
    const ctx = {
      db: world.db,
      notifications: { notify: () => {} },
      log: openLog('warn', { write: (line) => lines.push(line) }),
    };
    const metrics = { job_retries: { inc: () => {} } };
    const run = laneRunner(new Map([['test', kind]]), async () => false);
    await run({ ...ctx, metrics } as unknown as Context, lease, new AbortController().signal);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', job_id: id, msg: dropped }]);
    const steps = await world.owner`SELECT name FROM job_steps WHERE job_id = ${id}`;
    expect(steps.map(({ name }) => name)).toStrictEqual(['started']);
  });

  test('lives on with a heartbeat, which tells what was lost', async () => {
    await world.queue('a');
    await world.queue('b');
    const leases = await claim(2, 'worker', 1_000);
    const [kept, lost] = leases;
    if (!kept || !lost) throw new Error('Two lanes were expected.');
    await expire(lost);
    await claim(1, 'heir');
    expect(await extendLeases(world.db.system, 'lanes', leases, 60_000)).toStrictEqual(new Set([kept.id]));
    const rows = await world.owner<{ left: number }[]>`
      SELECT extract(epoch FROM locked_until - now())::float8 AS left FROM lanes WHERE id = ${kept.id}`;
    expect(only([...rows]).left).toBeGreaterThan(50);
  });

  test('that was given back is not taken again by a heartbeat on its way', async () => {
    await world.queue('p');
    await world.queue('p');
    const lease = only(await claim(1));
    const job = await start(lease);
    if (!job) throw new Error('The lane has a job.');
    await end(lease, job);
    expect(await extendLeases(world.db.system, 'lanes', [lease], 60_000)).toStrictEqual(new Set());
    expect(await claim(1)).toHaveLength(1);
  });

  test('that ended lets nothing be committed: not the start of a job, not its end', async () => {
    await world.queue('p');
    const late = only(await claim(1, 'late'));
    const job = await start(late);
    if (!job) throw new Error('The lane has a job.');
    await expire(late);
    await expect(end(late, job)).rejects.toThrow(LeaseLost);
    const heir = only(await claim(1, 'heir'));
    await expect(start(late)).rejects.toThrow(LeaseLost);
    await expect(end(late, job)).rejects.toThrow(LeaseLost);
    expect((await start(heir))?.id).toBe(job.id);
    await end(heir, job);
    expect(only([...(await world.owner`SELECT state FROM jobs WHERE id = ${job.id}`)]).state).toBe('succeeded');
  });
});

describe('a lane', () => {
  test('runs its jobs one after the other in the order they were accepted, and goes away when it is empty', async () => {
    const queued = [await world.queue('p'), await world.queue('p'), await world.queue('p')];
    const ran: number[] = [];
    for (;;) {
      const leases = await claim(10);
      if (leases.length === 0) break;
      const lease = only(leases);
      const job = await start(lease);
      if (!job) throw new Error('A lane without a job was claimed.');
      ran.push(job.id);
      expect(await claim(10)).toHaveLength(0);
      await end(lease, job);
    }
    expect(ran).toStrictEqual(queued);
    expect(await world.owner`SELECT FROM lanes`).toHaveLength(0);
  });

  test('loses no job that is accepted at the moment it empties', async () => {
    for (let round = 0; round < 25; round++) {
      await world.queue('race');
      const lease = only(await claim(1));
      const job = await start(lease);
      if (!job) throw new Error('The lane has a job.');
      const [second] = await Promise.all([world.queue('race'), end(lease, job)]);
      const next = only(await claim(1));
      expect((await start(next))?.id).toBe(second);
      await world.owner`TRUNCATE lanes, jobs CASCADE`;
    }
  });

  test('a claim goes through the index of ready lanes, past finished jobs and the lanes of a busy account', async () => {
    const { client_id, organization_id, account_id } = world.tenant;
    const id = await world.queue('p');
    await world.owner`INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane, state)
      SELECT client_id, organization_id, account_id, operation_id, type, 'done', 'succeeded'
        FROM jobs, generate_series(1, 20000) WHERE id = ${id}`;
    await world.owner`INSERT INTO lanes (client_id, organization_id, account_id, key, parallel_max)
      SELECT ${client_id}, ${organization_id}, ${account_id}, 'k' || n, 4 FROM generate_series(1, 10000) AS n`;
    await world.owner`ANALYZE lanes`;
    const plan = await world.owner<{ 'QUERY PLAN': string }[]>`
      EXPLAIN SELECT id FROM lanes WHERE account_id = ${account_id} AND ready_at <= now() ORDER BY ready_at LIMIT 16`;
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('lanes_ready');
    expect(await claim(16)).toHaveLength(4);
  });
});
