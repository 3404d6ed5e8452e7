import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashToken } from '../../src/platform/security/signatures.ts';
import { entries_per_hour, written_subjects } from '../../src/product/link/practicePage.ts';
import { writes } from '../../src/product/writes/writes.ts';
import { apiAs, expectApiError, newClient } from '../api/support.ts';
import type { ApiResponse } from '../harness/api.ts';
import { redirectUri } from '../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';

let fixture: TestSandbox;
let steps: LinkSteps;
beforeAll(async () => {
  fixture = await startSandbox({ small: true, sync_after_link: false });
  steps = linkSteps(fixture);
});
afterAll(() => fixture.close());

const nobody = { client_id: null, client_secret: null, access_token: null };
type Called = { session?: string; link_token?: string; body?: object; headers?: Record<string, string> };
const call = (
  method: string,
  path: string,
  { session, link_token, body, headers }: Called = {},
): Promise<ApiResponse> =>
  fixture.api.call(method, path.startsWith('/') ? path : `/practice/v1/${path}`, {
    headers: {
      ...nobody,
      ...headers,
      ...(session && { 'practice-session': session }),
      ...(link_token && { 'link-token': link_token }),
    },
    ...(body && { body }),
  });
const personal = (staff: number) => {
  const { username, password } = fixture.sandbox.larkspur.staff[staff] ?? {};
  return { credentials: { username, password }, one_time_code: fixture.api.code(staff) };
};

type Linked = { account_id: string; pass: string; access_token: string };

/** Links an account through the page, as a person does. */
async function link(user_id: string, staff: number, api = fixture.api): Promise<Linked> {
  const org_id = api === fixture.api ? fixture.sandbox.org_id : `practice-of-${user_id}`;
  const link_token = await steps.linkToken({ user_id, org_id }, api);
  await steps.consent(link_token);
  const { body } = await call('POST', '/link/v1/sign-in', { link_token, body: personal(staff) });
  const { body: exchanged } = await steps.exchange(body.public_token, api);
  return { ...body.practice, access_token: exchanged.token };
}

const redeem = (pass: string) => call('POST', 'session', { body: { pass } });

async function startSession({ pass }: Linked): Promise<string> {
  const { status, body } = await redeem(pass);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.session;
}

async function entry(account: string): Promise<string> {
  const { body } = await call('POST', 'entry', { body: { account } });
  expect(body.state).toBe('sign_in');
  return body.token;
}

const view = (session: string) => call('GET', 'account', { session });

/** Nothing secret, and no patient, may be in what the page's requests leave behind. */
async function traces(): Promise<string> {
  const rows = await fixture.owner`
    SELECT row_to_json(each)::text AS text FROM practice_sessions AS each
    UNION ALL SELECT row_to_json(each)::text FROM audit_records AS each WHERE action LIKE 'practice.%'
    UNION ALL SELECT row_to_json(each)::text FROM requests AS each`;
  return JSON.stringify(rows);
}

describe('the link that is shown when an account is linked', () => {
  test('opens the page once, and shows what was linked, read and written', async () => {
    const linked = await link('opened', 1);
    const session = await startSession(linked);
    const api = apiAs(fixture, { access_token: linked.access_token });
    const { body: queued } = await api.callIn();
    await api.untilEvent(queued.job_id);
    const { status, body } = await view(session);
    expect(status, JSON.stringify(body)).toBe(200);
    const [person] = await fixture.owner`SELECT emr_user_name FROM accounts WHERE user_id = 'opened'`;
    expect(body).toStrictEqual({
      success: true,
      client: { name: 'Sandbox', logo: null, colour: '#0b5a6e' },
      account_id: linked.account_id,
      status: 'active',
      organization: fixture.sandbox.org_id,
      emr: 'Larkspur',
      emr_address: new URL(fixture.sandbox.larkspur.url).host,
      emr_user: person?.emr_user_name,
      linked_at: expect.stringMatching(/Z$/),
      unlinked_at: null,
      used_at: expect.stringMatching(/Z$/),
      read_at: expect.stringMatching(/Z$/),
      records: expect.arrayContaining([{ subject: 'patients', count: expect.any(Number) }]),
      counted_days: 30,
      written: [{ subject: 'messages', count: 1 }],
      writes: [{ subject: 'messages', requested_at: expect.stringMatching(/Z$/), state: 'saved' }],
    });
    // Neither the patient of the write nor anything of them.
    const [job] = await fixture.owner`SELECT patient_mrn FROM operations
      WHERE id = (SELECT operation_id FROM jobs WHERE id = ${queued.job_id})`;
    expect(JSON.stringify(body)).not.toContain(`"${job?.patient_mrn}"`);
    // The pass works once, and is no session. Nor is the session a pass.
    for (const token of [linked.pass, session, 'pp_unknown']) {
      const response = await redeem(token);
      expectApiError(response, 410, /expired or was already used/);
    }
    expectApiError(await view(linked.pass), 401, 'Sign in to the EMR again.');
    const left = await traces();
    for (const secret of [linked.pass, session, linked.access_token]) expect(left).not.toContain(secret);
  });

  test('starts one session if it is opened twice at the same time', async () => {
    const { pass } = await link('twice', 1);
    const responses = await Promise.all([redeem(pass), redeem(pass), redeem(pass)]);
    expect(responses.map(({ status }) => status).sort()).toStrictEqual([200, 410, 410]);
  });

  test('expires, and so does a session', async () => {
    const linked = await link('expiring', 1);
    const session = await startSession(await link('expiring', 1));
    await fixture.owner`UPDATE practice_sessions SET expires_at = now()`;
    expectApiError(await redeem(linked.pass), 410, /expired or was already used/);
    expectApiError(await view(session), 401, 'Sign in to the EMR again.');
  });
});

describe('a session', () => {
  test('shows its own account only, whatever else the request contains', async () => {
    const other = await newClient(fixture);
    const [mine, theirs] = [await link('mine', 1), await link('theirs', 2, other.api)];
    const session = await startSession(mine);
    const query = `?account=${theirs.account_id}`;
    expect((await call('GET', `account${query}`, { session })).status).toBe(400);
    expect((await view(session)).body).toMatchObject({
      account_id: mine.account_id,
      organization: fixture.sandbox.org_id,
    });
    const unlinked = await call('POST', 'unlink', { session, body: { account: theirs.account_id } });
    expect(unlinked.status).toBe(400);
    expect((await view(await startSession(theirs))).body).toMatchObject({ status: 'active' });
  });

  test('is not sent by browsers by themselves, so that no other site can use it', async () => {
    const linked = await link('forged', 1);
    const started = await redeem(linked.pass);
    expect(started.headers.get('set-cookie')).toBeNull();
    const headers = { cookie: `practice-session=${started.body.session}`, origin: 'https://other.example.org' };
    expectApiError(await call('POST', 'unlink', { headers, body: {} }), 401, 'Sign in to the EMR again.');
    const preflight = await call('OPTIONS', 'unlink', {
      headers: {
        ...headers,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'practice-session',
      },
    });
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
    expect((await view(started.body.session)).body.status).toBe('active');
  });

  test('ends when the person signs out, and when another user of the EMR links the account', async () => {
    const linked = await link('leaving', 1);
    const session = await startSession(linked);
    expect((await call('POST', 'sign-out', { session, body: {} })).status).toBe(200);
    expectApiError(await view(session), 401, 'Sign in to the EMR again.');
    const again = await startSession(await link('leaving', 1));
    await fixture.owner`UPDATE accounts SET emr_user_id = 'successor' WHERE user_id = 'leaving'`;
    expectApiError(await view(again), 401, 'Sign in to the EMR again.');
  });
});

describe('Disconnect', () => {
  test('unlinks this account only, as the API does, and is recorded with the person of the practice', async () => {
    const [linked, colleague] = [await link('ending', 1), await link('staying', 2)];
    const session = await startSession(linked);
    const response = await call('POST', 'unlink', { session, body: {} });
    expect(response.body).toStrictEqual({ success: true, waiting_jobs: 0 });
    const use = (access_token: string) => fixture.api.call('GET', '/v1/staff', { headers: { access_token } });
    await until('the access token to be refused', async () => (await use(linked.access_token)).status === 401);
    expect((await use(colleague.access_token)).status).toBe(200);
    const [stored] = await fixture.owner`
      SELECT status, length(credentials_sealed) + length(grant_sealed) + length(token_sealed) AS secrets
        FROM accounts WHERE user_id = 'ending'`;
    expect(stored).toStrictEqual({ status: 'revoked', secrets: 0 });
    const records = await fixture.owner`
      SELECT actor_kind, actor, action, outcome, subject, replace(account_id::text, '-', '') AS account_id
        FROM audit_records WHERE actor_kind = 'practice' AND actor = 'ending' ORDER BY position`;
    const by = { actor_kind: 'practice', actor: 'ending', outcome: '200', account_id: linked.account_id };
    expect([...records]).toStrictEqual(
      ['practice.session.create', 'practice.account.unlink'].map((action) => ({
        ...by,
        action,
        subject: linked.account_id,
      })),
    );
    // The page says so, in the same session and with the address that the person saved. Nothing of the practice is shown.
    const { body } = await view(session);
    expect(body).toMatchObject({ status: 'revoked', unlinked_at: expect.stringMatching(/Z$/), records: [] });
    const entered = await call('POST', 'entry', { body: { account: linked.account_id } });
    expect(entered.body).toStrictEqual({ success: true, state: 'unlinked', token: null });
  });

  test('unlinks each account, whatever Idempotency-Key is sent', async () => {
    const headers = { 'idempotency-key': 'the same' };
    for (const user_id of ['first-key', 'second-key']) {
      const session = await startSession(await link(user_id, 1));
      expect((await call('POST', 'unlink', { session, headers, body: {} })).status).toBe(200);
      expect((await view(session)).body.status).toBe('revoked');
    }
  });

  test('an erased account is unknown to the page', async () => {
    const linked = await link('erased', 1);
    const session = await startSession(linked);
    await fixture.owner`DELETE FROM accounts WHERE user_id = 'erased'`;
    expectApiError(await view(session), 401, 'Sign in to the EMR again.');
    for (const account of [linked.account_id, 'nonsense', '0'.repeat(32)]) {
      const response = await call('POST', 'entry', { body: { account } });
      expectApiError(response, 404, 'There is no linked account at this address.');
    }
  });
});

describe('the address of the page', () => {
  test('leads to a sign-in at the EMR, which opens the page for the user of the account and links nothing', async () => {
    const linked = await link('returning', 1);
    const link_token = await entry(linked.account_id);
    const shown = (await call('GET', 'sign-in', { link_token })).body;
    // What is stored for the account does not help to sign in.
    expect(shown).toMatchObject({ update: false, consent: null, organization: fixture.sandbox.org_id });
    expect(shown.fields.map((field: { known: boolean }) => field.known)).toStrictEqual([false, false]);
    const { one_time_code, ...without_code } = personal(1);
    const refused = await call('POST', 'sign-in', { link_token, body: without_code });
    expect(refused.body.code).toBe('emr_code_required');
    const signed_in = await call('POST', 'sign-in', { link_token, body: personal(1) });
    expect(Object.keys(signed_in.body)).toStrictEqual(['success', 'session']);
    expect((await view(signed_in.body.session)).body.account_id).toBe(linked.account_id);
    // The token is used up, and the account is as before: its session at the EMR works.
    expect((await call('POST', 'sign-in', { link_token, body: personal(1) })).status).toBe(410);
    const api = apiAs(fixture, { access_token: linked.access_token });
    const { body } = await api.callIn();
    expect(JSON.stringify(await api.untilEvent(body.job_id))).toContain('telephone_encounter.created');
    expect(one_time_code).toMatch(/^\d{6}$/);
  });

  test('does not open the page of another user of the EMR, and does not name its user', async () => {
    const linked = await link('wanted', 1);
    const [user] = await fixture.owner`SELECT emr_user_name FROM accounts WHERE user_id = 'wanted'`;
    const link_token = await entry(linked.account_id);
    const response = await call('POST', 'sign-in', { link_token, body: personal(2) });
    expectApiError(response, 403, 'The account belongs to another user of the EMR.');
    expect(JSON.stringify(response.body)).not.toContain(user?.emr_user_name);
    const failed = await call('POST', 'sign-in', {
      link_token,
      body: { credentials: { username: 'x', password: 'y' } },
    });
    expect(failed.body.code).toBe('emr_credentials_wrong');
    // An attempt on this page is no failed link.
    expect(await fixture.owner`SELECT FROM connection_reports WHERE link_token_hash IS NOT NULL`).toHaveLength(0);
  });

  test('its link token cannot be used to link, and those of Link cannot be used here', async () => {
    const linked = await link('separate', 1);
    const link_token = await entry(linked.account_id);
    for (const [method, path, body] of [
      ['GET', '/link/v1/session', undefined],
      ['POST', '/link/v1/consent', { terms_id: '0'.repeat(64), language: 'en', text: 'x' }],
      ['POST', '/link/v1/sign-in', personal(1)],
    ] as const) {
      expectApiError(await call(method, path, { link_token, ...(body && { body }) }), 404, 'link_token not found.');
    }
    // Nor by the application, which could start such a sign-in too.
    expectApiError(await steps.signIn(link_token, 1), 400, 'Invalid or expired link_token.');
    const other = await steps.linkToken();
    expectApiError(
      await call('POST', 'sign-in', { link_token: other, body: personal(1) }),
      404,
      'link_token not found.',
    );
  });

  test('limits sign-ins, so that no password can be guessed', async () => {
    const { account_id } = await link('guessed', 1);
    const link_token = await entry(account_id);
    const guess = (n: number) =>
      call('POST', 'sign-in', { link_token, body: { credentials: { username: `guess-${n}`, password: 'x' } } });
    const codes: string[] = [];
    for (let n = 0; n < 8; n++) codes.push((await guess(n)).body.code);
    expect(codes).toStrictEqual([...Array(6).fill('emr_credentials_wrong'), 'link_exhausted', 'link_exhausted']);
    const started = await Promise.all(
      Array.from({ length: entries_per_hour }, () => call('POST', 'entry', { body: { account: account_id } })),
    );
    expect(started.filter(({ status }) => status === 200)).toHaveLength(entries_per_hour - 1);
    expect(started.filter(({ status }) => status === 429)).toHaveLength(1);
    // Each counts as several requests of its address.
    await fixture.owner`UPDATE link_tokens SET created_at = now() - interval '2 hours' WHERE user_id = 'guessed'`;
    await entry(account_id);
  });
});

describe('an account of a FHIR server', () => {
  let server: FhirServer;
  beforeAll(async () => {
    server = await startFhirServer({ data: 'small' });
  });
  afterAll(() => server.close());

  const at_server = () => ({ emr_name: 'fhir', emr_instance_domain: server.url });
  const way = { body: { credentials: { way: 'authorization_code' } } };
  const by_page = { way: 'authorization_code', client_id: 'by-page' };

  /** Signs in on the EMR's own page as the person at this place of the list. */
  async function signInOnPage(link_token: string, at: number): Promise<void> {
    const redirect_uri = await redirectUri(fixture, server.url);
    server.register({ client_id: 'by-page', redirect_uris: [redirect_uri] });
    const callback_id = redirect_uri.split('/').at(-1);
    const { body } = await call('POST', '/link/v1/oauth/start', { link_token, body: { credentials: by_page } });
    const { username = '', password = '' } = server.people[at] ?? {};
    const form = new URLSearchParams({ username, password, decision: 'allow' });
    const page = await fetch(body.url, { method: 'POST', body: form, redirect: 'manual' });
    const query = new URL(page.headers.get('location') ?? '').search;
    const returned = { query, window: body.window, callback_id };
    expect((await call('POST', '/link/v1/oauth/finish', { body: returned })).status).toBe(200);
  }

  /** Links an account as the first person of the list. */
  async function linkByPage(org_id: string): Promise<{ account_id: string; public_token: string }> {
    const link_token = await steps.linkToken({ ...at_server(), org_id, user_id: org_id });
    await steps.consent(link_token);
    await signInOnPage(link_token, 0);
    const { body } = await call('POST', '/link/v1/sign-in', { link_token, ...way });
    return { account_id: body.practice.account_id, public_token: body.public_token };
  }
  const revocations = () => server.ledger.filter(({ path }) => path.endsWith('/revoke'));

  test('has a sign-in on the EMR’s own page, for the person who linked it', async () => {
    const { account_id } = await linkByPage('paged');
    const stored = () => fixture.owner`SELECT grant_sealed, status, linked_at FROM accounts WHERE id = ${account_id}`;
    const before = await stored();

    const own = await entry(account_id);
    const { ways } = (await call('GET', 'sign-in', { link_token: own })).body;
    expect(ways.map(({ name }: { name: string }) => name)).toStrictEqual(['authorization_code']);
    await signInOnPage(own, 0);
    const { session } = (await call('POST', 'sign-in', { link_token: own, ...way })).body;
    expect((await view(session)).body).toMatchObject({ account_id, status: 'active' });
    expect(await stored()).toStrictEqual(before);
  });

  test('is not shown to another user of the EMR, whose tokens are forgotten and not revoked', async () => {
    const link_token = await entry((await linkByPage('of-another')).account_id);
    await signInOnPage(link_token, 1);
    const response = await call('POST', 'sign-in', { link_token, ...way });
    expectApiError(response, 403, 'The account belongs to another user of the EMR.');
    // With some servers, an account that this person has linked would end with them.
    expect(revocations()).toStrictEqual([]);
    const left = await fixture.owner`SELECT FROM page_sign_ins WHERE link_token_hash = ${hashToken(link_token)}`;
    expect(left).toHaveLength(0);
  });

  test('is not opened by a token that names the person who linked it', async () => {
    const { account_id } = await linkByPage('by-token');
    const claims = Buffer.from(JSON.stringify({ fhirUser: server.people[0]?.fhir_user })).toString('base64url');
    const { access_token } = server.personTokens();
    for (const bearer_token of [`e30.${claims}.forged`, access_token]) {
      const link_token = await entry(account_id);
      const sent = server.ledger.length;
      // A server that says nothing about the token, because it refuses such a search first.
      server.fail({ kind: 'invalid', method: 'GET', path: '/Patient' });
      const body = { credentials: { way: 'bearer_token', bearer_token } };
      const response = await call('POST', 'sign-in', { link_token, body });
      server.reset();
      expect([response.status, response.body.code]).toStrictEqual([400, 'emr_page_required']);
      expect(server.ledger).toHaveLength(sent);
    }
  });

  test('is not re-linked by another user of the EMR, whose tokens are forgotten as well', async () => {
    const { account_id, public_token } = await linkByPage('re-linked');
    const { token: access_token } = (await steps.exchange(public_token)).body;
    const link_token = await steps.linkToken({
      ...{ ...at_server(), org_id: 're-linked', user_id: 're-linked', access_token },
    });
    await steps.consent(link_token);
    await signInOnPage(link_token, 1);
    const response = await call('POST', '/link/v1/sign-in', { link_token, ...way });
    expect(response.body.code).toBe('emr_user_mismatch');
    expect(revocations()).toStrictEqual([]);
    const left = await fixture.owner`SELECT FROM page_sign_ins WHERE link_token_hash = ${hashToken(link_token)}`;
    expect(left).toHaveLength(0);
    // The person who linked the account still can.
    await signInOnPage(link_token, 0);
    const again = await call('POST', '/link/v1/sign-in', { link_token, ...way });
    expect(again.body.practice?.account_id, JSON.stringify(again.body)).toBe(account_id);
  });

  test('has no sign-in if it was linked with credentials of a program', async () => {
    const link_token = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, org_id: 'program' });
    await steps.consent(link_token);
    const credentials = { way: 'bearer_token', bearer_token: server.bearerToken() };
    const { body } = await call('POST', '/link/v1/sign-in', { link_token, body: { credentials } });
    const entered = await call('POST', 'entry', { body: { account: body.practice.account_id } });
    expect(entered.body).toStrictEqual({ success: true, state: 'no_sign_in', token: null });
    // The link that Link shows still opens the page.
    const { session } = (await redeem(body.practice.pass)).body;
    expect((await view(session)).body).toMatchObject({ status: 'active', emr: new URL(server.url).host });
  });
});

test('every write that changes something in the EMR has a subject that the page can show', () => {
  const without = writes.filter(({ type, reads_only }) => !reads_only && !written_subjects.has(type));
  expect(without.map(({ type }) => type)).toStrictEqual([]);
});
