import { afterAll, beforeAll, expect, test } from 'vitest';
import { rateLimiter } from '../../src/http/rateLimit.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { expectRefusal, newClient } from './support.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox({ env: { RATE_LIMIT: '5', RATE_BURST: '10' } });
});
afterAll(() => world.close());

test('allows a burst, then returns 429 with retry-after', async () => {
  const client = await newClient(world);
  const ask = () => client.api.call('GET', '/link/emrs', { headers: { access_token: null } });
  const answers = await Promise.all(Array.from({ length: 60 }, ask));
  const refused = answers.filter((answer) => answer.status === 429);
  const allowed = answers.filter((answer) => answer.status === 200);
  // Five tokens per second refill: a slow machine lets some more requests through, but not all within ten seconds.
  expect(allowed.length).toBeGreaterThanOrEqual(10);
  expect(allowed.length).toBeLessThan(60);
  for (const answer of refused) {
    expectRefusal(answer, 429, 'Rate limit exceeded.');
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.headers.get('ratelimit-remaining')).toBe('0');
  }
  for (const answer of allowed) {
    expect(answer.headers.get('ratelimit-limit')).toBe('5');
    expect(Number(answer.headers.get('ratelimit-remaining'))).toBeLessThan(10);
    expect(Number(answer.headers.get('ratelimit-reset'))).toBeGreaterThanOrEqual(1);
  }
  expect(allowed.some((answer) => answer.headers.get('ratelimit-remaining') === '9')).toBe(true);
  const other = await newClient(world);
  expect((await other.api.call('GET', '/link/emrs', { headers: { access_token: null } })).status).toBe(200);
  expect((await world.api.call('GET', '/healthz')).status).toBe(200);
  await expect.poll(async () => (await ask()).status, { interval: 100 }).toBe(200);
});

test('rejects the eleventh request of a burst of ten, and allows one more after 200 ms', () => {
  let now = 0;
  const limit = rateLimiter(5, 10, () => now);
  const grants = Array.from({ length: 12 }, () => limit('a').allowed);
  expect(grants).toStrictEqual([...Array(10).fill(true), false, false]);
  expect(limit('b')).toMatchObject({ allowed: true, remaining: 9 });
  now = 199;
  expect(limit('a').allowed).toBe(false);
  now = 200;
  expect(limit('a').allowed).toBe(true);
  expect(limit('a')).toMatchObject({ allowed: false, remaining: 0, reset_s: 1 });
  now = 3_600_000;
  expect(Array.from({ length: 12 }, () => limit('a').allowed)).toStrictEqual([...Array(10).fill(true), false, false]);
});
