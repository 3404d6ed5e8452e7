import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { inTurns } from '../../src/product/records/readAvailability.ts';

/** Steps that take 3 ms each. */
function* work(steps: number, log: string[] = [], name = ''): Generator<undefined, string> {
  for (let n = 0; n < steps; n++) {
    const until = performance.now() + 3;
    while (performance.now() < until);
    log.push(name);
    yield;
  }
  return name;
}

test('other work is done while a large result is found', async () => {
  let [turns, ended] = [0, false];
  const result = inTurns(work(40, [], 'large')).finally(() => {
    ended = true;
  });
  while (!ended) {
    await nextTurn();
    turns++;
  }
  expect(await result).toBe('large');
  expect(turns).toBeGreaterThan(5);
});

test('a large result is found after the earlier ones, a small one at once', async () => {
  const log: string[] = [];
  const ended: string[] = [];
  const find = (name: string, steps: number) => inTurns(work(steps, log, name)).then((each) => ended.push(each));
  await Promise.all([find('first', 20), find('second', 20), find('small', 0)]);
  expect(ended).toStrictEqual(['small', 'first', 'second']);
  // Each begins, and waits when it turns out to be large.
  expect(log.filter((name, n) => name !== log[n - 1])).toStrictEqual(['first', 'second', 'first', 'second']);
});

test('a large result that fails does not keep later ones waiting', async () => {
  const fails = function* (): Generator<undefined, string> {
    yield* work(10);
    throw new RangeError('Too many.');
  };
  const [failed, later] = await Promise.allSettled([inTurns(fails()), inTurns(work(10, [], 'later'))]);
  expect(failed).toMatchObject({ status: 'rejected', reason: new RangeError('Too many.') });
  expect(later).toStrictEqual({ status: 'fulfilled', value: 'later' });
});
