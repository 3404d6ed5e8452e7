import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Credentials, EmrEndpoint } from '../../../../src/emr/connector.ts';
import { fhir } from '../../../../src/emr/fhir/fhir.ts';
import { discoverAuthorization } from '../../../../src/emr/fhir/sign-in/authorizationServer.ts';
import { pageSignIn } from '../../../../src/emr/fhir/sign-in/signIn.ts';
import { createClient } from '../../../../src/emr/fhir/transport/client.ts';
import { type FhirServer, startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { awaitFailure, createEndpoint, required } from '../../larkspur/fixture.ts';
import { allowedOn, bySecret, newKeys, signedIn } from '../fixture.ts';

const return_address = 'http://127.0.0.1:21001/back';
let server: FhirServer;
beforeAll(async () => {
  server = await startFhirServer({ redirect_uris: [return_address], data: 'small' });
});
afterEach(() => {
  server.reset();
  server.ledger.length = 0;
});
afterAll(() => server.close());

const tokenRequests = () => server.ledger.filter(({ path }) => path.endsWith('/token'));
const scopesAsked = () => tokenRequests().map(({ body }) => new URLSearchParams(body).get('scope'));

async function onPage(credentials: Credentials, endpoint: EmrEndpoint = createEndpoint(server.url)) {
  const way = { way: 'authorization_code', ...credentials };
  const { url, pending } = await pageSignIn.start(endpoint, way, { return_address, state: 's' });
  const outcome = await pageSignIn.finish(endpoint, way, pending, await allowedOn(server, url));
  if (outcome.outcome !== 'signed_in') throw new Error(`not signed in: ${JSON.stringify(outcome)}`);
  return { url: new URL(url), ...(await signedIn(endpoint, way, outcome.grant)) };
}

describe('a client secret', () => {
  test('is accepted by a server that does not decode HTTP Basic credentials', async () => {
    server.faults.basic_credentials = 'verbatim';
    await signedIn(createEndpoint(server.url), bySecret(server));
    expect(tokenRequests()).toHaveLength(1);
  });

  test('is accepted by a server that takes it only in the body, and renewed in that way at once', async () => {
    server.faults.basic_credentials = 'refused';
    const credentials = bySecret(server);
    const { grant } = await signedIn(createEndpoint(server.url), credentials);
    expect(tokenRequests()).toHaveLength(2);
    server.expireTokens('access');
    server.ledger.length = 0;
    const client = createClient(createEndpoint(server.url), { credentials, grant, saveGrant: async () => {} });
    await client.searchAll('Location', {});
    expect(tokenRequests()).toHaveLength(1);
  });

  test('is sent in the body at once if the server lists only that', async () => {
    server.faults.auth_methods = ['client_secret_post'];
    await signedIn(createEndpoint(server.url), bySecret(server));
    expect(tokenRequests().map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  test.each(['decoded', 'verbatim'] as const)(
    'a client secret with special characters is accepted (Basic credentials %s)',
    async (reading) => {
      server.faults.basic_credentials = reading;
      const client = { client_id: 'a client:with_all.of-them~', client_secret: 'p+l/u=s % ü:!' };
      server.register(client);
      await signedIn(createEndpoint(server.url), { way: 'client_secret', ...client });
    },
  );

  test('a client secret of a person’s application is sent in the other way with the same code', async () => {
    server.faults.basic_credentials = 'refused';
    const client = { client_id: 'with-secret', client_secret: 'right', redirect_uris: [return_address] };
    server.register(client);
    const { user } = await onPage({ client_id: 'with-secret', app_secret: 'right' });
    expect(user.ehr_id).toBe('Practitioner/prac-1');
  });
});

describe('an ID token', () => {
  test('an ID token that was not requested is ignored, whatever its algorithm and claims', async () => {
    server.faults.unasked_id_token = true;
    const { user } = await signedIn(createEndpoint(server.url), bySecret(server));
    expect(user.ehr_id).toBe(server.clients.confidential.client_id);
    const { keys, jwks } = await newKeys();
    server.register({ client_id: 'signed', jwks });
    await signedIn({ ...createEndpoint(server.url), keys }, { way: 'backend_services', client_id: 'signed' });
  });

  test('an ID token of a person is requested with a nonce, which is new for every sign-in', async () => {
    server.faults.nonce = 'always';
    const client_id = server.clients.public.client_id;
    const nonces = [await onPage({ client_id }), await onPage({ client_id })].map(({ url }) =>
      url.searchParams.get('nonce'),
    );
    expect(new Set(nonces).size).toBe(2);
    expect(nonces).not.toContain(null);
  });

  test('an ID token with another nonce is refused', async () => {
    const endpoint = createEndpoint(server.url);
    const credentials = { way: 'authorization_code', client_id: server.clients.public.client_id };
    const { url, pending } = await pageSignIn.start(endpoint, credentials, { return_address, state: 's' });
    const returned = await allowedOn(server, url);
    const failure = await awaitFailure(
      pageSignIn.finish(endpoint, credentials, { ...pending, nonce: 'other' }, returned),
    );
    const message = 'The EMR sent an ID token that is not valid for this sign-in.';
    expect(failure).toMatchObject({ kind: 'refused', message });
  });

  test('a sign-in succeeds without the ID token that was requested', async () => {
    server.faults.no_id_token = true;
    const { user } = await onPage({ client_id: server.clients.public.client_id });
    expect(user.name).toBe(server.clients.public.client_id);
    expect(tokenRequests()).toHaveLength(1);
  });

  test('is not requested, and needs no nonce, if the server does not list it', async () => {
    Object.assign(server.faults, { scopes: ['offline_access', 'user/*.*'], nonce: 'always' });
    const { url } = await onPage({ client_id: server.clients.public.client_id });
    expect(url.searchParams.has('nonce')).toBe(false);
  });
});

describe('a malformed discovery document', () => {
  test.each(['nested', 'mistyped'] as const)('is used as far as it is readable: %s', async (discovery) => {
    Object.assign(server.faults, { discovery, scopes: ['system/Patient.read', 'system/Location.read'] });
    server.faults.scope_policy = 'all_or_nothing';
    const { grant, capabilities } = await signedIn(createEndpoint(server.url), bySecret(server));
    expect(scopesAsked()).toEqual(['system/Patient.read system/Location.read']);
    expect(grant.scope).toBe('system/Patient.read system/Location.read');
    expect(capabilities).toContain('listPatients');
    expect(capabilities).not.toContain('listClaims');
  });

  test('names the authentication methods in a nested list', async () => {
    Object.assign(server.faults, { discovery: 'nested', auth_methods: ['client_secret_post'] });
    const authority = await discoverAuthorization(createEndpoint(server.url), { closed: true });
    expect(authority).toMatchObject({ auth_methods: ['client_secret_post'], token_endpoint: `${server.issuer}/token` });
  });
});

describe('the scopes', () => {
  test('the scopes of operations are not requested with those of records', async () => {
    const scopes = ['system/Patient.read', 'system/*.$export', 'system/Group.$export', 'api:fhir', 'user/Patient.read'];
    server.faults.scopes = scopes;
    await signedIn(createEndpoint(server.url), bySecret(server));
    expect(scopesAsked()).toEqual(['api:fhir system/Patient.read']);
  });

  test('are left out once if the server refuses them, and at once when the token is renewed', async () => {
    server.faults.scope_policy = 'registered_only';
    const credentials = bySecret(server);
    const { grant } = await signedIn(createEndpoint(server.url), credentials);
    expect(scopesAsked()).toEqual(['system/*.*', null]);
    server.expireTokens('access');
    server.ledger.length = 0;
    const client = createClient(createEndpoint(server.url), { credentials, grant, saveGrant: async () => {} });
    await client.searchAll('Location', {});
    expect(scopesAsked()).toEqual([null]);
  });
});

describe('the offered ways to sign in', () => {
  const offered = async () => (await required(fhir.offeredWays)(createEndpoint(server.url)))?.ways;
  const all = ['backend_services', 'client_secret', 'authorization_code', 'bearer_token'];

  test('are those that discovery allows', async () => {
    expect(await offered()).toEqual(all);
    const { sign_in_page } = required(await required(fhir.offeredWays)(createEndpoint(server.url)));
    expect(sign_in_page).toBe(`${server.issuer}/authorize`);
    server.faults.auth_methods = ['private_key_jwt'];
    expect(await offered()).toEqual(['backend_services', 'authorization_code', 'bearer_token']);
    server.faults.auth_methods = ['client_secret_post'];
    expect(await offered()).toEqual(['client_secret', 'authorization_code', 'bearer_token']);
  });

  test('are not limited by a list that is missing or unreadable', async () => {
    Object.assign(server.faults, { auth_methods: [], discovery: 'nested' });
    expect(await offered()).toEqual(all);
  });

  test('are unknown without a SMART configuration', async () => {
    server.fail({ kind: 'empty', path: 'smart-configuration' });
    expect(await offered()).toBeUndefined();
  });
});
