import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { claimLeases, type Lease, LeaseLost } from '../../src/platform/db/lease.ts';
import { telemetry_off } from '../../src/platform/telemetry/telemetry.ts';
import { createStamp, insertRecords } from '../../src/product/audit/auditRecords.ts';
import type { Context } from '../../src/product/context.ts';
import { finishJob, type JobResult } from '../../src/product/jobs/finishJob.ts';
import { createSteps } from '../../src/product/jobs/jobSteps.ts';
import type { Job } from '../../src/product/jobs/jobs.ts';
import { startJob } from '../../src/product/jobs/startJob.ts';
import { type Fixture, openFixture } from './fixture.ts';

const lanes = ['a', 'b', 'c', 'd', 'e'];
const result: JobResult = {
  state: 'succeeded',
  error: null,
  event: { type: 'sync.completed', data: { org_id: 'clinic', records: { patients: 1 } } },
};

let fixture: Fixture;
let ctx: Context;
beforeAll(async () => {
  fixture = await openFixture();
  const { stamp } = createStamp({ key: () => randomBytes(32) });
  // The parts of the context that are used here.
  const audit: Partial<Context['audit']> = {
    recordInTransaction: async (tx, ...entries) => {
      await insertRecords(
        tx,
        entries.map((entry) => stamp(entry)),
      );
    },
  };
  ctx = { db: fixture.db, audit, telemetry: telemetry_off } as unknown as Context;
});
afterAll(() => fixture.close());
beforeEach(() => fixture.owner`TRUNCATE lanes, jobs CASCADE`);

const claim = () => claimLeases(fixture.db.system, 'lanes', { owner: 'w', count: 10, lease_ms: 60_000 });
const loseLease = (lease: Lease) => fixture.owner`UPDATE lanes SET fence = fence + 1 WHERE id = ${lease.id}`;

/** Starts two jobs in each lane's queue; returns the first of each with its lease. */
async function startAll(): Promise<{ lease: Lease; job: Job }[]> {
  for (const lane of [...lanes, ...lanes]) await fixture.queue(lane, fixture.tenant, 10);
  const leases = await claim();
  return Promise.all(
    leases.map(async (lease) => {
      const job = await startJob(fixture.db, lease);
      if (!job) throw new Error('Expected a job.');
      return { lease, job };
    }),
  );
}

/** The jobs in the order of their ids, with how many rows the end of each stored. */
const stored = () => fixture.owner<{ id: number; state: string; attempts: number; stored: number[]; xmin: string }[]>`
  SELECT id, state, attempts, xmin::text AS xmin,
         ARRAY[(SELECT count(*) FROM events WHERE job_id = jobs.id AND id = jobs.event_id),
               (SELECT count(*) FROM job_steps WHERE job_id = jobs.id AND name = 'succeeded'),
               (SELECT count(*) FROM audit_records WHERE job_id = jobs.id AND outcome = 'succeeded')] AS stored
    FROM jobs ORDER BY id`;
const all = [1, 1, 1];
const nothing = [0, 0, 0];

describe('jobs that start together', () => {
  test('are the first ones of their lanes, in one transaction', async () => {
    const started = await startAll();
    const rows = await stored();
    const first = rows.slice(0, lanes.length);
    expect(started.map(({ job }) => job.id).sort()).toStrictEqual(first.map(({ id }) => id));
    expect(new Set(first.map(({ xmin }) => xmin)).size).toBe(1);
    expect(rows.map(({ state }) => state)).toStrictEqual([...Array(5).fill('running'), ...Array(5).fill('queued')]);
    const steps = await fixture.owner`SELECT job_id FROM job_steps WHERE name = 'started' ORDER BY job_id`;
    expect(steps.map(({ job_id }) => job_id)).toStrictEqual(first.map(({ id }) => id));
  });

  test('start without the one whose lane another worker has claimed', async () => {
    for (const lane of lanes) await fixture.queue(lane, fixture.tenant, 10);
    const leases = await claim();
    await loseLease(leases[2] as Lease);
    // The other worker has started it.
    await fixture.owner`UPDATE jobs SET state = 'running', attempts = 1 FROM lanes
      WHERE lanes.id = ${leases[2]?.id ?? null} AND jobs.lane = lanes.key`;
    const results = await Promise.allSettled(leases.map((lease) => startJob(fixture.db, lease)));
    expect(results.map(({ status }) => status)).toStrictEqual([
      ...['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    ]);
    expect((await stored()).map(({ attempts }) => attempts)).toStrictEqual([1, 1, 1, 1, 1]);
    expect(await fixture.owner`SELECT FROM job_steps WHERE name = 'started'`).toHaveLength(4);
  });
});

describe('jobs that end together', () => {
  test('are stored by one transaction, each with its event, step and audit record, and pass their lanes on', async () => {
    const started = await startAll();
    await Promise.all(started.map((each) => finishJob(ctx, each, result)));
    const rows = await stored();
    const first = rows.slice(0, lanes.length);
    expect(first.map((row) => row.stored)).toStrictEqual(lanes.map(() => all));
    expect(new Set(first.map(({ xmin }) => xmin)).size).toBe(1);
    const next = await Promise.all((await claim()).map((lease) => startJob(fixture.db, lease)));
    expect(next.map((job) => job?.id).sort()).toStrictEqual(rows.slice(lanes.length).map(({ id }) => id));
  });

  test('report how many deliveries each of them has', async () => {
    const started = await startAll();
    const { client_id } = fixture.tenant;
    const finish = (some: typeof started) => Promise.all(some.map((each) => finishJob(ctx, each, result)));
    expect(await finish(started.slice(0, 2))).toStrictEqual([0, 0]);
    await fixture.owner`INSERT INTO webhook_endpoints (id, client_id, url, status)
      VALUES (gen_random_uuid(), ${client_id}, 'https://receiver.example/hook', 'enabled')`;
    expect(await finish(started.slice(2))).toStrictEqual([1, 1, 1]);
    await fixture.owner`DELETE FROM webhook_endpoints WHERE client_id = ${client_id}`;
  });

  test('are stored without the one whose lane another worker has claimed, of which nothing is', async () => {
    const started = await startAll();
    const [lost] = started;
    if (!lost) throw new Error('Expected a job.');
    await loseLease(lost.lease);
    const ends = started.map((each) => finishJob(ctx, each, result));
    await expect(ends[0]).rejects.toThrow(LeaseLost);
    await Promise.all(ends.slice(1));
    const rows = new Map((await stored()).map((row) => [row.id, row]));
    expect(rows.get(lost.job.id)).toMatchObject({ state: 'running', stored: nothing });
    for (const { job } of started.slice(1)) expect(rows.get(job.id)).toMatchObject({ state: 'succeeded', stored: all });
  });

  test('are stored although one of them cannot be', async () => {
    const started = await startAll();
    const [refused] = started;
    if (!refused) throw new Error('Expected a job.');
    const { client_id, account_id } = fixture.tenant;
    // A job has one terminal event, which this one has already.
    await fixture.owner`INSERT INTO events (id, client_id, account_id, job_id, type, body)
      VALUES (gen_random_uuid(), ${client_id}, ${account_id}, ${refused.job.id}, 'sync.completed', '{}')`;
    const ends = started.map((each) => finishJob(ctx, each, result));
    await expect(ends[0]).rejects.toThrow('events_terminal');
    await Promise.all(ends.slice(1));
    const rows = new Map((await stored()).map((row) => [row.id, row]));
    expect(rows.get(refused.job.id)).toMatchObject({ state: 'running', stored: nothing });
    for (const { job } of started.slice(1)) expect(rows.get(job.id)).toMatchObject({ state: 'succeeded', stored: all });
  });

  test('do not wait for one whose lane another transaction has locked', async () => {
    const started = await startAll();
    const [waiting] = started;
    if (!waiting) throw new Error('Expected a job.');
    let ends: Promise<unknown>[] = [];
    await fixture.owner.begin(async (tx) => {
      await tx`SELECT FROM lanes WHERE id = ${waiting.lease.id} FOR UPDATE`;
      ends = started.map((each) => finishJob(ctx, each, result));
      await Promise.all(ends.slice(1));
    });
    await Promise.all(ends);
    expect((await stored()).slice(0, lanes.length).map((row) => row.stored)).toStrictEqual(lanes.map(() => all));
  });
});

test('intents that are recorded in one batch are sent only for lanes whose lease is still valid', async () => {
  const started = await startAll();
  await loseLease(started[1]?.lease as Lease);
  const sent: string[] = [];
  const write = {
    send: async (lane: string) => {
      sent.push(lane);
      return { ehr_id: lane };
    },
  };
  const results = await Promise.allSettled(
    started.map((each) => createSteps(fixture.db, each).write('create', write, each.job.lane)),
  );
  expect(results.map(({ status }) => status === 'fulfilled')).toStrictEqual([true, false, true, true, true]);
  expect(sent.sort()).toStrictEqual(started.flatMap(({ job }, n) => (n === 1 ? [] : [job.lane])).sort());
});
