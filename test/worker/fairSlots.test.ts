import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { fairSlots, SlotsBusy } from '../../src/platform/db/fairSlots.ts';
import { documentsMax } from '../../src/product/jobs/enqueue.ts';

/** Work that runs until it is ended, by client. */
function workFor(slots: ReturnType<typeof fairSlots>) {
  const running: { client: string; end: () => void }[] = [];
  return {
    running,
    counts: () => {
      const clients = [...new Set(running.map((each) => each.client))];
      return Object.fromEntries(
        clients.map((client) => [client, running.filter((each) => each.client === client).length]),
      );
    },
    start: (client: string, signal?: AbortSignal) =>
      slots.run(
        client,
        () =>
          new Promise<void>((resolve) => {
            const entry = {
              client,
              end: () => {
                running.splice(running.indexOf(entry), 1);
                resolve();
              },
            };
            running.push(entry);
          }),
        signal,
      ),
  };
}

test('leaves room for the next client, however much one client sends', async () => {
  const { start, counts, running } = workFor(fairSlots({ total: 8, per_client: 'share' }));
  const all = Array.from({ length: 40 }, () => start('a'));
  await nextTurn();
  expect(counts()).toStrictEqual({ a: 4 });
  all.push(start('b'), start('b'), start('b'));
  await nextTurn();
  expect(counts()).toStrictEqual({ a: 4, b: 2 });
  all.push(start('c'));
  await nextTurn();
  expect(counts()).toStrictEqual({ a: 4, b: 2, c: 1 });
  // What becomes free goes to the client that holds less.
  running[0]?.end();
  running[0]?.end();
  await nextTurn();
  expect(counts()).toStrictEqual({ a: 2, b: 2, c: 1 });
  while (running.length > 0) {
    running[0]?.end();
    await nextTurn();
  }
  await Promise.all(all);
});

test('serves clients in turn when there is one slot', async () => {
  const { start, running } = workFor(fairSlots({ total: 1, per_client: 'share' }));
  const order: string[] = [];
  const all = ['a', 'a', 'a', 'b', 'b', 'c'].map((client) => start(client).then(() => order.push(client)));
  for (let n = 0; n < 6; n++) {
    await nextTurn();
    expect(running).toHaveLength(1);
    running[0]?.end();
  }
  await Promise.all(all);
  expect(order).toStrictEqual(['a', 'b', 'c', 'a', 'b', 'a']);
});

test('leaves only the last slot to other clients, where work is short', async () => {
  const { start, counts, running } = workFor(fairSlots({ total: 4, per_client: 'all_but_one' }));
  const all = Array.from({ length: 5 }, () => start('a'));
  await nextTurn();
  expect(counts()).toStrictEqual({ a: 3 });
  all.push(start('b'), start('b'));
  await nextTurn();
  expect(counts()).toStrictEqual({ a: 3, b: 1 });
  running[0]?.end();
  await nextTurn();
  // The slot that became free is the last one again, and both hold others.
  expect(counts()).toStrictEqual({ a: 2, b: 1 });
  all.push(start('c'));
  await nextTurn();
  expect(counts()).toStrictEqual({ a: 2, b: 1, c: 1 });
  while (running.length > 0) {
    running[0]?.end();
    await nextTurn();
  }
  await Promise.all(all);
});

test('refuses more waiting work of a client than allowed, and still takes that of another', async () => {
  const { start, running } = workFor(fairSlots({ total: 2, per_client: 'share', waiting_max: 3 }));
  const all = Array.from({ length: 4 }, () => start('a'));
  await expect(start('a')).rejects.toThrow(SlotsBusy);
  all.push(start('b'));
  await nextTurn();
  expect(running.map((each) => each.client)).toStrictEqual(['a', 'b']);
  while (running.length > 0) {
    running[0]?.end();
    await nextTurn();
  }
  await Promise.all(all);
});

test('refuses work that waited too long, and drops work that is aborted', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { start, running } = workFor(fairSlots({ total: 1, per_client: 'share', wait_ms_max: 10_000 }));
    const first = start('a');
    const refused = expect(start('a')).rejects.toThrow(SlotsBusy);
    vi.advanceTimersByTime(10_000);
    await refused;
    const gone = new AbortController();
    const dropped = expect(start('a', gone.signal)).rejects.toThrow('left');
    gone.abort(new Error('left'));
    await dropped;
    const last = start('a');
    running[0]?.end();
    await first;
    await nextTurn();
    expect(running).toHaveLength(1);
    running[0]?.end();
    await last;
  } finally {
    vi.useRealTimers();
  }
});

test('frees the slot of work that fails', async () => {
  const slots = fairSlots({ total: 1, per_client: 'share' });
  await expect(slots.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await slots.run('a', async () => 'done')).toBe('done');
});

test('documents take at most a quarter of the heap', () => {
  const mebibyte = 1_048_576;
  expect(documentsMax(8, 4096 * mebibyte)).toBe(8);
  expect(documentsMax(8, 256 * mebibyte)).toBe(4);
  expect(documentsMax(8, 96 * mebibyte)).toBe(1);
  expect(documentsMax(2, 4096 * mebibyte)).toBe(2);
});
