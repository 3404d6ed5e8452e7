import { beforeAll, describe, expect, test } from 'vitest';
import type { JobSummary } from '../../src/model/activity.ts';
import { finishedCall, rejectedCall } from '../dashboard/finishedCalls.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { apiAs, expectApiError, newClient } from './support.ts';

/** The endpoints that show an application its own jobs, accounts and requests. */
let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const without_account = { headers: { access_token: null } };
const get = async (path: string, options = without_account) => (await fixture.api.call('GET', path, options)).body;
const listIds = (jobs: JobSummary[]) => jobs.map(({ job_id }) => job_id);

describe('GET /v1/jobs', () => {
  test('lists the jobs of all accounts newest first, by page, without patient data', async () => {
    const first = (await finishedCall(fixture, { reason: 'activity 1' })).job_id;
    const second = (await finishedCall(fixture, { reason: 'activity 2' })).job_id;
    const page = await get('/v1/jobs?type=telephone_encounter.create&page_size=1');
    expect(page.jobs).toStrictEqual([
      {
        job_id: second,
        type: 'telephone_encounter.create',
        status: 'succeeded',
        waiting_for_relink: false,
        access_token_reference_id: expect.stringMatching(/^at_ref_/),
        user_id: fixture.sandbox.user_id,
        org_id: fixture.sandbox.org_id,
        attempts: 1,
        created_at: expect.any(String),
        started_at: expect.any(String),
        finished_at: expect.any(String),
        error_code: null,
        run_again_of: null,
        reference: null,
      },
    ]);
    const next = await get(`/v1/jobs?type=telephone_encounter.create&page_size=1&before=${page.next}`);
    expect(listIds(next.jobs)).toStrictEqual([first]);
    expect(JSON.stringify([page, next])).not.toContain(fixture.sandbox.example.patient_mrn);
  });

  test('filters by status, time and account', async () => {
    const { job_id } = await rejectedCall(fixture);
    const failed = await get('/v1/jobs?status=failed');
    expect(failed.jobs[0]).toMatchObject({ job_id, status: 'failed', error_code: expect.any(String) });
    expect(
      (await get(`/v1/jobs?created_before=${failed.jobs[0].created_at}`)).jobs.map(({ job_id }: JobSummary) => job_id),
    ).not.toContain(job_id);
    const access_token = await fixture.api.link({ user_id: 'activity-colleague', staff: 1 });
    const own = await get('/v1/jobs', { headers: { access_token } as never });
    expect(listIds(own.jobs)).not.toContain(job_id);
  });

  test('shows nothing of another client', async () => {
    const { job_id } = await finishedCall(fixture, { reason: 'activity tenant' });
    const other = await newClient(fixture);
    expect((await other.api.call('GET', '/v1/jobs', without_account)).body).toStrictEqual({
      success: true,
      jobs: [],
      next: null,
    });
    expect((await other.api.call('GET', `/v1/jobs?before=${job_id + 1}`, without_account)).body.jobs).toStrictEqual([]);
  });

  test('rejects a cursor that is not a job id', async () => {
    const response = await fixture.api.call('GET', '/v1/jobs?before=abc', without_account);
    expectApiError(response, 400, /before/, 'before');
  });
});

describe('POST /v1/jobs/{job_id}/run-again', () => {
  test('queues a failed job again, once', async () => {
    const { job_id } = await rejectedCall(fixture);
    const run = () => fixture.api.call('POST', `/v1/jobs/${job_id}/run-again`, { body: {}, ...without_account });
    const again = await run();
    expect(again).toMatchObject({ status: 200, body: { success: true, job_id: expect.any(Number) } });
    await fixture.api.untilEvent(again.body.job_id);
    const listed = await get('/v1/jobs?page_size=1');
    expect(listed.jobs[0]).toMatchObject({ job_id: again.body.job_id, run_again_of: job_id });
    expectApiError(await run(), 409, /run again as job/);
  });

  test('does not find a job of another account or another client', async () => {
    const { job_id } = await rejectedCall(fixture);
    const path = `/v1/jobs/${job_id}/run-again`;
    const access_token = await fixture.api.link({ user_id: 'activity-colleague', staff: 1 });
    const colleague = apiAs(fixture, { access_token });
    expectApiError(await colleague.call('POST', path, { body: {} }), 404, /Job/);
    const other = await newClient(fixture);
    expectApiError(await other.api.call('POST', path, { body: {}, ...without_account }), 404, /Job/);
    expectApiError(await fixture.api.call('POST', '/v1/jobs/x/run-again', { body: {} }), 404, /Job/);
  });
});

describe('GET /v1/accounts', () => {
  test('lists linked accounts with their status, without tokens', async () => {
    const { sandbox } = fixture;
    const { accounts } = await get('/v1/accounts');
    expect(accounts).toContainEqual({
      access_token_reference_id: expect.stringMatching(/^at_ref_/),
      user_id: sandbox.user_id,
      org_id: sandbox.org_id,
      emr: 'larkspur',
      emr_name: 'Larkspur',
      status: 'active',
      linked_at: expect.any(String),
      last_sync: {
        job_id: expect.any(Number),
        status: expect.stringMatching(/^(queued|running|succeeded)$/),
        at: expect.any(String),
        emr_requests: expect.any(Number),
      },
      waiting_jobs: 0,
      practice_page_url: expect.stringMatching(new RegExp(`^${sandbox.base_url}/practice#account=[0-9a-f]{32}$`)),
    });
    expect(JSON.stringify(accounts)).not.toContain(sandbox.access_token);
    const own = (await fixture.api.call('GET', '/v1/accounts')).body.accounts;
    expect(own.map(({ user_id }: { user_id: string }) => user_id)).toStrictEqual([sandbox.user_id]);
  });

  test('shows nothing of another client', async () => {
    const other = await newClient(fixture);
    expect((await other.api.call('GET', '/v1/accounts', without_account)).body.accounts).toStrictEqual([]);
  });
});

describe('GET /v1/requests', () => {
  test('lists own requests newest first, finds one by its id, and filters by outcome', async () => {
    const missing = await fixture.api.call('GET', '/v1/jobs/999999999999999');
    const request_id = missing.headers.get('x-request-id');
    await expect
      .poll(async () => (await get(`/v1/requests?request_id=${request_id}`)).requests)
      .toStrictEqual([
        {
          request_id,
          at: expect.any(String),
          endpoint: 'jobs.get',
          method: 'GET',
          status: 404,
          duration_ms: expect.any(Number),
          error_code: 'record_not_found',
          access_token_reference_id: expect.stringMatching(/^at_ref_/),
        },
      ]);
    const failed = await get('/v1/requests?status=failed&page_size=100');
    expect(failed.requests.every(({ status }: { status: number }) => status >= 400)).toBe(true);
    const other = await newClient(fixture);
    const foreign = await other.api.call('GET', `/v1/requests?request_id=${request_id}`, without_account);
    expect(foreign.body.requests).toStrictEqual([]);
  });
});
