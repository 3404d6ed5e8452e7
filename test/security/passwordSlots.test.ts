import { expect, test } from 'vitest';
import { createPasswordSlots } from '../../src/platform/security/passwords.ts';

/** Starts work that ends when `finish` is called. */
function startWork() {
  let finish = () => {};
  const promise = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return { promise, finish: () => finish() };
}

test('password checks run two at a time, known browsers first, and those over the queue get 503', async () => {
  const slots = createPasswordSlots({ parallel: 2, waiting_max: 2 });
  const started: string[] = [];
  const works = new Map<string, ReturnType<typeof startWork>>();
  const run = (caller: 'known' | 'unknown', name: string) => {
    const work = startWork();
    works.set(name, work);
    return slots.run(caller, async () => {
      started.push(name);
      await work.promise;
      return name;
    });
  };
  const finish = async (name: string) => {
    works.get(name)?.finish();
    await new Promise(setImmediate);
  };
  const running = [
    run('unknown', 'a'),
    run('unknown', 'b'),
    run('unknown', 'c'),
    run('unknown', 'd'),
    run('known', 'e'),
  ];
  await expect(run('unknown', 'f')).rejects.toMatchObject({ code: 'sign_in_busy', status: 503, retry_after_s: 2 });
  const last = run('known', 'g');
  await new Promise(setImmediate);
  expect(started).toStrictEqual(['a', 'b']);
  await finish('a');
  expect(started).toStrictEqual(['a', 'b', 'e']);
  await finish('e');
  await finish('b');
  expect(started).toStrictEqual(['a', 'b', 'e', 'g', 'c']);
  for (const name of ['g', 'c', 'd']) await finish(name);
  expect(await Promise.all([...running, last])).toStrictEqual(['a', 'b', 'c', 'd', 'e', 'g']);
});

test('a check that fails frees its slot', async () => {
  const slots = createPasswordSlots({ parallel: 1, waiting_max: 0 });
  await expect(slots.run('known', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await slots.run('unknown', async () => 'next')).toBe('next');
});
