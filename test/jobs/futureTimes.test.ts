import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { boundLeases, claimLeases, extendLeases } from '../../src/platform/db/lease.ts';
import { retryJob } from '../../src/product/jobs/jobs.ts';
import { boundLanePauses } from '../../src/product/jobs/lanes.ts';
import { startSandbox } from '../harness/sandbox.ts';
import { pauseAfterFailure, setFault, untilFinished } from '../journeys/support.ts';
import { type Fixture, openFixture, startNextJob } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.owner`TRUNCATE lanes, jobs CASCADE`);

const lease_ms = 10_000;
const claim = (owner = 'worker') => claimLeases(fixture.db.system, 'lanes', { owner, count: 10, lease_ms });
const bound = () => boundLeases(fixture.db.system, 'lanes', lease_ms);
const boundPauses = () => boundLanePauses(fixture.db.system);
const readyIn = (interval: string) =>
  fixture.owner`UPDATE lanes SET ready_at = clock_timestamp() + ${interval}::text::interval`;

/** Queues a job and lets its first attempt fail, so that its lane waits for a retry. */
async function retrying(lane: string): Promise<number> {
  const job_id = await fixture.queue(lane);
  const [lease] = await claim();
  if (!lease) throw new Error('Nothing was claimed.');
  await fixture.db.tenant(lease.client_id, async (tx) => {
    const job = await startNextJob(tx, lease);
    const failure = { code: 'unavailable', message: 'The EMR is unavailable.' } as const;
    if (job) await retryJob(tx, { job, lease }, { failure, pause_ms: 1_000 });
  });
  return job_id;
}

describe('a lease that ends hours from now', () => {
  const lockUntil = (interval: string) =>
    fixture.owner`UPDATE lanes SET locked_until = clock_timestamp() + ${interval}::text::interval`;

  test('is shortened to a whole lease, after which another worker gets the lane', async () => {
    await fixture.queue('p1');
    const [dead] = await claim('dead');
    await lockUntil('5 hours');
    expect(await claim('other')).toHaveLength(0);
    expect(await bound()).toBe(1);
    const [row] = await fixture.owner<{ left: number }[]>`
      SELECT extract(epoch FROM locked_until - clock_timestamp())::float8 AS left FROM lanes`;
    expect(row?.left).toBeGreaterThan(8);
    expect(row?.left).toBeLessThanOrEqual(lease_ms / 1000);
    expect(await claim('other')).toHaveLength(0);
    await lockUntil('-1 second');
    expect(await claim('other')).toMatchObject([{ id: dead?.id, fence: (dead?.fence ?? 0) + 1 }]);
  });

  test('stays with a worker that is still running', async () => {
    await fixture.queue('p1');
    const lease = await claim('alive');
    await lockUntil('5 hours');
    await bound();
    expect(await extendLeases(fixture.db.system, 'lanes', lease, lease_ms)).toStrictEqual(
      new Set(lease.map(({ id }) => id)),
    );
    expect(await bound()).toBe(0);
  });

  test('is left alone if it can be right: up to a minute longer than a lease of this process', async () => {
    await fixture.queue('p1');
    await claim();
    await lockUntil('65 seconds');
    expect(await bound()).toBe(0);
  });
});

describe('a pause that ends hours from now', () => {
  test('ends at once for a job that never failed', async () => {
    await fixture.queue('p1');
    await readyIn('3 hours');
    expect(await claim()).toHaveLength(0);
    expect(await boundPauses()).toBe(1);
    expect(await claim()).toHaveLength(1);
  });

  test('ends at once if the failure before it lies in the future too', async () => {
    const job_id = await retrying('p1');
    await fixture.owner`UPDATE jobs SET retry_since = clock_timestamp() + interval '20 minutes' WHERE id = ${job_id}`;
    await readyIn('21 minutes');
    expect(await boundPauses()).toBe(1);
    expect(await claim()).toHaveLength(1);
  });

  test('ends at once if no retry waits that long', async () => {
    await retrying('p1');
    await readyIn('62 minutes');
    expect(await boundPauses()).toBe(1);
    expect(await claim()).toHaveLength(1);
  });

  test('is left alone if it can be right', async () => {
    await retrying('p1');
    await readyIn('59 minutes');
    expect(await boundPauses()).toBe(0);
    await fixture.owner`TRUNCATE lanes, jobs CASCADE`;
    await fixture.queue('p2');
    await readyIn('90 seconds');
    expect(await boundPauses()).toBe(0);
    expect(await claim()).toHaveLength(0);
  });

  test('is left alone while a worker holds the lane', async () => {
    await fixture.queue('p1');
    await claim();
    await readyIn('3 hours');
    expect(await boundPauses()).toBe(0);
  });
});

test('the service makes work due that a clock which was ahead has postponed', async () => {
  const sandbox = await startSandbox({ small: true });
  try {
    const { api, owner } = sandbox;
    await setFault(api, 'create_telephone_encounter', 'error_429', { times: 50 });
    const { body } = await api.callIn();
    await pauseAfterFailure(owner, body.job_id);
    await api.control('DELETE', '/control/faults');
    await owner`UPDATE lanes SET ready_at = clock_timestamp() + interval '6 hours', owner = 'dead', fence = fence + 1,
      locked_until = clock_timestamp() - interval '1 second'`;
    await untilFinished(owner, [body.job_id], 60_000);
  } finally {
    await sandbox.close();
  }
});
