import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { compare } from '../compare.ts';
import type { Api } from './api.ts';
import type { Check } from './check.ts';
import type { Flood } from './floodSender.ts';
import type { Installation } from './installation.ts';

/** A flood of a route that needs no credentials slows down another client's reads to at most twice their time. */
export const floodChecks: readonly Check<Installation>[] = Object.entries(floods()).map(([name, flood]) => ({
  name: `flood:${name}`,
  limit: 2,
  unit: '× quiet p95',
  measure: ({ other }) =>
    withFloodSender(other.base_url, async (send) => {
      // Credentials that are new during a flood from the same address have to wait.
      await other.call('GET', '/v1/patients?page_size=20');
      const during = (sent: Flood | null) => async () => {
        await send(sent);
        // By then, connecting and the burst that the limits allow are over.
        await pause(settle_ms);
        return p95(other);
      };
      return compare(`  ${name}`, during(flood), { name: 'the quiet p95', measure: during(null) }, rounds);
    }),
}));

const rounds = 5;
const settle_ms = 1_000;
const measured_ms = 3_000;

function floods(): Record<string, Flood> {
  const json = { 'content-type': 'application/json' };
  const nested = (bytes: number) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2);
  return {
    'nested-json': { method: 'POST', path: '/dashboard/api/session', headers: json, body: nested(16_000) },
    'large-json': { method: 'POST', path: '/link/token/create', headers: json, body: nested(1_000_000) },
    'sign-in': {
      method: 'POST',
      path: '/dashboard/api/session',
      headers: json,
      body: JSON.stringify({ email: 'nobody@example.org', password: 'not the password' }),
    },
    metrics: { method: 'GET', path: '/metrics' },
    'wrong-credentials': {
      method: 'GET',
      path: '/v1/patients',
      headers: { client_id: 'ci_test_unknown', client_secret: 'cs_test_unknown', access_token: 'unknown' },
    },
    'link-page': { method: 'GET', path: '/link?token=lt_unknown' },
    documentation: { method: 'GET', path: '/openapi.json' },
  };
}

async function withFloodSender<T>(
  base_url: string,
  work: (send: (flood: Flood | null) => Promise<void>) => Promise<T>,
): Promise<T> {
  const sender = fork(fileURLToPath(new URL('floodSender.js', import.meta.url)), [base_url]);
  try {
    return await work(async (flood) => {
      const done = once(sender, 'message');
      sender.send({ flood });
      await done;
    });
  } finally {
    const exited = once(sender, 'exit');
    sender.kill('SIGKILL');
    await exited;
  }
}

/** The time in milliseconds within which 95 % of the reads are answered. One read at a time. */
async function p95(api: Api): Promise<number> {
  const times: number[] = [];
  const end = performance.now() + measured_ms;
  while (performance.now() < end) {
    const start = performance.now();
    await api.call('GET', '/v1/patients?page_size=20');
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.95)] ?? Number.NaN;
}
