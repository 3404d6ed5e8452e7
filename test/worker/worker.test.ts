import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Lease } from '../../src/platform/db/lease.ts';
import { backoffMs } from '../../src/platform/worker/backoff.ts';
import { startScheduledTasks } from '../../src/platform/worker/scheduledTasks.ts';
import { startWorker, type WorkSource } from '../../src/platform/worker/worker.ts';

const lease = (id: string): Lease => ({ id, client_id: 'c', fence: 1 });

/** A list of work items, each of which runs until it is released or aborted. */
function fakeSource(ids: string[]) {
  const running = new Map<string, { release: () => void; signal: AbortSignal }>();
  const lost = new Set<string>();
  const done: string[] = [];
  const source: WorkSource = {
    claim: async (count) => ids.splice(0, count).map(lease),
    extend: async (leases) => new Set(leases.map(({ id }) => id).filter((id) => !lost.has(id))),
    run: ({ id }, signal) =>
      new Promise((resolve) => {
        const end = () => {
          running.delete(id);
          done.push(id);
          resolve();
        };
        signal.addEventListener('abort', end);
        running.set(id, { release: end, signal });
      }),
  };
  return { source, running, lost, done };
}

const until = async (condition: () => boolean) => {
  const deadline = Date.now() + 45_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('The condition was not met within 45 s.');
    await new Promise((resolve) => setImmediate(resolve));
  }
};
const onError = (error: unknown) => {
  throw error;
};

describe('a worker', () => {
  test('runs as many items as it has slots, and claims another when one finishes', async () => {
    const { source, running } = fakeSource(['a', 'b', 'c']);
    const worker = startWorker(source, { slots: 2, lease_ms: 30_000, onError });
    await until(() => running.size === 2);
    expect([...running.keys()]).toStrictEqual(['a', 'b']);
    running.get('a')?.release();
    await until(() => running.has('c'));
    for (const each of [...running.values()]) each.release();
    await worker.stop(1_000);
  });

  test('claims immediately when woken', async () => {
    // With fake timers the poll never fires.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const ids: string[] = [];
    const { source, running } = fakeSource(ids);
    const worker = startWorker(source, { slots: 1, lease_ms: 30_000, onError });
    await new Promise((resolve) => setImmediate(resolve));
    ids.push('late');
    worker.wake();
    await until(() => running.size === 1);
    running.get('late')?.release();
    await worker.stop(1_000);
  });

  test('aborts work whose lease was lost', async () => {
    const { source, running, lost } = fakeSource(['mine', 'lost']);
    const worker = startWorker(source, { slots: 2, lease_ms: 60, onError });
    await until(() => running.size === 2);
    const signal = running.get('lost')?.signal;
    lost.add('lost');
    await until(() => signal?.aborted === true);
    expect(signal?.reason).toBe('lease_lost');
    expect(running.has('mine')).toBe(true);
    running.get('mine')?.release();
    await worker.stop(1_000);
  });

  test('does not abort work that it claimed again during a heartbeat', async () => {
    const ids = ['lane'];
    const { source, running } = fakeSource(ids);
    let extending = false;
    let finishHeartbeat = (_extended: Set<string>) => {};
    // The heartbeat covers the first lease, which has been released, and ends after the row was claimed again.
    const extend: WorkSource['extend'] = (leases) => {
      if (extending) return Promise.resolve(new Set(leases.map(({ id }) => id)));
      extending = true;
      return new Promise((resolve) => {
        finishHeartbeat = resolve;
      });
    };
    const worker = startWorker({ ...source, extend }, { slots: 1, lease_ms: 60, onError });
    await until(() => extending);
    const first = running.get('lane');
    ids.push('lane');
    first?.release();
    await until(() => running.has('lane') && running.get('lane') !== first);
    finishHeartbeat(new Set());
    await new Promise((resolve) => setImmediate(resolve));
    expect(running.get('lane')?.signal.aborted).toBe(false);
    running.get('lane')?.release();
    await worker.stop(1_000);
  });

  test('aborts the old run when it claims the same row again, and extends the new lease', async () => {
    const ids = ['lane'];
    const signals: AbortSignal[] = [];
    const extended: number[] = [];
    let fence = 0;
    const source: WorkSource = {
      claim: async (count) => ids.splice(0, count).map((id) => ({ id, client_id: 'c', fence: ++fence })),
      extend: async (leases) => {
        extended.push(...leases.map((each) => each.fence));
        return new Set(leases.map(({ id }) => id));
      },
      run: (_lease, signal) =>
        new Promise((resolve) => {
          signals.push(signal);
          signal.addEventListener('abort', () => resolve());
        }),
    };
    const worker = startWorker(source, { slots: 2, lease_ms: 60, onError });
    await until(() => signals.length === 1);
    ids.push('lane');
    worker.wake();
    await until(() => signals.length === 2);
    expect(signals[0]?.reason).toBe('lease_lost');
    expect(signals[1]?.aborted).toBe(false);
    await until(() => extended.filter((each) => each === 2).length >= 2);
    await worker.stop(0);
    expect(signals[1]?.reason).toBe('shutdown');
  });

  test('claims nothing more on stop, waits for running work, then aborts it', async () => {
    const ids = ['a'];
    const { source, running, done } = fakeSource(ids);
    const worker = startWorker(source, { slots: 1, lease_ms: 30_000, onError });
    await until(() => running.size === 1);
    const signal = running.get('a')?.signal;
    ids.push('b');
    await worker.stop(50);
    expect(signal?.reason).toBe('shutdown');
    expect(done).toStrictEqual(['a']);
    expect(ids).toStrictEqual(['b']);
    expect(worker.alive()).toBe(false);
  });

  test('stops even if the database does not respond', async () => {
    const { source } = fakeSource([]);
    const worker = startWorker(
      { ...source, claim: () => new Promise(() => {}) },
      { slots: 1, lease_ms: 30_000, onError },
    );
    await worker.stop(50);
    expect(worker.alive()).toBe(false);
  });

  test('continues after a failed claim', async () => {
    const { source, running } = fakeSource(['a']);
    const errors: unknown[] = [];
    let broken = true;
    const flaky: WorkSource = {
      ...source,
      claim: (count) => (broken ? Promise.reject(new Error('database gone')) : source.claim(count)),
    };
    const worker = startWorker(flaky, { slots: 1, lease_ms: 30_000, onError: (error) => errors.push(error) });
    await until(() => errors.length === 1);
    broken = false;
    worker.wake();
    await until(() => running.size === 1);
    running.get('a')?.release();
    await worker.stop(1_000);
  });
});

describe('the pause between attempts', () => {
  test.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [6, 32_000],
    [7, 60_000],
    [1_000, 60_000],
  ])('the pause after failure %i is %i ms with 20 %% jitter', (failures, plain) => {
    expect(backoffMs(failures, () => 0.5)).toBe(plain);
    expect(backoffMs(failures, () => 0)).toBe(plain * 0.8);
    expect(backoffMs(failures, () => 1)).toBe(plain * 1.2);
  });
});

test('a scheduled task repeats, also after a failure, and never overlaps with itself', async () => {
  let runs = 0;
  let concurrent = 0;
  const failed: string[] = [];
  const run = async () => {
    concurrent += 1;
    expect(concurrent).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    concurrent -= 1;
    runs += 1;
    if (runs === 1) throw new Error('first');
  };
  const tasks = startScheduledTasks([{ name: 'tidy', every_ms: 5, run }], (name) => failed.push(name));
  await until(() => runs >= 3);
  await tasks.stop(1_000);
  const stopped_at = runs;
  expect(failed).toStrictEqual(['tidy']);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(runs).toBe(stopped_at);
});
