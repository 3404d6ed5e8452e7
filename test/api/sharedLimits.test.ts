import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { rateLimiter } from '../../src/http/limits/rateLimit.ts';
import { startService } from '../../src/main.ts';
import { type Api, createApi } from '../harness/api.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

const per_second = 5;
const burst = 5;

let fixture: TestSandbox;
let processes: Api[];
beforeAll(async () => {
  fixture = await startSandbox({ small: true, env: { RATE_LIMIT: `${per_second}`, RATE_BURST: `${burst}` } });
  const second = await startService(loadConfig(fixture.env), { role: 'api', print: () => {} });
  processes = [fixture.api, createApi({ ...fixture.sandbox, base_url: second.ctx.base_url })];
  return second.close;
});
afterAll(() => fixture.close());

test('two processes together grant a client its rate, within 5 %', async () => {
  let allowed = 0;
  const started = performance.now();
  const duration_ms = 12_000;
  const send = async (api: Api) => {
    while (performance.now() - started < duration_ms) {
      const { status } = await api.call('GET', '/link/emrs', { headers: { access_token: null } });
      if (status === 200) allowed += 1;
      else expect(status).toBe(429);
    }
  };
  await Promise.all(processes.flatMap((api) => [send(api), send(api)]));
  const granted = burst + ((performance.now() - started) / 1000) * per_second;
  process.stdout.write(`Two processes granted ${allowed} of ${Math.round(granted)} requests.\n`);
  expect(allowed).toBeLessThan(granted * 1.05);
  expect(allowed).toBeGreaterThan(granted * 0.9);
});

test('what another process granted is missing here, also below zero, and comes back with time', () => {
  let now = 0;
  const limit = rateLimiter(5, 10, () => now);
  limit.count('a', 15);
  expect(limit('a')).toMatchObject({ allowed: false, remaining: 0, reset_s: 2 });
  now = 1_200;
  expect(limit('a').allowed).toBe(true);
});
