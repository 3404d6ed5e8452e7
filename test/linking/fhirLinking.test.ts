import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { fhir } from '../../src/emr/fhir/fhir.ts';
import { apiAs, expectApiError, expectSchema } from '../api/support.ts';
import { statedTypes } from '../connectors/fhir/fixture.ts';
import type { Api } from '../harness/api.ts';
import { redirectUri, sandboxKeySet } from '../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';

let fixture: TestSandbox;
let server: FhirServer;
let steps: LinkSteps;
beforeAll(async () => {
  [fixture, server] = await Promise.all([
    startSandbox({ small: true, sync_after_link: false }),
    startFhirServer({ data: 'small' }),
  ]);
  steps = linkSteps(fixture);
  server.register({ client_id: 'by-key', jwks_url: sandboxKeySet(fixture) });
  server.register({ client_id: 'by-page', redirect_uris: [await redirectUri(fixture, server.url)] });
});
afterEach(() => server.reset());
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const createLinkToken = (body = {}) => steps.linkToken({ emr_name: 'FHIR', emr_instance_domain: server.url, ...body });
const signIn = (link_token: string, credentials: Record<string, string>) =>
  steps.signIn(link_token, 0, { credentials, one_time_code: undefined });
const bearerCredentials = () => ({ way: 'bearer_token', bearer_token: server.bearerToken() });

async function link(credentials: Record<string, string>, body = {}): Promise<Api & { access_token: string }> {
  const response = await signIn(await createLinkToken(body), credentials);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  const { token } = (await steps.exchange(response.body.public_token)).body;
  return { ...apiAs(fixture, { ...fixture.sandbox, access_token: token }), access_token: token };
}

describe('a FHIR server is linked', () => {
  test('a FHIR server is linked with a bearer token, with client ID and secret, and with our published keys', async () => {
    for (const credentials of [
      bearerCredentials(),
      { way: 'client_secret', ...server.clients.confidential },
      { way: 'backend_services', client_id: 'by-key' },
    ]) {
      const api = await link(credentials);
      const settings = await api.call('GET', '/v1/settings');
      expectSchema('settings.get', settings);
      expect(settings.body.data).toMatchObject({ emr_name: 'fhir' });
    }
    const { pathname } = new URL(sandboxKeySet(fixture));
    const { body, headers } = await fixture.api.call('GET', pathname, { headers: { access_token: null } });
    expect(body.keys.map(({ alg }: { alg: string }) => alg).sort()).toEqual(['ES384', 'RS384']);
    expect(headers.get('cache-control')).toContain('max-age');
  });

  test('a FHIR server is linked by key without counting the creation of the first keys against the time of the sign-in', async () => {
    await fixture.owner`DELETE FROM signing_keys`;
    const order: string[] = [];
    const generate = crypto.subtle.generateKey.bind(crypto.subtle);
    const generated = vi.spyOn(crypto.subtle, 'generateKey').mockImplementation((async (...args: never) => {
      const pair = await generate(...(args as Parameters<typeof generate>));
      order.push('key created');
      return pair;
    }) as typeof generate);
    const timer = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      if (ms === 30_000) order.push('time limit started');
      return new AbortController().signal;
    });
    try {
      await link({ way: 'backend_services', client_id: 'by-key' });
    } finally {
      timer.mockRestore();
      generated.mockRestore();
    }
    expect(order.slice(0, 3)).toStrictEqual(['key created', 'key created', 'time limit started']);
  });

  test('the credentials of a FHIR server are stored encrypted', async () => {
    const credentials = bearerCredentials();
    await link(credentials);
    const rows = await fixture.owner`SELECT accounts::text AS row FROM accounts`;
    const hex = Buffer.from(credentials.bearer_token).toString('hex');
    for (const { row } of rows) {
      expect(row).not.toContain(credentials.bearer_token);
      expect(row).not.toContain(hex);
    }
  });
});

describe('credentials with several sign-in methods', () => {
  test('require a known method with exactly its fields', async () => {
    const link_token = await createLinkToken();
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
      expectApiError(await signIn(link_token, credentials), 400, message, field);
    }
  });

  test('credentials that the EMR rejects can be corrected with the same link token', async () => {
    const link_token = await createLinkToken();
    const wrong = await signIn(link_token, { way: 'bearer_token', bearer_token: 'never issued' });
    expectApiError(wrong, 400, 'FHIR R4 rejected these credentials.');
    expect((await signIn(link_token, bearerCredentials())).status).toBe(200);
  });

  test('credentials for the EMR’s sign-in page are rejected without the page', async () => {
    const response = await signIn(await createLinkToken(), { way: 'authorization_code', client_id: 'by-page' });
    expectApiError(response, 400, 'FHIR R4 requires sign-in on its own page. Open it in Link.');
  });

  test('may contain a token of several thousand characters', async () => {
    const response = await signIn(await createLinkToken(), { way: 'bearer_token', bearer_token: 'x'.repeat(8000) });
    expectApiError(response, 400, 'FHIR R4 rejected these credentials.');
  });
});

describe('a refused sign-in', () => {
  const bySecret = () => ({ way: 'client_secret', ...server.clients.confidential });

  test('has a code for each reason', async () => {
    const refusals: [Partial<FhirServer['faults']>, Record<string, string>, string, string][] = [
      [
        { client_errors: 'described' },
        { ...bySecret(), client_id: 'x' },
        'emr_client_refused',
        'FHIR R4 does not recognize this client ID. FHIR R4 says: "Invalid client"',
      ],
      [
        { client_errors: 'described' },
        { ...bySecret(), client_secret: 'x' },
        'emr_secret_refused',
        'FHIR R4 rejected the client secret. FHIR R4 says: "Invalid secret"',
      ],
      [{}, { ...bySecret(), client_secret: 'x' }, 'emr_access_refused', 'FHIR R4 rejected these credentials.'],
      [
        {},
        { way: 'backend_services', client_id: 'x' },
        'emr_key_refused',
        `FHIR R4 does not accept our signing key for this client ID. Register our key set with it: ${sandboxKeySet(fixture)}`,
      ],
      [
        { services_need_key: true },
        bySecret(),
        'emr_method_refused',
        'FHIR R4 does not allow this sign-in method. credentials.way can be one of: backend_services, authorization_code, bearer_token',
      ],
    ];
    for (const [faults, credentials, code, message] of refusals) {
      Object.assign(server.faults, faults);
      const response = await signIn(await createLinkToken(), credentials);
      expect([response.status, response.body.code, response.body.message]).toEqual([400, code, message]);
      server.reset();
    }
    server.fail({ kind: 'invalid_scope', path: '/auth/token', times: 2 });
    const scope = await signIn(await createLinkToken(), bySecret());
    expectApiError(scope, 400, 'FHIR R4 does not grant this client the requested scopes: system/*.*');
    server.faults.forbidden = await statedTypes(server);
    const nothing = await signIn(await createLinkToken(), bearerCredentials());
    expectApiError(nothing, 400, 'FHIR R4 accepted the sign-in, but this account cannot read any records.');
    server.reset();
    server.fail({ kind: 'error_503', path: '/auth/token' });
    expectApiError(await signIn(await createLinkToken(), bySecret()), 503, /^FHIR R4 cannot be reached/);
  });

  test('names a server that cannot be used', async () => {
    const elsewhere = await createLinkToken({ emr_instance_domain: fixture.sandbox.base_url });
    const response = await signIn(elsewhere, bearerCredentials());
    expectApiError(response, 400, 'The EMR cannot be linked at this address: There is no FHIR server at this address.');
  });
});

describe('the capabilities of a server', () => {
  test('are read at linking and listed in settings; other operations are rejected', async () => {
    server.faults.withheld = { Patient: ['update'], Claim: 'all', DocumentReference: 'all', ServiceRequest: 'all' };
    const api = await link(bearerCredentials());
    const { capabilities } = (await api.call('GET', '/v1/settings')).body.data;
    expect(capabilities).toContain('createPatient');
    for (const missing of ['updatePatient', 'listClaims', 'uploadDocument', 'listOrders']) {
      expect(fhir.capabilities).toContain(missing);
      expect(capabilities).not.toContain(missing);
    }
    expectApiError(await api.call('GET', '/v1/claims'), 400, 'This EMR does not offer claims.');
    expectApiError(await api.call('GET', '/v1/orders?patient_mrn=1'), 400, 'This EMR does not offer orders.');
    expect((await api.call('GET', '/v1/patients')).status).toBe(200);
  });

  test('are read again when the account is re-linked', async () => {
    server.faults.withheld = { Claim: 'all' };
    const person = { user_id: 're-linked', org_id: 're-linked' };
    const api = await link(bearerCredentials(), person);
    expect((await api.call('GET', '/v1/claims')).status).toBe(400);
    server.reset();
    const again = await createLinkToken({ ...person, access_token: api.access_token });
    expect((await signIn(again, {})).status).toBe(200);
    expect((await api.call('GET', '/v1/claims')).status).toBe(200);
  });

  test('can be reached with another sign-in method of the same client after re-linking, but not as anyone', async () => {
    const person = { user_id: 'changes-method', org_id: 'changes-method' };
    const client = { client_id: 'changes-method', client_secret: 'a secret' };
    server.register(client);
    const api = await link({ way: 'client_secret', ...client }, person);
    const again = await createLinkToken({ ...person, access_token: api.access_token });
    // Nobody knows whose token this is.
    expect((await signIn(again, bearerCredentials())).body.code).toBe('emr_user_mismatch');
    const { client_id } = client;
    server.register({ client_id, jwks_url: sandboxKeySet(fixture) });
    const response = await signIn(again, { way: 'backend_services', client_id });
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    expect((await api.call('GET', '/v1/settings')).status).toBe(200);
  });

  test('keep the time zone of the practice if another account cannot read locations', async () => {
    const org_id = 'one-time-zone';
    const readZone = async (api: Api) => (await api.call('GET', '/v1/settings')).body.data.timezone;
    const first = await link(bearerCredentials(), { user_id: 'reads-locations', org_id });
    expect(await readZone(first)).toMatch(/^America/);
    const zone = await readZone(first);
    server.faults.withheld = { Location: 'all' };
    const second = await link(bearerCredentials(), { user_id: 'reads-no-locations', org_id });
    expect([await readZone(first), await readZone(second)]).toEqual([zone, zone]);
  });

  test('do not include what is restricted to Larkspur', async () => {
    server.faults.withheld = { Encounter: ['create'] };
    const api = await link(bearerCredentials());
    expectApiError(await api.callIn(), 400, 'Telephone encounters are only supported for Larkspur EMR.');
    const body = { first_name: 'A', last_name: 'B', dob: '1990-01-31', sex: 'unknown', release_of_info: true };
    const response = await api.call('POST', '/v1/patients', { body });
    expectApiError(response, 400, "Field 'release_of_info' is only supported for Larkspur EMR.", 'release_of_info');
  });

  test('the capabilities of Larkspur are always the same', async () => {
    const { capabilities } = (await fixture.api.call('GET', '/v1/settings')).body.data;
    expect(capabilities).toContain('createTelephoneEncounter');
  });
});

describe('a sign-in on the EMR’s page', () => {
  const credentials = { way: 'authorization_code', client_id: 'by-page' };
  const asLink = (method: string, path: string, link_token: string, body?: object) =>
    fixture.api.call(method, `/link/v1/${path}`, {
      headers: { access_token: null, client_id: null, client_secret: null, 'link-token': link_token },
      ...(body && { body }),
    });
  const finish = async (query: string, window: string) => {
    const callback_id = (await redirectUri(fixture, server.url)).split('/').at(-1);
    const body = { query, window, callback_id };
    return fixture.api.call('POST', '/link/v1/oauth/finish', { headers: { access_token: null }, body });
  };

  async function startPageSignIn(link_token: string) {
    await steps.consent(link_token);
    const { status, body } = await asLink('POST', 'oauth/start', link_token, { credentials });
    expect(status, JSON.stringify(body)).toBe(200);
    return body as { url: string; window: string };
  }

  /** Signs in on the EMR's page and returns the query of its redirect. */
  async function signInOnPage(url: string, decision = 'allow'): Promise<string> {
    const [person] = server.people;
    const form = new URLSearchParams({ username: person?.username ?? '', password: person?.password ?? '', decision });
    const page = await fetch(url, { method: 'POST', body: form, redirect: 'manual' });
    return new URL(page.headers.get('location') ?? '').search;
  }

  test('links the account without passing tokens through the browser', async () => {
    const link_token = await createLinkToken();
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ state: 'none', failure: null });
    const { url, window } = await startPageSignIn(link_token);
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ state: 'waiting' });
    const finished = await finish(await signInOnPage(url), window);
    expect(finished.body).toStrictEqual({ success: true });
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ state: 'signed_in' });
    const response = await asLink('POST', 'sign-in', link_token, { credentials: { way: 'authorization_code' } });
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    expect(response.body).toStrictEqual({
      success: true,
      public_token: expect.stringMatching(/^pt_/),
      return_to: null,
      practice: expect.objectContaining({ pass: expect.stringMatching(/^pp_/) }),
    });
    expect(await fixture.owner`SELECT FROM page_sign_ins`).toHaveLength(0);
    const [account] = await fixture.owner`SELECT emr_user_id FROM accounts ORDER BY linked_at DESC LIMIT 1`;
    expect(account?.emr_user_id).toBe('Practitioner/prac-1');
  });

  test('survives syncs that renew the token with a single-use refresh token', async () => {
    const link_token = await createLinkToken();
    const { url, window } = await startPageSignIn(link_token);
    await finish(await signInOnPage(url), window);
    const response = await asLink('POST', 'sign-in', link_token, { credentials: { way: 'authorization_code' } });
    const { token } = (await steps.exchange(response.body.public_token)).body;
    const api = apiAs(fixture, { ...fixture.sandbox, access_token: token });
    await api.sync();
    for (const broken of [false, true]) {
      server.expireTokens('access');
      // The capability statement is then read with the new token and is unusable.
      if (broken) server.fail({ kind: 'not_fhir', path: '/metadata' });
      const { body } = await api.call('POST', '/v1/sync', { body: {} });
      const statusOfSync = async () =>
        (await api.call('GET', `/v1/jobs/${body.job_id}`)).body.job?.status ?? 'login_required';
      await expect.poll(statusOfSync).not.toMatch(/queued|running/);
      expect(await statusOfSync()).toBe('succeeded');
    }
  });

  test('stores the verifier, the client and the tokens encrypted', async () => {
    const link_token = await createLinkToken();
    const { url, window } = await startPageSignIn(link_token);
    await finish(await signInOnPage(url), window);
    const [row] = await fixture.owner`SELECT page_sign_ins::text AS text FROM page_sign_ins`;
    const { searchParams } = new URL(url);
    for (const plain of ['by-page', searchParams.get('state') ?? '', window, link_token, 'verifier', 'access_token']) {
      expect(row?.text).not.toContain(plain);
      expect(row?.text).not.toContain(Buffer.from(plain).toString('hex'));
    }
    expect(row?.text).toContain(createHash('sha256').update(window).digest('hex'));
  });

  test('can be finished once, in the window that started it, within 15 minutes', async () => {
    const unknown = /^This sign-in was started in another window or has expired/;
    const link_token = await createLinkToken();
    const { url, window } = await startPageSignIn(link_token);
    const query = await signInOnPage(url);
    const other = await startPageSignIn(await createLinkToken());
    expectApiError(await finish(query, other.window), 400, unknown);
    expectApiError(await finish('?code=x&state=y', window), 400, unknown);
    expectApiError(await finish('?', 'x'), 400, unknown);
    const twice = await Promise.all([finish(query, window), finish(query, window)]);
    expect(twice.map(({ body }) => body.code ?? 'taken').sort()).toEqual(['page_sign_in_unknown', 'taken']);
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ state: 'signed_in', failure: null });

    const late = await startPageSignIn(await createLinkToken());
    await fixture.owner`UPDATE page_sign_ins SET created_at = created_at - interval '16 minutes'`;
    expectApiError(await finish(await signInOnPage(late.url), late.window), 400, unknown);
  });

  test('a sign-in on the EMR’s page that was declined or failed is reported and can be started again', async () => {
    const link_token = await createLinkToken();
    const first = await startPageSignIn(link_token);
    const declined = await finish(await signInOnPage(first.url, 'deny'), first.window);
    expectApiError(declined, 400, 'The sign-in at FHIR R4 was not completed.');
    const reported = { state: 'failed', failure: 'emr_page_declined' };
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject(reported);

    const second = await startPageSignIn(link_token);
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ state: 'waiting', failure: null });
    // The first window is no longer valid.
    expectApiError(await finish(await signInOnPage(first.url), first.window), 400, /started in another window/);
    server.fail({ kind: 'error_500', path: '/auth/token' });
    expect((await finish(await signInOnPage(second.url), second.window)).status).toBe(503);
    expect((await asLink('GET', 'oauth/state', link_token)).body).toMatchObject({ failure: 'emr_unavailable' });

    const third = await startPageSignIn(link_token);
    expect((await finish(await signInOnPage(third.url), third.window)).status).toBe(200);
    expect((await asLink('POST', 'sign-in', link_token, { credentials: { way: 'authorization_code' } })).status).toBe(
      200,
    );
  });

  test('is not started for a sign-in method without a page, or with an invalid link', async () => {
    const link_token = await createLinkToken();
    await steps.consent(link_token);
    expectApiError(
      await asLink('POST', 'oauth/start', link_token, { credentials: bearerCredentials() }),
      400,
      /does not use an EMR page/,
    );
    const larkspur = await steps.linkToken();
    await steps.consent(larkspur);
    const { username = '', password = '' } = fixture.sandbox.larkspur.staff[0] ?? {};
    const body = { credentials: { username, password } };
    expectApiError(await asLink('POST', 'oauth/start', larkspur, body), 400, /does not use an EMR page/);
    expect((await asLink('POST', 'oauth/start', 'lt_nobody', { credentials })).status).toBe(404);
    expect((await asLink('GET', 'oauth/state', 'lt_nobody')).status).toBe(404);
  });
});
