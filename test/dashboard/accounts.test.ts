import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newClient } from '../api/support.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { linkSteps, tokenIn } from '../linking/linkSteps.ts';
import { expireAccount } from '../spec/support/expireAccount.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM sign_in_attempts`;
});

const accounts = 'clients/{client}/accounts';

async function readId(user_id: string): Promise<string> {
  const [row] = await fixture.owner<{ id: string }[]>`SELECT id FROM accounts WHERE user_id = ${user_id}`;
  if (!row) throw new Error(`Nobody is called ${user_id}.`);
  return row.id;
}

async function readAccount(user_id: string) {
  const { body } = await operator.get(accounts);
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the fields it expects
  return body.organizations.flatMap((each: any) => each.accounts).find((each: any) => each.user_id === user_id);
}

describe('the accounts list', () => {
  test('shows organizations with their EMR, accounts and the last sync of each record kind', async () => {
    const { body } = await operator.get(accounts);
    const [organization] = body.organizations;
    expect(organization).toMatchObject({
      org_id: fixture.sandbox.org_id,
      emr: 'larkspur',
      emr_name: 'Larkspur',
      emr_address: fixture.sandbox.larkspur.url,
      sync: { state: 'succeeded' },
    });
    expect(organization.accounts).toMatchObject([{ user_id: fixture.sandbox.user_id, status: 'active', reason: null }]);
    const [account] = organization.accounts;
    expect(account.capabilities).toContain('createTelephoneEncounter');
    expect(account.lacks, 'Larkspur has everything').toStrictEqual([]);
    const kinds = organization.kinds.map(({ kind }: { kind: string }) => kind);
    expect(kinds).toContain('patients');
    expect(kinds.length).toBeGreaterThan(8);
    expect(body.emrs).toContainEqual({ emr: 'larkspur', emr_name: 'Larkspur' });
  });

  test('shows the last complete sync of a record kind until a newer sync has reached it', async () => {
    const before = (await operator.get(accounts)).body.organizations[0].kinds;
    await withJobsPaused(fixture, async () => {
      const { body } = await operator.post(`${accounts}/${await readId(fixture.sandbox.user_id)}/sync`);
      const [organization] = (await operator.get(accounts)).body.organizations;
      expect(organization.sync).toMatchObject({ job_id: body.job_id, state: 'queued' });
      expect(organization.kinds).toStrictEqual(before);
    });
    await until('the sync to end', async () => {
      const [organization] = (await operator.get(accounts)).body.organizations;
      return organization.sync.state === 'succeeded' && organization;
    });
    const [after] = (await operator.get(accounts)).body.organizations;
    for (const kind of after.kinds) expect(kind.job_id).toBe(after.sync.job_id);
  });
});

describe('a link created in the dashboard', () => {
  const request = (fields: Record<string, unknown> = {}) => ({
    org_id: fixture.sandbox.org_id,
    user_id: 'by-link',
    ...fields,
  });

  test('is a URL of the hosted page, valid for 7 days', async () => {
    const { status, body } = await operator.post('clients/{client}/links', request({ language: 'es' }));
    expect(status).toBe(200);
    expect(body.link.url).toMatch(/^http:\/\/[^/]+\/link#token=lt_[\w-]{43}$/);
    expect(body.link.minutes).toBe(7 * 24 * 60);
    const [row] =
      await fixture.owner`SELECT created_in, language, account_id, expires_at > now() + interval '167 hours' AS lasts
        FROM link_tokens WHERE user_id = 'by-link'`;
    expect(row).toStrictEqual({ created_in: 'dashboard', language: 'es', account_id: null, lasts: true });
  });

  test('requires EMR and address for a new organization and names the missing field', async () => {
    const unknown = await operator.post('clients/{client}/links', request({ org_id: 'new-clinic' }));
    expect(unknown).toMatchObject({ status: 400, body: { code: 'missing_field', field: 'emr_name' } });
    const named = request({ org_id: 'new-clinic', emr_name: 'larkspur' });
    expect((await operator.post('clients/{client}/links', named)).body.field).toBe('emr_instance_domain');
    const complete = { ...named, emr_instance_domain: fixture.sandbox.larkspur.url };
    expect((await operator.post('clients/{client}/links', complete)).status).toBe(200);
    const personal = await operator.post('clients/{client}/links', request({ user_id: 'a@example.org' }));
    expect(personal.body).toMatchObject({ code: 'personal_user_id', field: 'user_id' });
  });

  test('identifies the account to re-link without an access token', async () => {
    await expireAccount(fixture, 'to-relink', 1);
    const id = await readId('to-relink');
    expect(await readAccount('to-relink')).toMatchObject({ status: 'login_required', reason: expect.any(String) });
    const { status, body } = await operator.post(`${accounts}/${id}/relink`, {});
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toContain('access_token');
    const [row] = await fixture.owner`SELECT created_in, account_id FROM link_tokens
      WHERE user_id = 'to-relink' ORDER BY created_at DESC LIMIT 1`;
    expect(row).toStrictEqual({ created_in: 'dashboard', account_id: id });
  });
});

describe('revealing', () => {
  test('returns a working access token, only by POST and uncached', async () => {
    const path = `${accounts}/${await readId(fixture.sandbox.user_id)}/reveal`;
    const { status, body, headers } = await operator.post(path);
    expect(status).toBe(200);
    expect(body.access_token).toBe(fixture.sandbox.access_token);
    expect(headers.get('cache-control')).toBe('no-store');
    expect((await operator.get(path)).status).toBe(405);
  });

  test('is denied to read-only operators', async () => {
    const looker = await newOperator(fixture, 'read_only');
    for (const act of ['reveal', 'rotate-token', 'revoke', 'relink', 'sync']) {
      const refused = await looker.post(`${accounts}/${await readId(fixture.sandbox.user_id)}/${act}`);
      expect(refused.body.code, act).toBe('operator_role_lacking');
    }
    expect((await looker.post('clients/{client}/links', { org_id: 'x', user_id: 'y' })).status).toBe(403);
  });

  test('is limited to accounts of the client in the path', async () => {
    const other = await newClient(fixture);
    const [public_id] = await fixture.owner<{ public_id: string }[]>`
      SELECT public_id FROM clients WHERE public_id <> ${fixture.sandbox.client_id} LIMIT 1`;
    expect(other).toBeDefined();
    for (const act of ['reveal', 'rotate-token', 'revoke', 'relink', 'sync']) {
      const path = `clients/${public_id?.public_id}/accounts/${await readId(fixture.sandbox.user_id)}/${act}`;
      expect((await operator.post(path)).status, act).toBe(404);
    }
    expect((await operator.post(`${accounts}/not-an-id/reveal`)).status).toBe(404);
    expect((await fixture.api.call('GET', '/v1/staff')).status).toBe(200);
  });
});

describe('revoking', () => {
  test('fails every waiting and parked job with an event and invalidates the access token', async () => {
    const { api, access_token } = await expireAccount(fixture, 'to-revoke', 2);
    const id = await readId('to-revoke');
    // The account is marked first, then its job is parked. So is the first sync if it was running.
    await expect
      .poll(() => readAccount('to-revoke'))
      .toMatchObject({ status: 'login_required', parked_jobs: expect.toSatisfy((n: number) => n > 0) });
    const { body } = await operator.post(`${accounts}/${id}/revoke`);
    // The live fetch that found the login expired, and the first sync if it was still waiting.
    expect(body.waiting_jobs).toBeGreaterThanOrEqual(1);
    await until('its jobs to end', async () => {
      const open = await fixture.owner`SELECT FROM jobs WHERE account_id = ${id} AND finished_at IS NULL`;
      return open.length === 0;
    });
    const [job] = await fixture.owner<
      { event_id: string }[]
    >`SELECT state, error->>'code' AS code, error->>'message' AS message, event_id FROM jobs
      WHERE account_id = ${id} AND type <> 'sync'`;
    expect(job).toMatchObject({ state: 'failed', code: 'account_unlinked', message: 'The account was unlinked.' });
    const [event] = await fixture.owner`SELECT type, body FROM events WHERE id = ${job?.event_id ?? null}`;
    expect(event?.type).toBe('patient.live_fetch_failed');
    expect(event?.body).toContain('The account was unlinked.');
    expect((await api.call('GET', '/v1/providers')).body.message).toBe('User not found.');
    expect(access_token).not.toBe('');
    expect(await readAccount('to-revoke')).toMatchObject({ status: 'revoked', parked_jobs: 0 });
  });

  test('fails an accepted write that has not started, and its stored record', async () => {
    const access_token = await fixture.api.link({ user_id: 'mid-write', staff: 3 });
    const id = await readId('mid-write');
    const { job_id, operation } = await withJobsPaused(fixture, async () => {
      const created = await fixture.api.call('POST', '/v1/patients', {
        headers: { access_token },
        body: { first_name: 'Ida', last_name: 'Quill', dob: '1980-02-03', sex: 'female' },
      });
      expect(created.status, JSON.stringify(created.body)).toBe(200);
      await operator.post(`${accounts}/${id}/revoke`);
      return { job_id: created.body.job_id, operation: created.body.patient_id };
    });
    await until('the job to end', async () => {
      const [row] = await fixture.owner`SELECT state FROM jobs WHERE id = ${job_id} AND finished_at IS NOT NULL`;
      return row;
    });
    const [finished] = await fixture.owner`SELECT jobs.state, events.type, patients.status FROM jobs
      JOIN events ON events.id = jobs.event_id JOIN patients ON patients.id = ${operation} WHERE jobs.id = ${job_id}`;
    expect(finished).toStrictEqual({ state: 'failed', type: 'patient.failed', status: 'failed' });
    const applied = (await fixture.api.ledger()).filter((entry) => entry.marker.startsWith(operation));
    expect(applied).toStrictEqual([]);
  });

  test('deletes the EMR credentials and invalidates pending links', async () => {
    await fixture.api.link({ user_id: 'forgotten', staff: 5 });
    const id = await readId('forgotten');
    const relink = (await operator.post(`${accounts}/${id}/relink`)).body.link.url;
    const first = (
      await operator.post('clients/{client}/links', { org_id: fixture.sandbox.org_id, user_id: 'forgotten' })
    ).body.link.url;
    await operator.post(`${accounts}/${id}/revoke`);
    const [row] = await fixture.owner<
      { credentials_sealed: Buffer; grant_sealed: Buffer }[]
    >`SELECT credentials_sealed, grant_sealed FROM accounts WHERE id = ${id}`;
    expect([row?.credentials_sealed.length, row?.grant_sealed.length]).toStrictEqual([0, 0]);
    for (const url of [relink, first]) {
      const link_token = tokenIn(url);
      const opened = await fetch(`${fixture.sandbox.base_url}/link/v1/session`, { headers: { link_token } });
      expect(opened.status).toBe(410);
    }
    expect((await operator.post(`${accounts}/${id}/reveal`)).body.code).toBe('account_revoked');
    expect((await operator.post(`${accounts}/${id}/sync`)).body.code).toBe('account_revoked');
    expect((await operator.post(`${accounts}/${id}/revoke`)).body.waiting_jobs).toBe(0);
  });

  test('can be undone by re-linking, which issues a new access token', async () => {
    const before = await fixture.api.link({ user_id: 'comes-back', staff: 6 });
    const id = await readId('comes-back');
    await operator.post(`${accounts}/${id}/revoke`);
    const { url } = (await operator.post(`${accounts}/${id}/relink`)).body.link;
    const link_token = tokenIn(url);
    await linkSteps(fixture).consent(link_token);
    const person = fixture.sandbox.larkspur.staff[6];
    const linked = await fetch(`${fixture.sandbox.base_url}/link/v1/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', link_token },
      body: JSON.stringify({
        credentials: { username: person?.username, password: person?.password },
        one_time_code: fixture.api.code(6),
      }),
    });
    expect(await linked.json()).toMatchObject({ success: true, public_token: null });
    const { access_token } = (await operator.post(`${accounts}/${id}/reveal`)).body;
    expect(access_token).not.toBe(before);
    expect((await fixture.api.call('GET', '/v1/staff', { headers: { access_token } })).status).toBe(200);
    expect((await fixture.api.call('GET', '/v1/staff', { headers: { access_token: before } })).status).toBe(401);
  });
});
