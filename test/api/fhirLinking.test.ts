import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fhir } from '../../src/connectors/fhir/fhir.ts';
import type { Api } from '../harness/api.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';
import { apiOf, expectRefusal, expectSchema } from './support.ts';

let world: TestSandbox;
let server: FhirServer;
let steps: LinkSteps;
beforeAll(async () => {
  [world, server] = await Promise.all([startSandbox({ small: true }), startFhirServer({ data: 'small' })]);
  steps = linkSteps(world);
  const { base_url } = world.sandbox;
  server.register({ client_id: 'by-key', jwks_url: `${base_url}/.well-known/jwks.json` });
  server.register({ client_id: 'by-page', redirect_uris: [`${base_url}/link/v1/oauth/callback`] });
});
afterEach(() => server.reset());
afterAll(async () => {
  await world.close();
  await server.close();
});

const tokenFor = (body = {}) => steps.linkToken({ emr_name: 'FHIR', emr_instance_domain: server.url, ...body });
const signIn = (link_token: string, credentials: Record<string, string>) =>
  steps.signIn(link_token, 0, { credentials, one_time_code: undefined });
const byToken = () => ({ way: 'bearer_token', bearer_token: server.bearerToken() });

async function linked(credentials: Record<string, string>, body = {}): Promise<Api & { access_token: string }> {
  const answer = await signIn(await tokenFor(body), credentials);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const { token } = (await steps.exchange(answer.body.public_token)).body;
  return { ...apiOf(world, { ...world.sandbox, access_token: token }), access_token: token };
}

describe('a FHIR server is linked', () => {
  test('by a bearer token, by client ID and secret, and by our published keys', async () => {
    for (const credentials of [
      byToken(),
      { way: 'client_secret', ...server.clients.confidential },
      { way: 'backend_services', client_id: 'by-key' },
    ]) {
      const api = await linked(credentials);
      const settings = await api.call('GET', '/v1/settings');
      expectSchema('settings.get', settings);
      expect(settings.body.data).toMatchObject({ emr_name: 'fhir' });
    }
    const { body, headers } = await world.api.call('GET', '/.well-known/jwks.json', {
      headers: { access_token: null },
    });
    expect(body.keys.map(({ alg }: { alg: string }) => alg).sort()).toEqual(['ES384', 'RS384']);
    expect(headers.get('cache-control')).toContain('max-age');
  });

  test('whose credentials stand sealed in the database and nowhere else', async () => {
    const credentials = byToken();
    await linked(credentials);
    const rows = await world.owner`SELECT accounts::text AS row FROM accounts`;
    const hex = Buffer.from(credentials.bearer_token).toString('hex');
    for (const { row } of rows) {
      expect(row).not.toContain(credentials.bearer_token);
      expect(row).not.toContain(hex);
    }
  });
});

describe('credentials of several ways', () => {
  test('name the way, one that there is, with its fields and no others', async () => {
    const link_token = await tokenFor();
    const cases: [Record<string, string>, string, string?][] = [
      [{}, 'Missing required field: credentials.way', 'credentials.way'],
      [
        { way: 'carrier_pigeon' },
        'credentials.way must be one of: backend_services, client_secret, authorization_code, bearer_token',
        'credentials.way',
      ],
      [{ way: 'client_secret', client_id: 'x' }, 'Missing required field: credentials.client_secret'],
      [
        { way: 'bearer_token', bearer_token: 'x', client_id: 'y' },
        'Unexpected fields in request body: credentials.client_id',
      ],
    ];
    for (const [credentials, message, field] of cases) {
      expectRefusal(await signIn(link_token, credentials), 400, message, field);
    }
  });

  test('that the EMR does not take are reported so, and can be corrected with the same link token', async () => {
    const link_token = await tokenFor();
    const wrong = await signIn(link_token, { way: 'bearer_token', bearer_token: 'never given out' });
    expectRefusal(wrong, 400, 'FHIR R4 rejected these credentials.');
    expect((await signIn(link_token, byToken())).status).toBe(200);
  });

  test('of the EMR’s own page lead nowhere without the page', async () => {
    const answer = await signIn(await tokenFor(), { way: 'authorization_code', client_id: 'by-page' });
    expectRefusal(answer, 400, 'FHIR R4 requires sign-in on its own page. Open it in Link.');
  });

  test('a token of several thousand characters is taken as it is', async () => {
    const answer = await signIn(await tokenFor(), { way: 'bearer_token', bearer_token: 'x'.repeat(8000) });
    expectRefusal(answer, 400, 'FHIR R4 rejected these credentials.');
  });
});

test('a server that cannot be used is refused at linking, with the reason', async () => {
  for (const [types, reason] of [[['Patient'], 'This account cannot read Patient records on the server.']] as const) {
    server.faults.forbidden = types;
    expectRefusal(await signIn(await tokenFor(), byToken()), 400, `FHIR R4 rejected the sign-in: ${reason}`);
  }
  const elsewhere = await tokenFor({ emr_instance_domain: world.sandbox.base_url });
  expectRefusal(await signIn(elsewhere, byToken()), 400, /^FHIR R4 rejected the sign-in: There is no FHIR server/);
});

describe('what this very server can do', () => {
  test('is found out at linking, reported by settings, and all else is refused at once', async () => {
    server.faults.withheld = { Patient: ['update'], Claim: 'all', DocumentReference: 'all', ServiceRequest: 'all' };
    const api = await linked(byToken());
    const { capabilities } = (await api.call('GET', '/v1/settings')).body.data;
    expect(capabilities).toContain('createPatient');
    for (const missing of ['updatePatient', 'listClaims', 'uploadDocument', 'listOrders']) {
      expect(fhir.capabilities).toContain(missing);
      expect(capabilities).not.toContain(missing);
    }
    expectRefusal(await api.call('GET', '/v1/claims'), 400, 'This EMR does not offer claims.');
    expectRefusal(await api.call('GET', '/v1/orders?patient_mrn=1'), 400, 'This EMR does not offer orders.');
    expect((await api.call('GET', '/v1/patients')).status).toBe(200);
  });

  test('is found out anew when the account is linked again', async () => {
    server.faults.withheld = { Claim: 'all' };
    const person = { user_id: 'twice', org_id: 'twice' };
    const api = await linked(byToken(), person);
    expect((await api.call('GET', '/v1/claims')).status).toBe(400);
    server.reset();
    const again = await tokenFor({ ...person, access_token: api.access_token });
    expect((await signIn(again, {})).status).toBe(200);
    expect((await api.call('GET', '/v1/claims')).status).toBe(200);
  });

  test('may be signed in to by another way than before, of which nothing is kept', async () => {
    const person = { user_id: 'changes', org_id: 'changes' };
    const api = await linked({ way: 'client_secret', ...server.clients.confidential }, person);
    const again = await tokenFor({ ...person, access_token: api.access_token });
    const answer = await signIn(again, byToken());
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect((await api.call('GET', '/v1/settings')).status).toBe(200);
  });

  test('does not move the clock of a practice when another account sees none of its places', async () => {
    const org_id = 'one-clock';
    const zoneOf = async (api: Api) => (await api.call('GET', '/v1/settings')).body.data.timezone;
    const first = await linked(byToken(), { user_id: 'sees-places', org_id });
    expect(await zoneOf(first)).toMatch(/^America/);
    const zone = await zoneOf(first);
    server.faults.withheld = { Location: 'all' };
    const second = await linked(byToken(), { user_id: 'sees-none', org_id });
    expect([await zoneOf(first), await zoneOf(second)]).toEqual([zone, zone]);
  });

  test('does not change what no FHIR server is meant for', async () => {
    const api = await linked(byToken());
    expectRefusal(await api.callIn(), 400, 'Telephone encounters are only supported for Larkspur EMR.');
    const body = { first_name: 'A', last_name: 'B', dob: '1990-01-31', sex: 'unknown', language: 'English' };
    const answer = await api.call('POST', '/v1/patients', { body });
    expectRefusal(answer, 400, "Field 'language' is only supported for Larkspur EMR.", 'language');
  });

  test('of an EMR that always offers the same is that', async () => {
    const { capabilities } = (await world.api.call('GET', '/v1/settings')).body.data;
    expect(capabilities).toContain('createTelephoneEncounter');
  });
});

describe('a sign-in on the EMR’s own page', () => {
  const credentials = { way: 'authorization_code', client_id: 'by-page' };
  const asLink = (method: string, path: string, link_token: string, body?: object) =>
    world.api.call(method, `/link/v1/${path}`, {
      headers: { access_token: null, client_id: null, client_secret: null, 'link-token': link_token },
      ...(body && { body }),
    });
  const finish = (query: string, window: string) =>
    world.api.call('POST', '/link/v1/oauth/finish', { headers: { access_token: null }, body: { query, window } });

  async function started(link_token: string) {
    const { status, body } = await asLink('POST', 'oauth/start', link_token, { credentials });
    expect(status, JSON.stringify(body)).toBe(200);
    return body as { url: string; window: string };
  }

  /** What the EMR sends the person's browser back with. */
  async function allowed(url: string, answer = 'allow'): Promise<string> {
    const [person] = server.people;
    const form = new URLSearchParams({ username: person?.username ?? '', password: person?.password ?? '', answer });
    const page = await fetch(url, { method: 'POST', body: form, redirect: 'manual' });
    return new URL(page.headers.get('location') ?? '').search;
  }

  test('links the account, and nothing that the EMR gave passes through the browser', async () => {
    const link_token = await tokenFor();
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ state: 'none', failure: null });
    const { url, window } = await started(link_token);
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ state: 'waiting' });
    const finished = await finish(await allowed(url), window);
    expect(finished.body).toStrictEqual({ success: true });
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ state: 'signed_in' });
    const answer = await asLink('POST', 'sign-in', link_token, { credentials: { way: 'authorization_code' } });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(answer.body).toStrictEqual({ success: true, public_token: expect.stringMatching(/^pt_/), return_to: null });
    expect(await world.owner`SELECT FROM page_sign_ins`).toHaveLength(0);
    const [account] = await world.owner`SELECT emr_user_id FROM accounts ORDER BY linked_at DESC LIMIT 1`;
    expect(account?.emr_user_id).toBe('Practitioner/prac-1');
  });

  test('lasts through syncs that renew a token whose refresh token is good for one time', async () => {
    const link_token = await tokenFor();
    const { url, window } = await started(link_token);
    await finish(await allowed(url), window);
    const answer = await asLink('POST', 'sign-in', link_token, { credentials: { way: 'authorization_code' } });
    const { token } = (await steps.exchange(answer.body.public_token)).body;
    const api = apiOf(world, { ...world.sandbox, access_token: token });
    await api.sync();
    for (const broken of [false, true]) {
      server.expireTokens('access');
      // What the server can do is then asked for with the new token, and not reported.
      if (broken) server.fail({ kind: 'not_fhir', path: '/metadata' });
      const { body } = await api.call('POST', '/v1/sync', { body: {} });
      const ends = async () => (await api.call('GET', `/v1/jobs/${body.job_id}`)).body.job?.status ?? 'login_required';
      await expect.poll(ends, { timeout: 25_000 }).not.toMatch(/queued|running/);
      expect(await ends()).toBe('succeeded');
    }
  });

  test('keeps the verifier, the client and what the EMR gave sealed', async () => {
    const link_token = await tokenFor();
    const { url, window } = await started(link_token);
    await finish(await allowed(url), window);
    const [row] = await world.owner`SELECT page_sign_ins::text AS text FROM page_sign_ins`;
    const { searchParams } = new URL(url);
    for (const plain of ['by-page', searchParams.get('state') ?? '', window, link_token, 'verifier', 'access_token']) {
      expect(row?.text).not.toContain(plain);
      expect(row?.text).not.toContain(Buffer.from(plain).toString('hex'));
    }
    expect(row?.text).toContain(createHash('sha256').update(window).digest('hex'));
  });

  test('is taken up once, in the window that began it, and not after a quarter of an hour', async () => {
    const unknown = /^This sign-in was started in another window or has expired/;
    const link_token = await tokenFor();
    const { url, window } = await started(link_token);
    const query = await allowed(url);
    const other = await started(await tokenFor());
    expectRefusal(await finish(query, other.window), 400, unknown);
    expectRefusal(await finish('?code=x&state=y', window), 400, unknown);
    expectRefusal(await finish('?', 'x'), 400, unknown);
    const twice = await Promise.all([finish(query, window), finish(query, window)]);
    expect(twice.map(({ body }) => body.code ?? 'taken').sort()).toEqual(['page_sign_in_unknown', 'taken']);
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ state: 'signed_in', failure: null });

    const late = await started(await tokenFor());
    await world.owner`UPDATE page_sign_ins SET created_at = created_at - interval '16 minutes'`;
    expectRefusal(await finish(await allowed(late.url), late.window), 400, unknown);
  });

  test('that was declined or came to nothing is reported so, and can be begun again', async () => {
    const link_token = await tokenFor();
    const first = await started(link_token);
    const declined = await finish(await allowed(first.url, 'deny'), first.window);
    expectRefusal(declined, 400, 'The sign-in at FHIR R4 was not completed.');
    const reported = { state: 'failed', failure: 'emr_page_declined' };
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject(reported);

    const second = await started(link_token);
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ state: 'waiting', failure: null });
    // What the first window still brings back is of no use.
    expectRefusal(await finish(await allowed(first.url), first.window), 400, /started in another window/);
    server.fail({ kind: 'error_500', path: '/auth/token' });
    expect((await finish(await allowed(second.url), second.window)).status).toBe(503);
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ failure: 'emr_unavailable' });

    const third = await started(link_token);
    expect((await finish(await allowed(third.url), third.window)).status).toBe(200);
    expect((await asLink('POST', 'sign-in', link_token, { credentials: { way: 'authorization_code' } })).status).toBe(
      200,
    );
  });

  test('is not started for a sign-in method without a page, or with an invalid link', async () => {
    const link_token = await tokenFor();
    expectRefusal(
      await asLink('POST', 'oauth/start', link_token, { credentials: byToken() }),
      400,
      /does not use an EMR page/,
    );
    const larkspur = await steps.linkToken();
    const { username = '', password = '' } = world.sandbox.larkspur.staff[0] ?? {};
    const body = { credentials: { username, password } };
    expectRefusal(await asLink('POST', 'oauth/start', larkspur, body), 400, /does not use an EMR page/);
    expect((await asLink('POST', 'oauth/start', 'lt_nobody', { credentials })).status).toBe(404);
    expect((await asLink('GET', 'oauth/state', 'lt_nobody')).status).toBe(404);
  });
});
