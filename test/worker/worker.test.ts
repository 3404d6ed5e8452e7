import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Lease } from '../../src/db/lease.ts';
import { backoffMs } from '../../src/worker/backoff.ts';
import { startChores } from '../../src/worker/scheduledTasks.ts';
import { startWorker, type WaitingWork } from '../../src/worker/worker.ts';

const lease = (id: string): Lease => ({ id, client_id: 'c', fence: 1 });

/** Work that waits in a list; each piece runs until it is let go or aborted. */
function waitingWork(ids: string[]) {
  const running = new Map<string, { letGo: () => void; signal: AbortSignal }>();
  const lost = new Set<string>();
  const done: string[] = [];
  const work: WaitingWork = {
    claim: async (count) => ids.splice(0, count).map(lease),
    extend: async (leases) => new Set(leases.map(({ id }) => id).filter((id) => !lost.has(id))),
    perform: ({ id }, signal) =>
      new Promise((resolve) => {
        const end = () => {
          running.delete(id);
          done.push(id);
          resolve();
        };
        signal.addEventListener('abort', end);
        running.set(id, { letGo: end, signal });
      }),
  };
  return { work, running, lost, done };
}

const until = async (condition: () => boolean) => {
  const deadline = Date.now() + 45_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('It did not come to pass.');
    await new Promise((resolve) => setImmediate(resolve));
  }
};
const failed = (error: unknown) => {
  throw error;
};

describe('a worker', () => {
  test('takes as much as it has hands for, and more when a hand is free', async () => {
    const { work, running } = waitingWork(['a', 'b', 'c']);
    const worker = startWorker(work, { slots: 2, lease_ms: 30_000, failed });
    await until(() => running.size === 2);
    expect([...running.keys()]).toStrictEqual(['a', 'b']);
    running.get('a')?.letGo();
    await until(() => running.has('c'));
    for (const each of [...running.values()]) each.letGo();
    await worker.stop(1_000);
  });

  test('looks at once when it is woken', async () => {
    // Without a clock no poll ever comes.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const ids: string[] = [];
    const { work, running } = waitingWork(ids);
    const worker = startWorker(work, { slots: 1, lease_ms: 30_000, failed });
    await new Promise((resolve) => setImmediate(resolve));
    ids.push('late');
    worker.wake();
    await until(() => running.size === 1);
    running.get('late')?.letGo();
    await worker.stop(1_000);
  });

  test('aborts what it no longer holds', async () => {
    const { work, running, lost } = waitingWork(['mine', 'lost']);
    const worker = startWorker(work, { slots: 2, lease_ms: 60, failed });
    await until(() => running.size === 2);
    const signal = running.get('lost')?.signal;
    lost.add('lost');
    await until(() => signal?.aborted === true);
    expect(signal?.reason).toBe('lease_lost');
    expect(running.has('mine')).toBe(true);
    running.get('mine')?.letGo();
    await worker.stop(1_000);
  });

  test('does not abort what it claimed anew while a beat was on its way', async () => {
    const ids = ['lane'];
    const { work, running } = waitingWork(ids);
    let asked = false;
    let answer = (_held: Set<string>) => {};
    // The beat finds the first lease given back already; its answer comes when the second one is held.
    const extend: WaitingWork['extend'] = (leases) => {
      if (asked) return Promise.resolve(new Set(leases.map(({ id }) => id)));
      asked = true;
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    const worker = startWorker({ ...work, extend }, { slots: 1, lease_ms: 60, failed });
    await until(() => asked);
    const first = running.get('lane');
    ids.push('lane');
    first?.letGo();
    await until(() => running.has('lane') && running.get('lane') !== first);
    answer(new Set());
    await new Promise((resolve) => setImmediate(resolve));
    expect(running.get('lane')?.signal.aborted).toBe(false);
    running.get('lane')?.letGo();
    await worker.stop(1_000);
  });

  test('aborts what it holds by an old lease when the same row comes to it again, and keeps the new one alive', async () => {
    const ids = ['lane'];
    const signals: AbortSignal[] = [];
    const extended: number[] = [];
    let fence = 0;
    const work: WaitingWork = {
      claim: async (count) => ids.splice(0, count).map((id) => ({ id, client_id: 'c', fence: ++fence })),
      extend: async (leases) => {
        extended.push(...leases.map((each) => each.fence));
        return new Set(leases.map(({ id }) => id));
      },
      perform: (_lease, signal) =>
        new Promise((resolve) => {
          signals.push(signal);
          signal.addEventListener('abort', () => resolve());
        }),
    };
    const worker = startWorker(work, { slots: 2, lease_ms: 60, failed });
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

  test('stops: takes nothing more, waits for what runs, then hands the rest back', async () => {
    const ids = ['a'];
    const { work, running, done } = waitingWork(ids);
    const worker = startWorker(work, { slots: 1, lease_ms: 30_000, failed });
    await until(() => running.size === 1);
    const signal = running.get('a')?.signal;
    ids.push('b');
    await worker.stop(50);
    expect(signal?.reason).toBe('shutdown');
    expect(done).toStrictEqual(['a']);
    expect(ids).toStrictEqual(['b']);
    expect(worker.alive()).toBe(false);
  });

  test('stops although its database no longer answers', async () => {
    const { work } = waitingWork([]);
    const worker = startWorker({ ...work, claim: () => new Promise(() => {}) }, { slots: 1, lease_ms: 30_000, failed });
    await worker.stop(50);
    expect(worker.alive()).toBe(false);
  });

  test('goes on after a claim that failed', async () => {
    const { work, running } = waitingWork(['a']);
    const problems: unknown[] = [];
    let broken = true;
    const flaky: WaitingWork = {
      ...work,
      claim: (count) => (broken ? Promise.reject(new Error('database gone')) : work.claim(count)),
    };
    const worker = startWorker(flaky, { slots: 1, lease_ms: 30_000, failed: (error) => problems.push(error) });
    await until(() => problems.length === 1);
    broken = false;
    worker.wake();
    await until(() => running.size === 1);
    running.get('a')?.letGo();
    await worker.stop(1_000);
  });
});

describe('the pause between tries', () => {
  test.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [6, 32_000],
    [7, 60_000],
    [1_000, 60_000],
  ])('after failure %i is %i ms, moved by up to a fifth', (failures, plain) => {
    expect(backoffMs(failures, () => 0.5)).toBe(plain);
    expect(backoffMs(failures, () => 0)).toBe(plain * 0.8);
    expect(backoffMs(failures, () => 1)).toBe(plain * 1.2);
  });
});

test('a chore is done again and again, also after it failed, and never twice at once', async () => {
  let runs = 0;
  let at_once = 0;
  const problems: string[] = [];
  const run = async () => {
    at_once += 1;
    expect(at_once).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    at_once -= 1;
    runs += 1;
    if (runs === 1) throw new Error('first');
  };
  const chores = startChores([{ name: 'tidy', every_ms: 5, run }], (name) => problems.push(name));
  await until(() => runs >= 3);
  await chores.stop(1_000);
  const stopped_at = runs;
  expect(problems).toStrictEqual(['tidy']);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(runs).toBe(stopped_at);
});
