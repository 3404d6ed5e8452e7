import { expect, test } from 'vitest';
import { openFairQueue } from '../../src/db/fairQueue.ts';

/** Work that ends when it is told to, and the order in which it started. */
function work(places: number) {
  const queue = openFairQueue(places);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (client: string, name: string) => {
    void queue.run(client, () => {
      started.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { add, end, started, settled: () => new Promise(setImmediate) };
}

test('leaves the last place to other clients', async () => {
  const { add, started, settled } = work(3);
  for (const n of [1, 2, 3, 4]) add('a', `a${n}`);
  add('b', 'b1');
  await settled();
  expect(started).toStrictEqual(['a1', 'a2', 'b1']);
});

test('serves waiting clients in turn, each in order of arrival', async () => {
  const { add, end, started, settled } = work(2);
  for (const n of [1, 2, 3]) add('a', `a${n}`);
  add('b', 'b1');
  for (const n of [1, 2]) add('c', `c${n}`);
  await settled();
  expect(started).toStrictEqual(['a1', 'b1']);
  for (const name of ['a1', 'b1', 'a2', 'c1', 'a3']) await end(name);
  expect(started).toStrictEqual(['a1', 'b1', 'a2', 'c1', 'a3', 'c2']);
});

test('gives a single place to everyone in turn', async () => {
  const { add, end, started, settled } = work(1);
  for (const name of ['a1', 'a2', 'b1']) add(name.slice(0, 1), name);
  await settled();
  await end('a1');
  await end('a2');
  expect(started).toStrictEqual(['a1', 'a2', 'b1']);
});
