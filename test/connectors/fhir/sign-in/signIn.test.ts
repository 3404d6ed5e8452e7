import { describe, expect, test } from 'vitest';
import type { Credentials } from '../../../../src/emr/connector.ts';
import { fhir } from '../../../../src/emr/fhir/fhir.ts';
import { operations } from '../../../../src/emr/fhir/operations.ts';
import { pageSignIn } from '../../../../src/emr/fhir/sign-in/signIn.ts';
import { refreshTokens, requestTokens } from '../../../../src/emr/fhir/sign-in/tokens.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import {
  awaitFailure,
  createEndpoint,
  expectNoSecret,
  type FakeResponse,
  required,
  startFakeServer,
} from '../../larkspur/fixture.ts';
import { allowedOn, bySecret, newKeys, signedIn } from '../fixture.ts';

const return_address = 'http://127.0.0.1:21001/back';
const server = sharedFhirServer({ redirect_uris: [return_address], data: 'small' });

const byToken = (bearer_token = server.bearerToken()): Credentials => ({ way: 'bearer_token', bearer_token });

describe('a sign-in succeeds', () => {
  test('a sign-in succeeds with a bearer token, even with a trailing line break', async () => {
    const { grant, capabilities } = await signedIn(createEndpoint(server.url), byToken(`${server.bearerToken()}\n`));
    expect(grant.access_token).not.toMatch(/\s/);
    expect(grant).not.toHaveProperty('refresh_token');
    const offered = (capabilities ?? []).filter((name) => !name.includes('.'));
    expect(offered.toSorted()).toEqual(operations.map(({ operation }) => operation).sort());
  });

  test('a sign-in succeeds with client ID and secret', async () => {
    const { grant, user } = await signedIn(createEndpoint(server.url), bySecret(server));
    expect(Number(grant.expires_at)).toBeGreaterThan(Date.now());
    expect(user.ehr_id).toBe(server.clients.confidential.client_id);
  });

  test.each(['RS384', 'ES384'] as const)('a sign-in succeeds with an assertion signed by our key, %s', async (alg) => {
    const { keys, jwks } = await newKeys();
    const client_id = `signed-${alg}`;
    server.register({ client_id, jwks });
    server.faults.assertions_need_type = true;
    // A server that accepts one signature algorithm only.
    const endpoint = { ...createEndpoint(server.url), keys };
    const { fetch } = endpoint.outbound;
    endpoint.outbound.fetch = async (url, request) => {
      const response = await fetch(url, request);
      if (!String(url).endsWith('smart-configuration')) return response;
      const reported = JSON.parse(response.body.toString());
      const body = { ...reported, token_endpoint_auth_signing_alg_values_supported: [alg] };
      return { ...response, body: Buffer.from(JSON.stringify(body)) };
    };
    await signedIn(endpoint, { way: 'backend_services', client_id });
    const token_request = required(server.ledger.findLast(({ path }) => path.endsWith('/token')));
    const [head = ''] = (new URLSearchParams(token_request.body).get('client_assertion') ?? '').split('.');
    expect(JSON.parse(Buffer.from(head, 'base64url').toString())).toMatchObject({ alg, kid: `key-${alg}` });
  });

  test('on the EMR’s own page, with a code that is valid only with our verifier', async () => {
    const credentials = { way: 'authorization_code', client_id: server.clients.public.client_id };
    const endpoint = createEndpoint(server.url);
    const { url, pending } = await pageSignIn.start(endpoint, credentials, { return_address, state: 'state-1' });
    expect(url).not.toContain(pending.verifier);
    expect(new URL(url).searchParams.get('code_challenge_method')).toBe('S256');
    const returned = await allowedOn(server, url);
    // With another verifier the code is invalid, and it is used up.
    const other = await pageSignIn.finish(
      endpoint,
      credentials,
      { ...pending, verifier: 'x'.repeat(43) },
      new URL(returned),
    );
    expect(other).toEqual({ outcome: 'refused', reason: 'expired' });

    const outcome = await pageSignIn.finish(endpoint, credentials, pending, await allowedOn(server, url));
    if (outcome.outcome !== 'signed_in') throw new Error('not signed in');
    const { grant, user } = await signedIn(endpoint, credentials, outcome.grant);
    expect(grant).toMatchObject({ refresh_token: expect.any(String), access_token: expect.any(String) });
    expect(user).toMatchObject({ ehr_id: 'Practitioner/prac-1', name: expect.stringMatching(/\w/) });
  });

  test('on the EMR’s own page, but not with a foreign state', async () => {
    const credentials = { way: 'authorization_code', client_id: server.clients.public.client_id };
    const endpoint = createEndpoint(server.url);
    const { url, pending } = await pageSignIn.start(endpoint, credentials, { return_address, state: 'ours' });
    const returned = await allowedOn(server, url);
    returned.searchParams.set('state', 'theirs');
    const failure = await awaitFailure(pageSignIn.finish(endpoint, credentials, pending, returned));
    expect(failure.kind).toBe('unavailable');
    expectNoSecret(failure, { password: pending.verifier ?? '' });
  });

  test('on the EMR’s own page, unless the person declines', async () => {
    const credentials = { way: 'authorization_code', client_id: server.clients.public.client_id };
    const endpoint = createEndpoint(server.url);
    const { url, pending } = await pageSignIn.start(endpoint, credentials, { return_address, state: 'ours' });
    const outcome = await pageSignIn.finish(endpoint, credentials, pending, await allowedOn(server, url, 'deny'));
    expect(outcome).toEqual({ outcome: 'refused', reason: 'person' });
  });
});

describe('the user of a sign-in', () => {
  const jwtFor = (claims: object) =>
    `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${Buffer.from('signature').toString('base64url')}`;

  test.each<[string, string, string]>([
    ['the record named by a JWT', jwtFor({ sub: 'u1', fhirUser: 'Practitioner/prac-2' }), 'Practitioner/prac-2'],
    ['the subject of a JWT', jwtFor({ sub: 'u1' }), 'sub:u1'],
    ['unknown for any other token', 'opaque', 'bearer'],
  ])('the user of a bearer token is %s', async (_, bearer_token, ehr_id) => {
    const endpoint = createEndpoint(server.url);
    const { fetch } = endpoint.outbound;
    // The server accepts the token, whatever it is.
    const accepted = server.bearerToken();
    endpoint.outbound.fetch = (url, request) => {
      const { authorization } = request.headers ?? {};
      const headers = { ...request.headers, ...(authorization && { authorization: `Bearer ${accepted}` }) };
      return fetch(url, { ...request, headers });
    };
    expect((await signedIn(endpoint, byToken(bearer_token))).user.ehr_id).toBe(ehr_id);
  });
});

describe('signing out', () => {
  const reads = async (access_token: string | undefined) =>
    (await fetch(`${server.url}/Patient?_count=1`, { headers: { authorization: `Bearer ${access_token}` } })).status;

  test('revokes the refresh token and the access token', async () => {
    const credentials = { way: 'authorization_code', client_id: server.clients.public.client_id };
    const endpoint = createEndpoint(server.url);
    const { url, pending } = await pageSignIn.start(endpoint, credentials, { return_address, state: 'ours' });
    const outcome = await pageSignIn.finish(endpoint, credentials, pending, await allowedOn(server, url));
    if (outcome.outcome !== 'signed_in') throw new Error('not signed in');
    const { grant } = await signedIn(endpoint, credentials, outcome.grant);
    expect(await reads(grant.access_token)).toBe(200);
    expect(await fhir.signOut?.(endpoint, { credentials, grant })).toBe(true);
    expect(await reads(grant.access_token)).toBe(401);
    const authority = JSON.parse(grant.authority ?? '');
    const renewed = await refreshTokens({ endpoint, authority, credentials }, grant.refresh_token ?? '');
    expect(renewed).toStrictEqual({ refused: 'invalid_grant' });
    // Repeating it is not an error: the server does not know the tokens any more.
    expect(await fhir.signOut?.(endpoint, { credentials, grant })).toBe(true);
  });

  test('is not offered for a bearer token, which was issued to somebody else', async () => {
    const { grant } = await signedIn(createEndpoint(server.url), byToken());
    expect(await fhir.signOut?.(createEndpoint(server.url), { credentials: byToken(), grant })).toBe(false);
  });
});

test('lists that require criteria which no search can supply are not supported, at linking or later', async () => {
  server.faults.narrow = ['Patient', 'Appointment'];
  server.faults.withheld_params = { Patient: ['birthdate', 'active', 'name'], Appointment: ['date'] };
  const [lost, saved] = [
    ['listPatients', 'listAppointments'],
    ['findPatient', 'searchPatients', 'getAppointment', 'listLocations'],
  ];
  const { capabilities, grant } = await signedIn(createEndpoint(server.url), bySecret(server));
  expect(capabilities?.filter((name) => [...lost, ...saved].includes(name)).sort()).toEqual(saved.toSorted());
  const access = { credentials: bySecret(server), grant, saveGrant: async () => {} };
  expect(Object.keys(fhir.open(createEndpoint(server.url), access))).not.toContain('listPatients');
  // A server that is out of order says nothing about its lists.
  server.reset();
  for (const type of ['Patient', 'Appointment']) server.fail({ kind: 'error_500', method: 'GET', path: `/${type}?` });
  // Makes the next refresh return a change.
  server.faults.search_by_form = 'unknown';
  const unsure = await fhir.refreshCapabilities?.(createEndpoint(server.url), access);
  expect(unsure?.capabilities).toBeDefined();
  expect(unsure?.capabilities).not.toContain('listPatients');
  server.reset();
  expect((await fhir.refreshCapabilities?.(createEndpoint(server.url), access))?.capabilities).toEqual(
    expect.arrayContaining(lost),
  );
});

test('an unreachable, overloaded or malfunctioning server is unavailable, and no secret is revealed', async () => {
  const credentials = bySecret(server);
  for (const kind of ['error_500', 'too_many', 'html_500', 'reset', 'truncated'] as const) {
    for (const path of ['metadata', 'smart-configuration', '/auth/token', 'Patient']) {
      server.fail({ kind, path });
      const failure = await awaitFailure(fhir.signIn(createEndpoint(server.url), credentials, undefined));
      expect([failure.kind, kind, path]).toEqual(['unavailable', kind, path]);
      expectNoSecret(failure, { password: credentials.client_secret ?? '' });
      server.reset();
    }
  }
});

test.each([
  ['an OAuth error', { status: 400, json: { error: 'invalid_client' } }, 'refused'],
  ['a plain 401', { status: 401, raw: 'No.', headers: { 'content-type': 'text/plain' } }, 'refused'],
  ['a 401 with a challenge', { status: 401, raw: '', headers: { 'www-authenticate': 'Basic realm="x"' } }, 'refused'],
  ['temporarily unavailable', { status: 400, json: { error: 'temporarily_unavailable' } }, 'unavailable'],
  ['a custom OAuth error', { status: 500, json: { error: 'server_error' } }, 'unavailable'],
  ['too many requests', { status: 429, json: { error: 'slow_down' } }, 'unavailable'],
  ['a page', { status: 403, raw: '<html>', headers: { 'content-type': 'text/html' } }, 'unavailable'],
  [
    'a challenge without a 401',
    { status: 403, raw: '', headers: { 'www-authenticate': 'Basic realm="x"' } },
    'unavailable',
  ],
  ['no token', { json: { token_type: 'Bearer' } }, 'unavailable'],
  ['not JSON', { raw: '{' }, 'unavailable'],
] as [string, FakeResponse, string][])(
  'a token request with the response %s is classified',
  async (_name, response, expected) => {
    const fake = await startFakeServer(() => response);
    const outcome = await requestTokens({
      endpoint: createEndpoint(fake.url),
      authority: { token_endpoint: `${fake.url}/token` },
      credentials: bySecret(server),
    }).catch((error: unknown) => error);
    expect(outcome).toMatchObject(expected === 'refused' ? { refused: expect.any(String) } : { kind: expected });
    expectNoSecret(outcome, { password: server.clients.confidential.client_secret });
    await fake.close();
  },
);

describe('other software at the address', () => {
  const statement = (version: unknown) => ({
    resourceType: 'CapabilityStatement',
    fhirVersion: version,
    rest: [{ mode: 'server', resource: [{ type: 'Patient', interaction: [{ code: 'search-type' }] }] }],
  });
  const reported: [string, FakeResponse, string][] = [
    ['another version', { json: statement('5.0.0') }, 'The server uses FHIR 5.0.0. FHIR R4 (4.0) is required.'],
    ['DSTU2', { json: statement('1.0.2') }, 'The server uses FHIR 1.0.2. FHIR R4 (4.0) is required.'],
    ['no version', { json: statement(undefined) }, 'The server uses FHIR unknown. FHIR R4 (4.0) is required.'],
    ['another API', { json: { ok: true } }, 'There is no FHIR server at this address.'],
    [
      'a web site',
      { raw: '<html>Hello</html>', headers: { 'content-type': 'text/html' } },
      'There is no FHIR server at this address.',
    ],
    ['nothing', { status: 404, json: {} }, 'There is no FHIR server at this address.'],
  ];
  test.each(reported)(
    '%s is refused with a readable message and gets no credential',
    async (_name, response, message) => {
      const paths_called: string[] = [];
      const fake = await startFakeServer((request) => {
        paths_called.push(`${request.headers.authorization ?? ''}${request.body}`);
        return response;
      });
      const failure = await awaitFailure(fhir.signIn(createEndpoint(fake.url), bySecret(server), undefined));
      expect(failure).toMatchObject({ kind: 'refused', message });
      expect(paths_called.join('')).toBe('');
      await fake.close();
    },
  );
});
