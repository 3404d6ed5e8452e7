import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HistoryBin } from '../../web/dashboard/service/api.gen.ts';
import { newClient } from '../api/support.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { setFault, until } from '../journeys/support.ts';
import { expireAccount } from '../spec/support/expireAccount.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { finishedCall, rejectedCall } from './finishedCalls.ts';

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

const firstAccount = async () => (await operator.get('clients/{client}/accounts')).body.organizations[0].accounts[0].id;

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

test('the first steps follow a new client until it has written for a day', async () => {
  const steps = async () => (await overview()).first_steps;
  const { body } = await fixture.api.callIn();
  await fixture.api.untilEvent(body.job_id);
  expect(await steps()).toMatchObject({ has_secret: true, has_account: true, event: { type: expect.any(String) } });
  expect((await steps()).write).toMatchObject({ state: 'succeeded' });
  const first = (await steps()).write.job_id;
  await fixture.owner`UPDATE jobs SET created_at = created_at - interval '25 hours' WHERE id = ${first}`;
  expect(await steps()).toBeNull();
  await fixture.owner`UPDATE jobs SET created_at = created_at + interval '25 hours' WHERE id = ${first}`;
  const untouched = await newClient(fixture);
  const other = (await operator.get(`clients/${untouched.client_id}/overview`)).body.overview;
  expect(other.first_steps).toMatchObject({ started_at: null, write: null, event: null, has_account: false });
  expect(other.flow).toMatchObject({ requests: { total: 0 }, practices: [], endpoints: [] });
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
        reason: expect.stringMatching(/^[0-9a-f]+$/),
        jobs: 1,
        can_run: 1,
        after_relink: 0,
        types: ['telephone_encounter.create'],
        org_ids: [fixture.sandbox.org_id],
        accounts: 1,
        patients: 1,
        provider: expect.stringContaining(','),
        first_at: expect.any(String),
        last_at: expect.any(String),
        example: {
          job_id: failed.job_id,
          type: 'telephone_encounter.create',
          state: 'failed',
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

  test('tells failures with the same code apart by what the EMR said, apart from names and numbers', async () => {
    const reject = async (patient_mrn: string, reason: string) => {
      await setFault(fixture.api, 'create_telephone_encounter', 'refuse', { reason });
      return finishedCall(fixture, { patient_mrn });
    };
    const jobs = [
      await reject('LK100001', 'The chart 10001 of Harper Samplewell is locked.'),
      await reject('LK100002', 'The chart 20002 of Jordan Testerly is locked.'),
      await reject('LK100003', 'The practice is closed.'),
    ];
    const { failures } = (await overview()).attention;
    expect(failures).toMatchObject([
      { code: 'emr_refused', jobs: 2, can_run: 2, patients: 2, example: { job_id: jobs[1]?.job_id } },
      { code: 'emr_refused', jobs: 1, can_run: 1, patients: 1, example: { job_id: jobs[2]?.job_id } },
    ]);
    const { code, reason } = failures[0];
    const among = new URLSearchParams({ code, reason });
    const { rows } = (await operator.get(`clients/{client}/jobs?state=unfixed&${among}`)).body;
    expect(rows.map(({ job_id }: { job_id: number }) => job_id)).toStrictEqual([jobs[1]?.job_id, jobs[0]?.job_id]);
    const repeatable = async () => (await operator.get(`clients/{client}/overview/repeatable?${among}`)).body.job_ids;
    expect(await repeatable()).toStrictEqual([jobs[0]?.job_id, jobs[1]?.job_id]);
    // While their account has to be re-linked, they wait for that.
    await fixture.owner`UPDATE accounts SET status = 'login_required'`;
    expect((await overview()).attention.failures[0]).toMatchObject({ jobs: 2, can_run: 0, after_relink: 2 });
    await fixture.owner`UPDATE accounts SET status = 'active'`;
    // Its request is gone, so it cannot run again.
    await fixture.owner`UPDATE operations SET input_deleted_at = now()
      WHERE id = (SELECT operation_id FROM jobs WHERE id = ${jobs[0]?.job_id ?? 0})`;
    expect((await overview()).attention.failures[0]).toMatchObject({ jobs: 2, can_run: 1 });
    expect(await repeatable()).toStrictEqual([jobs[1]?.job_id]);
    // Another run would send the same medication.
    const { job_id } = await finishedCall(fixture, { refill_medication_name: 'Unlistedol' });
    expect((await overview()).attention.failures).toContainEqual(
      expect.objectContaining({ code: 'medication_not_found', reason: '', jobs: 1, can_run: 0 }),
    );
    await fixture.owner`DELETE FROM jobs WHERE id = ANY (${[...jobs.map((job) => job.job_id), job_id]}::bigint[])`;
  });

  test('includes links that failed, by address and cause, until the user has linked an account', async () => {
    const address = 'https://fhir.nowhere.invalid/r4';
    for (const user_id of ['nowhere-1', 'nowhere-2']) {
      const body = { org_id: `org-of-${user_id}`, user_id, emr_name: 'fhir', emr_instance_domain: address };
      await fixture.api.call('POST', '/link/token/create', { body, headers: { access_token: null } });
      await fixture.owner`
        INSERT INTO connection_reports (id, client_id, link_token_hash, error_code, error_message, report)
        SELECT gen_random_uuid(), client_id, token_hash, 'emr_unavailable', 'FHIR R4 cannot be reached right now.',
               ${JSON.stringify({ address, at: new Date().toISOString(), steps: [{ outcome: 'ok' }, { outcome: 'failed', note: 'fhir.nowhere.invalid could not be found' }] })}::text::jsonb
          FROM link_tokens WHERE user_id = ${user_id}`;
    }
    const links = async () => (await overview()).attention.links;
    const cause = { address, code: 'emr_unavailable', note: 'fhir.nowhere.invalid could not be found' };
    expect(await links()).toMatchObject([{ links: 2, user_id: 'nowhere-2', org_id: 'org-of-nowhere-2', ...cause }]);
    const { reports } = (await operator.get('clients/{client}/connection-reports')).body;
    expect(reports).toContainEqual(expect.objectContaining({ user_id: 'nowhere-1', address, note: cause.note }));
    await fixture.owner`UPDATE link_tokens SET org_id = ${fixture.sandbox.org_id}, user_id = 'now-linked'
      WHERE user_id = 'nowhere-2'`;
    await fixture.api.link({ user_id: 'now-linked', staff: 2 });
    expect(await links()).toMatchObject([{ links: 1, user_id: 'nowhere-1', ...cause }]);
    await fixture.owner`DELETE FROM link_tokens`;
  });

  test('includes practices whose sync failed or makes no progress, and a later sync replaces a failed one', async () => {
    const job_id = await fixture.api.sync();
    const syncs = async () => (await overview()).attention.syncs;
    expect(await syncs()).toStrictEqual([]);
    const { owner } = fixture;
    await owner`INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane, state, finished_at, error)
      SELECT client_id, organization_id, account_id, operation_id, 'sync', lane, 'failed', now(),
             '{"code": "not_permitted", "message": "The user may not list claims."}' FROM jobs WHERE id = ${job_id}`;
    const { org_id } = fixture.sandbox;
    const failed = { org_id, failed: true, code: 'not_permitted', reason: 'The user may not list claims.' };
    expect(await syncs()).toMatchObject([failed]);
    // It is not listed among the failed writes as well.
    expect((await overview()).attention.failures).toStrictEqual([]);
    await fixture.api.sync();
    expect(await syncs()).toStrictEqual([]);
    expect((await overview()).failed_day).toBe(0);
    const sync_id = await withJobsPaused(fixture, async () => {
      const requested = await operator.post(`clients/{client}/accounts/${await firstAccount()}/sync`, {});
      await owner`UPDATE jobs SET created_at = now() - interval '1 hour' WHERE id = ${requested.body.job_id}`;
      await owner`INSERT INTO job_steps (job_id, client_id, attempt, name, kind, at)
        SELECT id, client_id, 1, 'started', 'note', now() - interval '40 minutes' FROM jobs
         WHERE id = ${requested.body.job_id}`;
      expect(await syncs()).toMatchObject([{ org_id, failed: false, job_id: requested.body.job_id }]);
      return requested.body.job_id;
    });
    await until('the sync to finish', async () => {
      const [row] = await owner`SELECT FROM jobs WHERE id = ${sync_id} AND state = 'succeeded'`;
      return row;
    });
    expect(await syncs()).toStrictEqual([]);
    // The tests of the history below expect no job of an hour.
    await owner`UPDATE jobs SET created_at = started_at WHERE id = ${sync_id}`;
  });

  test('includes accounts to re-link, with the reason', async () => {
    await expireAccount(fixture, 'expired', 1);
    const { attention } = await overview();
    const words = 'Larkspur requires a new one-time code.';
    expect(attention.accounts).toMatchObject([{ user_id: 'expired', org_id: fixture.sandbox.org_id, reason: words }]);
    const parked = async () => (await overview()).attention.accounts[0]?.parked;
    await until('its jobs to be parked', async () => (await parked()) > 0 && (await own()).parked === (await parked()));
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
    expect(failing).toMatchObject({ url: receiver.url, status: 'enabled' });
    // Syncs of the tests above send events too.
    expect(failing.pending).toBeGreaterThanOrEqual(1);
    expect(failing.reason).toContain('500');
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
