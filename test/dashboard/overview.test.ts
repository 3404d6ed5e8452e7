import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HistoryBin } from '../../web/dashboard/service/api.gen.ts';
import { newClient } from '../api/support.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { respondWith, startReceiver } from '../harness/receiver.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { expireAccount } from '../spec/support/expireAccount.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { rejectedCall } from './finishedCalls.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture?.close());

const overview = async () => (await operator.get('clients/{client}/overview')).body.overview;
const own = async () => {
  const { clients } = await overview();
  return clients.find(({ client_id }: { client_id: string }) => client_id === fixture.sandbox.client_id);
};
const history = async (range: string): Promise<HistoryBin[]> =>
  (await operator.get(`clients/{client}/overview/history?range=${range}`)).body.bins;
const sum = (bins: HistoryBin[], state: 'succeeded' | 'partial' | 'failed' | 'needs_review') =>
  bins.reduce((total, bin) => total + bin[state], 0);

/** Inserts jobs that finished at a given age with a given duration. */
async function insertFinishedJobs(state: string, ago: string, taken_s: number, count = 1): Promise<void> {
  await fixture.owner`
    INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane, state, created_at, finished_at)
    SELECT client_id, organization_id, account_id, id, 'sync', 'test', ${state},
           now() - ${ago}::interval - make_interval(secs => ${taken_s}), now() - ${ago}::interval
      FROM (SELECT * FROM operations LIMIT 1) AS operation, generate_series(1, ${count})`;
}

describe('the current load', () => {
  test('is counted by state, with the age of the oldest job', async () => {
    const before = await own();
    const accepted = await withJobsPaused(fixture, async () => {
      const { body } = await fixture.api.callIn();
      const during = await own();
      expect(during.queued).toBe(before.queued + 1);
      expect(Date.parse(during.oldest_queued_at)).toBeGreaterThan(Date.now() - 60_000);
      return body;
    });
    await fixture.api.untilEvent(accepted.job_id);
    expect(await own()).toMatchObject({ queued: 0, running: 0, oldest_queued_at: null });
  });

  test('includes every client of the installation', async () => {
    const before = (await overview()).clients.length;
    await newClient(fixture);
    const { clients } = await overview();
    expect(clients).toHaveLength(before + 1);
    expect(clients.at(-1)).toMatchObject({ queued: 0, running: 0, parked: 0, needs_review: 0, relink: 0 });
  });
});

describe('what needs attention', () => {
  test('includes failed jobs by cause, without those that were run again', async () => {
    const before = await overview();
    const failed = await rejectedCall(fixture);
    const during = await overview();
    expect(during.failed_day).toBe(before.failed_day + 1);
    expect(during.attention.failures).toStrictEqual([
      {
        code: 'emr_refused',
        jobs: 1,
        example: {
          job_id: failed.job_id,
          type: 'telephone_encounter.create',
          org_id: fixture.sandbox.org_id,
          finished_at: expect.any(String),
        },
      },
    ]);
    // Neither an MRN nor a message of the EMR, because reading the overview is not in the audit log.
    expect(JSON.stringify(during)).not.toMatch(/locked|LK1/);
    const { body } = await operator.post(`clients/{client}/jobs/${failed.job_id}/run-again`, {});
    await fixture.api.untilEvent(body.job_id);
    expect(await overview()).toMatchObject({ failed_day: before.failed_day, attention: { failures: [] } });
  });

  test('includes accounts to re-link, with the reason', async () => {
    await expireAccount(fixture, 'expired', 1);
    const { attention } = await overview();
    expect(attention.accounts).toMatchObject([
      { user_id: 'expired', org_id: fixture.sandbox.org_id, reason: 'Larkspur requires a new one-time code.' },
    ]);
    await until('its jobs to be parked', async () => (await own()).parked > 0);
    await fixture.owner`UPDATE jobs SET parked_since = now() - interval '1 hour' WHERE parked`;
    expect(await own()).toMatchObject({ relink: 1 });
    await fixture.api.link({ user_id: 'expired', staff: 1 });
    expect((await overview()).attention.accounts).toStrictEqual([]);
    const [waited] = await fixture.owner<{ ms: number }[]>`SELECT max(parked_ms)::int AS ms FROM jobs`;
    expect(waited?.ms).toBeGreaterThanOrEqual(3_600_000);
  });

  test('includes failing webhook endpoints, with start time and reason', async () => {
    const receiver = await startReceiver(respondWith(500));
    await fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
    await fixture.api.callIn();
    const failing = await until('the delivery to fail', async () => (await overview()).attention.endpoints[0]);
    expect(failing).toMatchObject({ url: receiver.url, status: 'enabled', reason: expect.stringContaining('500') });
    expect(Date.parse(failing.since)).toBeGreaterThan(Date.now() - 60_000);
    await receiver.close();
  });

  test('includes jobs with an unknown outcome', async () => {
    expect((await overview()).attention.reviews).toStrictEqual([]);
    await insertFinishedJobs('needs_review', '1 minute', 5);
    expect((await overview()).attention.reviews).toMatchObject([{ job_id: expect.any(Number), type: 'sync' }]);
    expect((await own()).needs_review).toBe(1);
    await fixture.owner`DELETE FROM jobs WHERE lane = 'test'`;
  });
});

describe('the history', () => {
  test('has a bin for every interval, including empty ones', async () => {
    for (const [range, bins, bin_ms] of [
      ['1h', 60, 60_000],
      ['24h', 48, 1_800_000],
      ['7d', 56, 10_800_000],
    ] as const) {
      const asked_at = Date.now();
      const answered = await history(range);
      expect(answered, range).toHaveLength(bins);
      const times = answered.map(({ at }) => Date.parse(at));
      for (const [n, time] of times.entries()) expect(time).toBe((times[0] ?? 0) + n * bin_ms);
      expect(times.at(-1)).toBeGreaterThan(asked_at - bin_ms - 1000);
    }
    expect((await operator.get('clients/{client}/overview/history?range=2h')).status).toBe(400);
  });

  test('counts jobs by state in the interval in which they finished', async () => {
    // From the tests above: the sync of a re-linked account.
    await until('all that runs to end', async () => {
      const left = await fixture.owner`SELECT FROM jobs WHERE finished_at IS NULL AND NOT parked`;
      return left.length === 0;
    });
    const before = Object.fromEntries(
      await Promise.all(['1h', '24h', '7d'].map(async (range) => [range, await history(range)] as const)),
    );
    await insertFinishedJobs('failed', '30 minutes', 2, 3);
    await insertFinishedJobs('partial', '5 hours', 2, 4);
    await insertFinishedJobs('succeeded', '3 days', 2, 5);
    await insertFinishedJobs('succeeded', '8 days', 2, 50);
    // Longer ranges use stored sums, which do not include rows inserted into the past.
    await fixture.owner`DELETE FROM job_periods`;
    const added = async (range: string, state: 'succeeded' | 'partial' | 'failed') =>
      sum(await history(range), state) - sum(before[range] ?? [], state);
    expect([await added('1h', 'failed'), await added('1h', 'partial')]).toStrictEqual([3, 0]);
    expect([await added('24h', 'failed'), await added('24h', 'partial')]).toStrictEqual([3, 4]);
    expect([await added('7d', 'failed'), await added('7d', 'partial')]).toStrictEqual([3, 4]);
    expect([await added('24h', 'succeeded'), await added('7d', 'succeeded')]).toStrictEqual([0, 5]);
  });

  test('is the same when it is read from stored sums plus recent jobs', async () => {
    const first = await history('7d');
    const periods = await fixture.owner`SELECT FROM job_periods`;
    expect(periods.length).toBeGreaterThan(300);
    expect(await history('7d')).toStrictEqual(first);
    await insertFinishedJobs('failed', '1 second', 2);
    expect(sum(await history('7d'), 'failed')).toBe(sum(first, 'failed') + 1);
    expect(sum(await history('24h'), 'failed')).toBe(sum(first, 'failed') + 1);
  });

  test('does not count the time that a job waited for re-linking', async () => {
    await insertFinishedJobs('succeeded', '4 days', 3_600, 5);
    await fixture.owner`UPDATE jobs SET parked_ms = 3590000 WHERE finished_at < now() - interval '95 hours'
      AND finished_at > now() - interval '97 hours'`;
    await fixture.owner`DELETE FROM job_periods`;
    const bin = (await history('7d')).find(({ succeeded }) => succeeded === 5);
    expect(Math.abs((bin?.p95_s ?? 0) / 10 - 1)).toBeLessThanOrEqual(0.06);
  });

  test('reports median and 95th percentile of the duration within 5 %', async () => {
    await insertFinishedJobs('succeeded', '2 days', 4, 90);
    await insertFinishedJobs('succeeded', '2 days', 700, 10);
    await fixture.owner`DELETE FROM job_periods`;
    const bin = (await history('7d')).find(({ p95_s }) => (p95_s ?? 0) > 600);
    expect(bin?.succeeded).toBe(100);
    expect(Math.abs((bin?.p50_s ?? 0) / 4 - 1)).toBeLessThanOrEqual(0.06);
    expect(Math.abs((bin?.p95_s ?? 0) / 700 - 1)).toBeLessThanOrEqual(0.06);
    expect((await history('1h')).every(({ p95_s }) => p95_s === null || p95_s < 600)).toBe(true);
  });
});
