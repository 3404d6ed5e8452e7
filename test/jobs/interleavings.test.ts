import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createQuery } from '../../sql/statement.ts';
import { newId } from '../../src/catalog/ids.ts';
import type { Tx } from '../../src/platform/db/database.ts';
import { claimLeases, type Lease, LeaseLost } from '../../src/platform/db/lease.ts';
import { type EraseContext, erase } from '../../src/product/erasure/erase.ts';
import { cancelQueued } from '../../src/product/jobs/cancelQueued.ts';
import { enqueue, enqueueAgain } from '../../src/product/jobs/enqueue.ts';
import { type ClaimedJob, type Job, releaseJob, retryJob } from '../../src/product/jobs/jobs.ts';
import {
  findStrandedJobs,
  parkJobs,
  parkRunningJob,
  repairStrandedJob,
  unparkExpiredJob,
  unparkJobs,
} from '../../src/product/jobs/park.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';
import { endJob, type Fixture, openFixture, startNextJob } from './fixture.ts';

let fixture: Fixture;
let other: Tenant;
beforeAll(async () => {
  fixture = await openFixture();
  const { client_id, organization_id } = fixture.tenant;
  other = await createTenant(fixture.owner, { client_id, organization_id });
});
afterAll(() => fixture.close());
beforeEach(reset);

async function reset(): Promise<void> {
  await fixture.owner`DELETE FROM operations`;
  await fixture.owner`DELETE FROM lanes`;
  await fixture.owner`UPDATE accounts SET status = 'active'`;
}

const tenant = <T>(work: (tx: Tx) => Promise<T>) => fixture.db.tenant(fixture.tenant.client_id, work);

/** A lane with jobs of two accounts. The worker's lease is taken; `started` is its running job, if there is one. */
type Setup = { lease: Lease; started: Job | undefined };
type Operation = (tx: Tx, setup: Setup) => Promise<unknown>;

const account = () => fixture.tenant.account_id;
const ignoreLostLease = (work: Promise<unknown>) =>
  work.catch((error) => {
    if (!(error instanceof LeaseLost)) throw error;
  });

const expire: Operation = async (tx) => {
  await tx`UPDATE accounts SET status = 'login_required' WHERE id = ${account()}`;
  await parkJobs(tx, account());
};
const relink: Operation = async (tx) => {
  await tx`UPDATE accounts SET status = 'active' WHERE id = ${account()}`;
  await unparkJobs(tx, account(), 4);
};
const revoke: Operation = async (tx) => {
  await tx`UPDATE accounts SET status = 'revoked' WHERE id = ${account()}`;
  await unparkJobs(tx, account(), 4);
};
const runAgain: Operation = (tx) => {
  const { client_id, organization_id, account_id } = fixture.tenant;
  const operation = { id: newId(), type: 'test', input: {}, reference: null };
  return enqueue(tx, { client_id, organization_id, account_id, operation, lane: 'shared', parallel_max: 4 });
};
const giveUpParked: Operation = async (tx) => {
  const parked = await tx<{ id: number }[]>`SELECT id FROM jobs WHERE parked ORDER BY id LIMIT 1`;
  for (const { id } of parked) await unparkExpiredJob(tx, id, 4);
};
const cancel: Operation = async (tx) => {
  const [job] = await tx<Job[]>`SELECT * FROM jobs ORDER BY id LIMIT 1`;
  return job && cancelQueued(tx, job);
};
const start: Operation = (tx, { lease }) => ignoreLostLease(startNextJob(tx, lease));
const running = (work: (tx: Tx, claimed: ClaimedJob) => Promise<unknown>): Operation => {
  return async (tx, { lease, started }) => started && ignoreLostLease(work(tx, { lease, job: started }));
};
const finish = running((tx, { lease, job }) => endJob(tx, lease, job));
const park = running(parkRunningJob);
const release = running(releaseJob);
const failure = { code: 'unavailable', message: 'x' } as const;
const retry = running((tx, claimed) => retryJob(tx, claimed, { failure, pause_ms: 0 }));

/** Queues two jobs of the account and one of another in one lane, and claims the lane. */
async function setUp(options: { started: boolean; parked: boolean }): Promise<Setup> {
  await reset();
  await fixture.queue('shared');
  await fixture.queue('shared');
  await fixture.queue('shared', other);
  if (options.parked)
    await tenant((tx) => expire(tx, { lease: { id: '', client_id: '', fence: 0 }, started: undefined }));
  const [lease] = await claimLeases(fixture.db.system, 'lanes', { owner: 'w', count: 1, lease_ms: 60_000 });
  if (!lease) throw new Error('Expected a lane.');
  const started = options.started ? await tenant((tx) => startNextJob(tx, lease)) : undefined;
  return { lease, started };
}

/** Runs an operation in its own transaction, one statement per call of `step`. */
function stepwise(operation: Operation, setup: Setup) {
  // Statements that share a round trip wait here in their order.
  const waiting: (() => void)[] = [];
  let free = false;
  let finished = false;
  const gate = () =>
    new Promise<void>((resolve) => {
      if (free) resolve();
      else waiting.push(resolve);
    });
  const done = tenant(async (tx) => {
    // Values were converted by the outer query already; converting text and numbers again changes nothing.
    const gated = createQuery(async ({ text, values }) => {
      await gate();
      return tx.unsafe(text, values as never);
    });
    await operation(gated, setup);
    // The commit is a step too.
    await gate();
  }).finally(() => {
    finished = true;
  });
  done.catch(() => {});
  return {
    done,
    /** Lets the next statement run. Returns after it has run, or when it seems to wait for a lock. */
    step: async () => {
      for (let waited = 0; waiting.length === 0 && !finished && waited < 6; waited++) await pause(2);
      waiting.shift()?.();
      for (let waited = 0; waiting.length === 0 && !finished && waited < 6; waited++) await pause(2);
    },
    runFreely: () => {
      free = true;
      for (const proceed of waiting.splice(0)) proceed();
    },
  };
}

/** Every order of `a` steps of the first and `b` steps of the second operation. */
function orders(a: number, b: number): boolean[][] {
  if (a === 0 && b === 0) return [[]];
  return [
    ...(a > 0 ? orders(a - 1, b).map((rest) => [true, ...rest]) : []),
    ...(b > 0 ? orders(a, b - 1).map((rest) => [false, ...rest]) : []),
  ];
}

/** Jobs that neither a lane nor a re-link nor a lease would ever pick up. */
const stranded = () => fixture.owner<{ id: number; state: string; parked: boolean }[]>`
  SELECT id, state, parked FROM jobs
   WHERE state IN ('queued', 'running')
     AND parked = EXISTS (SELECT FROM lanes WHERE organization_id = jobs.organization_id AND key = jobs.lane)
     AND NOT (parked AND EXISTS (SELECT FROM jobs AS ahead WHERE ahead.lane = jobs.lane AND NOT ahead.parked
                AND ahead.state IN ('queued', 'running')))`;

type Stepwise = ReturnType<typeof stepwise>;

/** Runs two operations in this order and then to their ends, which strands no job. Returns the order as text. */
async function interleave(a: Stepwise, b: Stepwise, order: readonly boolean[]): Promise<string> {
  for (const of_first of order) await (of_first ? a : b).step();
  a.runFreely();
  b.runFreely();
  const text = order.map((of_first) => (of_first ? '1' : '2')).join('');
  await expect(Promise.all([a.done, b.done]), text).resolves.toBeDefined();
  expect(await stranded(), text).toStrictEqual([]);
  return text;
}

/** Lets leases expire, re-links, and runs everything. Returns the jobs that are still unfinished. */
async function drain(): Promise<number[]> {
  await tenant((tx) => relink(tx, { lease: { id: '', client_id: '', fence: 0 }, started: undefined }));
  for (let round = 0; round < 5; round++) {
    await fixture.owner`UPDATE lanes SET locked_until = NULL, ready_at = now()`;
    const leases = await claimLeases(fixture.db.system, 'lanes', { owner: 'd', count: 10, lease_ms: 60_000 });
    for (const lease of leases) {
      const job = await tenant((tx) => startNextJob(tx, lease));
      if (!job) continue;
      await tenant((tx) => endJob(tx, lease, job));
    }
  }
  const left = await fixture.owner<{ id: number }[]>`SELECT id FROM jobs WHERE state IN ('queued', 'running')`;
  return left.map(({ id }) => id);
}

describe('every interleaving of two transactions leaves each job startable, parked or finished', () => {
  test.each([
    ['expiry of the link and the start of a job', expire, start, { started: false, parked: false }],
    ['expiry of the link and the end of a job', expire, finish, { started: true, parked: false }],
    ['expiry of the link and a retry', expire, retry, { started: true, parked: false }],
    ['expiry of the link and a shutdown', expire, release, { started: true, parked: false }],
    ['expiry of the link and the parking of a running job', expire, park, { started: true, parked: false }],
    ['expiry of the link and a new job', expire, runAgain, { started: false, parked: false }],
    ['expiry of the link and its renewal', expire, relink, { started: true, parked: true }],
    ['re-linking and the start of a job', relink, start, { started: false, parked: true }],
    ['re-linking and the end of a job', relink, finish, { started: true, parked: true }],
    ['re-linking and the parking of a running job', relink, park, { started: true, parked: false }],
    ['re-linking and the end of parking', relink, giveUpParked, { started: true, parked: true }],
    ['revoking and the start of a job', revoke, start, { started: false, parked: true }],
    ['revoking and the parking of a running job', revoke, park, { started: true, parked: false }],
    ['a new job and the end of the last one', runAgain, finish, { started: true, parked: true }],
    ['the end of parking and the end of a job', giveUpParked, finish, { started: true, parked: true }],
  ] as const)('%s', async (_, first, second, options) => {
    for (const order of orders(3, 3)) {
      const setup = await setUp(options);
      const a = stepwise(first, setup);
      const b = stepwise(second, setup);
      const text = await interleave(a, b, order);
      expect(await drain(), text).toStrictEqual([]);
    }
  });
});

describe('every interleaving with canceling the first job leaves it canceled or started, and the others startable', () => {
  test.each([
    ['the start of a job', start, { started: false, parked: false }],
    ['the end of a job', finish, { started: true, parked: false }],
    ['a retry', retry, { started: true, parked: false }],
    ['a shutdown', release, { started: true, parked: false }],
    ['the parking of a running job', park, { started: true, parked: false }],
    ['expiry of the link', expire, { started: false, parked: false }],
    ['re-linking', relink, { started: false, parked: true }],
    ['revoking', revoke, { started: false, parked: true }],
    ['the end of parking', giveUpParked, { started: false, parked: true }],
    ['a new job', runAgain, { started: false, parked: false }],
  ] as const)('%s', async (_, second, options) => {
    for (const order of orders(5, 3)) {
      const setup = await setUp(options);
      const text = await interleave(stepwise(cancel, setup), stepwise(second, setup), order);
      const ended = await fixture.owner<{ id: number }[]>`SELECT id FROM jobs WHERE state = 'cancelled' AND NOT parked`;
      expect(ended.length, text).toBeLessThanOrEqual(1);
      expect(await drain(), text).toStrictEqual([]);
      const [once] = await fixture.owner<{ n: number }[]>`
        SELECT count(*) AS n FROM jobs WHERE state = 'cancelled' AND finished_at IS NOT NULL`;
      expect(once?.n, text).toBe(ended.length);
    }
  });
});

describe('every interleaving with the erasure of a patient leaves a job of theirs untouched, or deletes it whole', () => {
  /**
   * Statements before it locks the operations: it looks for legal holds, and what is erased is found again, under the
   * lock of the practice.
   */
  const statements_before_lock = 5;

  /** Erases what names the patient of an operation. */
  const erasePatient =
    (operation_id: string): Operation =>
    (tx) => {
      const { client_id, organization_id } = fixture.tenant;
      const patient = { id: null, ehr_id: null, mrn: 'LK1', operation_ids: [operation_id] };
      const ctx = {
        db: { tenant: (_: string, work: (tx: Tx) => Promise<unknown>) => work(tx) },
        system_keys: { key: () => Buffer.alloc(32) },
        lookups: { clear: () => {} },
      } as unknown as EraseContext;
      return erase(ctx, { of: 'patient', client_id, organization_id, patient }, async () => {}).catch((error) => {
        if (error.code !== 'erasure_blocked') throw error;
      });
    };

  /** An operator runs the operation of a finished job again. */
  const runOperationAgain =
    (operation_id: string): Operation =>
    (tx) => {
      const { client_id, organization_id, account_id } = fixture.tenant;
      const operation = { id: operation_id, type: 'test', input: {}, reference: null };
      const job = { client_id, organization_id, account_id, operation, lane: 'shared', parallel_max: 4 };
      return enqueueAgain(tx, job).catch((error) => {
        if (error.message !== 'The operation to run again does not exist.') throw error;
      });
    };

  test.each([
    ['the start of the job', () => start, { started: false, finished: false }, ['kept']],
    ['the end of the job', () => finish, { started: true, finished: false }, ['erased', 'kept']],
    ['a retry', () => retry, { started: true, finished: false }, ['kept']],
    ['the parking of the running job', () => park, { started: true, finished: false }, ['kept']],
    ['another run of the job', runOperationAgain, { started: true, finished: true }, ['erased', 'kept']],
  ] as const)('%s', async (_, operationOn, { started, finished }, possible) => {
    const outcomes = new Set<string>();
    // The end of a job takes four steps, with its commit.
    for (const order of orders(3, 4)) {
      const setup = await setUp({ started, parked: false });
      const [first] = await fixture.owner<
        { operation_id: string }[]
      >`SELECT operation_id FROM jobs ORDER BY id LIMIT 1`;
      const operation_id = first?.operation_id ?? '';
      if (finished && setup.started) {
        const job = setup.started;
        await tenant((tx) => endJob(tx, setup.lease, job));
      }
      const a = stepwise(erasePatient(operation_id), setup);
      const b = stepwise(operationOn(operation_id), setup);
      for (let n = 0; n < statements_before_lock; n++) await a.step();
      const text = await interleave(a, b, order);
      const [left] = await fixture.owner<{ operations: number; jobs: number }[]>`
        SELECT (SELECT count(*) FROM operations WHERE id = ${operation_id}) AS operations,
               (SELECT count(*) FROM jobs WHERE operation_id = ${operation_id}) AS jobs`;
      outcomes.add(left?.operations === 0 ? 'erased' : 'kept');
      expect(left?.operations === 0, text).toBe(left?.jobs === 0);
      expect(await drain(), text).toStrictEqual([]);
    }
    // A job is never erased before it has finished.
    expect([...outcomes].sort()).toStrictEqual(possible);
  });
});

test('a job cannot be running and parked at once', async () => {
  await setUp({ started: true, parked: false });
  await expect(fixture.owner`UPDATE jobs SET parked = true WHERE state = 'running'`).rejects.toThrow('jobs_parked');
});

describe('a job without a lane', () => {
  test('is found and returned to a lane', async () => {
    const id = await fixture.queue('lost');
    await fixture.queue('fine');
    await fixture.owner`DELETE FROM lanes WHERE key = 'lost'`;
    expect(await findStrandedJobs(fixture.db.system), 'too recent').toStrictEqual([]);
    await fixture.owner`UPDATE jobs SET created_at = now() - interval '5 minutes'`;
    const stranded = await findStrandedJobs(fixture.db.system);
    expect(stranded).toMatchObject([{ id, client_id: fixture.tenant.client_id }]);
    await tenant((tx) => repairStrandedJob(tx, id, 4));
    expect(await findStrandedJobs(fixture.db.system)).toStrictEqual([]);
    expect(await drain()).toStrictEqual([]);
  });

  test('is left alone if it is parked or finished', async () => {
    await fixture.queue('lane');
    await tenant((tx) => parkJobs(tx, account()));
    await fixture.owner`UPDATE jobs SET created_at = now() - interval '5 minutes'`;
    expect(await findStrandedJobs(fixture.db.system)).toStrictEqual([]);
  });
});
