import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Sql } from '../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { signOutAccounts } from '../../src/product/accounts/signOutAccounts.ts';
import { apiAs, expectApiError, expectSchema, newClient } from '../api/support.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { expireAccount } from '../spec/support/expireAccount.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';

let fixture: TestSandbox;
let steps: LinkSteps;
/** The EMR's own database. */
let larkspur: Sql;
beforeAll(async () => {
  // Expiring one link expires all of the EMR, so this sandbox is not shared.
  fixture = await startSandbox({ small: true });
  afterAll(() => fixture.close());
  steps = linkSteps(fixture);
  const address = parseDatabaseUrl('DATABASE_URL', fixture.env.DATABASE_URL ?? '');
  larkspur = connect({ ...address, database: `${address.database}_larkspur` }, { max: 1 });
});
afterAll(() => larkspur.end());

let users = 0;
/** An id that no other test file of the same sandbox uses. */
const newUser = () => `account-tokens-${++users}`;

type StoredAccount = { id: string; status: string; emr_user_id: string; emr_user_name: string };
async function readAccount(user_id: string): Promise<StoredAccount> {
  const [row] = await fixture.owner<StoredAccount[]>`
    SELECT id, status, emr_user_id, emr_user_name FROM accounts WHERE user_id = ${user_id}`;
  if (!row) throw new Error(`Nobody is called ${user_id}.`);
  return row;
}

const readStatus = async (access_token: string) =>
  (await fixture.api.call('GET', '/v1/staff', { headers: { access_token } })).status;

const unlink = (access_token: string) => fixture.api.call('DELETE', '/v1/account', { headers: { access_token } });

const rotate = (access_token: string, headers: Record<string, string> = {}) =>
  fixture.api.call('POST', '/v1/account/rotate-token', { body: {}, headers: { access_token, ...headers } });

/** A write that stays queued while jobs are paused. */
async function queuePatient(access_token: string): Promise<{ job_id: number; patient_id: string }> {
  const body = { first_name: 'Ida', last_name: 'Quill', dob: '1980-02-03', sex: 'female' };
  const response = await fixture.api.call('POST', '/v1/patients', { headers: { access_token }, body });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return response.body;
}

async function finishedJob(job_id: number) {
  return until('the job to finish', async () => {
    const [row] = await fixture.owner`SELECT jobs.state, jobs.error ->> 'code' AS code, events.type AS event
      FROM jobs LEFT JOIN events ON events.id = jobs.event_id WHERE jobs.id = ${job_id} AND finished_at IS NOT NULL`;
    return row;
  });
}

describe('update mode', () => {
  test('stores who signed in, and rejects the sign-in of another EMR user with the name of the right one', async () => {
    const user_id = newUser();
    const access_token = await fixture.api.link({ user_id, staff: 3 });
    const linked = await readAccount(user_id);
    expect(linked.emr_user_id).not.toBe('');
    const link_token = await steps.linkToken({ user_id, org_id: fixture.sandbox.org_id, access_token });
    const before = await devices();
    const message = `This account belongs to ${linked.emr_user_name}. Sign in as that user, or link a new account.`;
    expectApiError(await steps.signIn(link_token, 4), 400, message);
    expect(await readAccount(user_id)).toStrictEqual(linked);
    expect(await devices(), 'the session of the wrong user is ended').toBe(before);
    // The link token stays valid for the right user.
    expect((await steps.signIn(link_token, 3)).status).toBe(200);
    expect(await readAccount(user_id)).toStrictEqual(linked);
    expect(await readStatus(access_token)).toBe(200);
  });

  test('keeps parked jobs parked until the right user has signed in', async () => {
    const user_id = newUser();
    const { access_token } = await expireAccount(fixture, user_id, 5);
    const { id } = await readAccount(user_id);
    const parked = () => fixture.owner`SELECT id FROM jobs WHERE account_id = ${id} AND parked AND state = 'queued'`;
    await until('the fetch and the first sync to be parked', async () => {
      const at_work = await fixture.owner`
        SELECT FROM jobs WHERE account_id = ${id} AND finished_at IS NULL AND NOT parked`;
      return at_work.length === 0;
    });
    const waiting = await parked();
    const link_token = await steps.linkToken({ user_id, org_id: fixture.sandbox.org_id, access_token });
    expect((await steps.signIn(link_token, 6)).body.code).toBe('emr_user_mismatch');
    expect(await parked()).toStrictEqual(waiting);
    expect((await readAccount(user_id)).status).toBe('login_required');
    expect((await steps.signIn(link_token, 5)).status).toBe(200);
    await until('the jobs to finish', async () => {
      const open = await fixture.owner`SELECT FROM jobs WHERE account_id = ${id} AND finished_at IS NULL`;
      return open.length === 0;
    });
  });

  test('queues no further sync while one of the account is waiting, and one again after the account was unlinked', async () => {
    const user_id = newUser();
    const access_token = await fixture.api.link({ user_id, staff: 7 });
    const { id } = await readAccount(user_id);
    const syncs = async (state: string) =>
      (await fixture.owner`SELECT FROM jobs WHERE account_id = ${id} AND type = 'sync' AND state = ${state}`).length;
    const untilSynced = () =>
      until('the syncs to finish', async () => (await syncs('queued')) + (await syncs('running')) === 0);
    await untilSynced();
    await withJobsPaused(fixture, async () => {
      for (let n = 0; n < 3; n++) await fixture.api.link({ user_id, staff: 7, access_token });
      expect(await syncs('queued')).toBe(1);
      await unlink(access_token);
      await fixture.api.link({ user_id, staff: 7 });
      // The one from before fails, because the account was unlinked.
      expect(await syncs('queued')).toBe(2);
    });
    await untilSynced();
    expect([await syncs('succeeded'), await syncs('failed')]).toStrictEqual([2, 1]);
  });

  test('applies to a new link for the same user, too', async () => {
    const user_id = newUser();
    await fixture.api.link({ user_id, staff: 3 });
    const link_token = await steps.linkToken({ user_id, org_id: fixture.sandbox.org_id });
    expect((await steps.signIn(link_token, 4)).body.code).toBe('emr_user_mismatch');
  });

  test('does not apply to an unlinked account, whose earlier jobs fail even if it is re-linked at once', async () => {
    const user_id = newUser();
    const access_token = await fixture.api.link({ user_id, staff: 3 });
    const { job_id, patient_id } = await withJobsPaused(fixture, async () => {
      const queued = await queuePatient(access_token);
      expect((await unlink(access_token)).status).toBe(200);
      const link_token = await steps.linkToken({ user_id, org_id: fixture.sandbox.org_id });
      expect((await steps.signIn(link_token, 4)).status).toBe(200);
      return queued;
    });
    expect(await finishedJob(job_id)).toStrictEqual({
      state: 'failed',
      code: 'account_unlinked',
      event: 'patient.failed',
    });
    expect((await fixture.api.ledger()).filter(({ marker }) => marker.startsWith(patient_id))).toStrictEqual([]);
    expect(await readStatus(access_token)).toBe(401);
  });
});

describe('DELETE /v1/account', () => {
  test('revokes the access tokens, fails queued jobs with their events and ends the session at the EMR', async () => {
    const user_id = newUser();
    const before = await devices();
    const replaced = await fixture.api.link({ user_id, staff: 3 });
    const access_token = (await rotate(replaced)).body.access_token;
    const { id } = await readAccount(user_id);
    const { job_id, response } = await withJobsPaused(fixture, async () => {
      const queued = await queuePatient(access_token);
      return { ...queued, response: await unlink(access_token) };
    });
    expectSchema('account.delete', response);
    expect(response.body.unfinished_jobs).toBeGreaterThanOrEqual(1);
    expect(await finishedJob(job_id)).toMatchObject({ state: 'failed', code: 'account_unlinked' });
    expect([await readStatus(access_token), await readStatus(replaced)]).toStrictEqual([401, 401]);
    expectApiError(await unlink(access_token), 401, 'User not found.');
    expect(await devices()).toBe(before);
    expect(await fixture.owner`SELECT FROM data_keys WHERE owner_id = ${id}`, 'the data key').toHaveLength(0);
    const [signed_out] = await fixture.owner`SELECT outcome FROM audit_records
      WHERE account_id = ${id} AND action = 'account.sign_out'`;
    expect(signed_out?.outcome).toBe('signed_out');
  });

  test('works while the link is expired, and needs all three headers', async () => {
    const user_id = newUser();
    const { access_token } = await expireAccount(fixture, user_id, 7);
    const other = await newClient(fixture);
    expectApiError(await unlink(''), 401, 'Missing access_token header.');
    const foreign = await apiAs(fixture, { ...other, access_token }).call('DELETE', '/v1/account');
    expectApiError(foreign, 401, 'User not found.');
    expect((await unlink(access_token)).status).toBe(200);
    expect((await readAccount(user_id)).status).toBe('revoked');
  });
});

describe('POST /v1/account/rotate-token', () => {
  test('returns a new access token; the old one stays valid for 24 hours', async () => {
    const user_id = newUser();
    const old = await fixture.api.link({ user_id, staff: 3 });
    const response = await rotate(old);
    expectSchema('account.rotate-token', response);
    const { access_token } = response.body;
    expect(access_token).not.toBe(old);
    expect([await readStatus(access_token), await readStatus(old)]).toStrictEqual([200, 200]);
    const { id } = await readAccount(user_id);
    const [kept] = await fixture.owner`SELECT expires_at > now() + interval '1439 minutes' AS long,
      expires_at < now() + interval '1441 minutes' AS short FROM replaced_tokens WHERE account_id = ${id}`;
    expect(kept).toStrictEqual({ long: true, short: true });
    await fixture.owner`UPDATE replaced_tokens SET expires_at = now() WHERE account_id = ${id}`;
    fixture.ctx.lookups.clear();
    expect([await readStatus(access_token), await readStatus(old)]).toStrictEqual([200, 401]);
  });

  test('a replaced token cannot get the new one, and an earlier one keeps its own 24 hours', async () => {
    const first = await fixture.api.link({ user_id: newUser(), staff: 3 });
    const second = (await rotate(first)).body.access_token;
    expect((await rotate(first)).body).toMatchObject({ code: 'access_token_replaced' });
    const third = (await rotate(second)).body.access_token;
    expect([await readStatus(first), await readStatus(second), await readStatus(third)]).toStrictEqual([200, 200, 200]);
  });

  test('a repeated request with the same Idempotency-Key gets the same token', async () => {
    const old = await fixture.api.link({ user_id: newUser(), staff: 3 });
    const key = { 'idempotency-key': 'rotate-once' };
    const [one, two] = [await rotate(old, key), await rotate(old, key)];
    expect(two.body).toStrictEqual(one.body);
  });
});

/** How many remembered devices the EMR has, after it has forgotten those of unlinked accounts. A sign-in adds one. */
async function devices(): Promise<number> {
  await until('all unlinked accounts to be signed out', async () => {
    await fixture.owner`UPDATE ended_grants SET next_at = now()`;
    await signOutAccounts(fixture.ctx);
    return (await fixture.owner`SELECT FROM ended_grants`).length === 0;
  });
  const [row] = await larkspur<{ n: number }[]>`SELECT count(*) AS n FROM devices`;
  return row?.n ?? 0;
}
