import { setImmediate as endOfTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { groupCommit } from '../../src/platform/db/batches.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

const open = () => {
  const batches: string[][] = [];
  const group = groupCommit<string, string>(async (entries) => {
    batches.push([...entries]);
    return entries;
  });
  return { batches, add: group.add };
};

test('an entry that expects no others is written at the end of the turn', async () => {
  const { batches, add } = open();
  expect(await add('a')).toBe('a');
  expect(batches).toEqual([['a']]);
});

test('a statement waits for the entries that are expected, and not longer', async () => {
  const { batches, add } = open();
  const first = add('a', 3);
  await endOfTurn();
  const second = add('b', 3);
  await endOfTurn();
  expect(batches).toEqual([]);
  await Promise.all([first, second, add('c', 3)]);
  expect(batches).toEqual([['a', 'b', 'c']]);
});

test('a statement does not wait longer than a millisecond for each expected entry, or 20', async () => {
  for (const [expected, wait_ms] of [
    [5, 5],
    [500, 20],
  ] as const) {
    const { batches, add } = open();
    const first = add('a', expected);
    await endOfTurn();
    vi.advanceTimersByTime(wait_ms - 1);
    await endOfTurn();
    expect(batches).toEqual([]);
    vi.advanceTimersByTime(1);
    await first;
    expect(batches).toEqual([['a']]);
  }
});
