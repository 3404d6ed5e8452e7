import { describe, expect, test } from 'vitest';
import type { Credentials, SignIn } from '../../../../src/emr/connector.ts';
import { fhir } from '../../../../src/emr/fhir/fhir.ts';
import { type TokenRefusal, toRefusal } from '../../../../src/emr/fhir/sign-in/refusals.ts';
import { pageSignIn } from '../../../../src/emr/fhir/sign-in/signIn.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { allowedOn, bySecret, newKeys, statedTypes } from '../fixture.ts';

const return_address = 'http://127.0.0.1:21001/back';
const server = sharedFhirServer({ redirect_uris: [return_address], data: 'small' });

const signIn = (credentials: Credentials, endpoint = createEndpoint(server.url)): Promise<SignIn> =>
  fhir.signIn(endpoint, credentials, undefined);
const byToken = (bearer_token: string): Credentials => ({ way: 'bearer_token', bearer_token });
const wrongSecret = () => ({ ...bySecret(server), client_secret: 'of last year' });
const unknownClient = () => ({ ...bySecret(server), client_id: 'nobody' });

/** Signs in by a key that the server does not have for this client. */
async function byOtherKey(client_id: string): Promise<SignIn> {
  const { jwks } = await newKeys();
  server.register({ client_id: 'other-keys', jwks });
  const { keys } = await newKeys();
  return signIn({ way: 'backend_services', client_id }, { ...createEndpoint(server.url), keys });
}

describe('a refused sign-in says which it was', () => {
  test('a bearer token, or nobody on the page: access', async () => {
    const refused = { outcome: 'refused', reason: 'access' };
    expect(await signIn(byToken('never-given-out'))).toEqual(refused);
    expect(await signIn({ way: 'authorization_code', client_id: 'x' })).toEqual(refused);
  });

  test('the client or the secret, if the server does not say which: access', async () => {
    const refused = { outcome: 'refused', reason: 'access' };
    expect(await signIn(wrongSecret())).toEqual(refused);
    expect(await signIn(unknownClient())).toEqual(refused);
  });

  test('the client and the secret apart, if the server says so', async () => {
    server.faults.client_errors = 'described';
    const refused = { outcome: 'refused' };
    expect(await signIn(wrongSecret())).toEqual({ ...refused, reason: 'secret', emr_message: 'Invalid secret' });
    expect(await signIn(unknownClient())).toEqual({ ...refused, reason: 'client', emr_message: 'Invalid client' });
  });

  test('the secret, even if the server ignores the first way in which it is sent', async () => {
    Object.assign(server.faults, { client_errors: 'described', basic_credentials: 'refused' });
    expect(await signIn(wrongSecret())).toMatchObject({ outcome: 'refused', reason: 'secret' });
  });

  test('the key', async () => {
    expect(await byOtherKey('other-keys')).toEqual({ outcome: 'refused', reason: 'key' });
  });

  test('the client of a key, if the server says so', async () => {
    server.faults.client_errors = 'described';
    expect(await byOtherKey('nobody')).toMatchObject({ outcome: 'refused', reason: 'client' });
    expect(await byOtherKey('other-keys')).toMatchObject({ outcome: 'refused', reason: 'key' });
  });

  test('the scopes, with those that were requested', async () => {
    Object.assign(server.faults, { scopes: ['patient/*.read'], scope_policy: 'all_or_nothing' });
    server.fail({ kind: 'invalid_scope', path: '/auth/token', times: Number.POSITIVE_INFINITY });
    const scopes = 'system/*.read system/*.write';
    expect(await signIn(bySecret(server))).toEqual({ outcome: 'refused', reason: 'scope', scopes });
  });

  test('the method, with the others that the server supports', async () => {
    server.faults.services_need_key = true;
    const refused = { outcome: 'refused', reason: 'method' };
    expect(await signIn(bySecret(server))).toEqual({
      ...refused,
      supported_ways: ['backend_services', 'authorization_code', 'bearer_token'],
    });
    server.reset();
    // A secret that is refused because the server takes none is not a wrong secret.
    server.faults.auth_methods = ['private_key_jwt'];
    expect(await signIn(wrongSecret())).toMatchObject({
      ...refused,
      supported_ways: expect.not.arrayContaining(['client_secret']),
    });
  });

  test('the method, if only a hint of the server says so, with the hint', async () => {
    Object.assign(server.faults, { services_need_key: true, client_errors: 'hinted' });
    expect(await signIn(bySecret(server))).toMatchObject({
      reason: 'method',
      supported_ways: expect.not.arrayContaining(['client_secret']),
      emr_message: expect.stringContaining('assertion type is not supported'),
    });
  });

  test('not in the words of the server, if they repeat the secret, are no readable text, or are too long', () => {
    const authority = { token_endpoint: 'https://emr.example/token' };
    const quoted = (description: string) =>
      toRefusal({ refused: 'invalid_client', description }, wrongSecret(), authority).emr_message;
    expect(quoted('The secret of last year is wrong.')).toBeUndefined();
    expect(quoted('<html><h1>Error</h1></html>')).toBeUndefined();
    expect(quoted('Line one\r\nline two')).toBe('Line one line two');
    expect(quoted('x'.repeat(5000))).toHaveLength(300);
  });

  test('the rights of the account, if it cannot read any records', async () => {
    server.faults.forbidden = await statedTypes(server);
    expect(await signIn(byToken(server.bearerToken()))).toEqual({ outcome: 'refused', reason: 'no_records' });
  });

  test('not at all, if the account can read some records', async () => {
    server.faults.forbidden = ['Patient'];
    expect(await signIn(byToken(server.bearerToken()))).toMatchObject({ outcome: 'signed_in' });
  });

  test('not as wrong credentials, if the server does not accept the token that it issued', async () => {
    server.faults.token_uses_max = 0;
    const failure = await awaitFailure(signIn(bySecret(server)));
    const message = 'The server issued a token and then did not accept it.';
    expect(failure).toMatchObject({ kind: 'refused', message });
  });
});

describe('a refused sign-in on the EMR’s own page says which it was', () => {
  async function onPage(credentials: Credentials) {
    const endpoint = createEndpoint(server.url);
    const way = { way: 'authorization_code', ...credentials };
    const { url, pending } = await pageSignIn.start(endpoint, way, { return_address, state: 's' });
    return pageSignIn.finish(endpoint, way, pending, await allowedOn(server, url));
  }

  test('the secret, because the page accepted the client', async () => {
    server.register({ client_id: 'with-secret', client_secret: 'right', redirect_uris: [return_address] });
    const outcome = await onPage({ client_id: 'with-secret', app_secret: 'wrong' });
    expect(outcome).toEqual({ outcome: 'refused', reason: 'secret' });
  });

  test('the scopes', async () => {
    server.faults.scope_policy = 'registered_only';
    const outcome = await onPage({ client_id: server.clients.public.client_id });
    const scopes = 'openid fhirUser offline_access user/*.*';
    expect(outcome).toEqual({ outcome: 'refused', reason: 'scope', scopes });
  });
});

describe('the description of an error', () => {
  const authority = {
    token_endpoint: 'https://emr.example/token',
    authorization_endpoint: 'https://emr.example/authorize',
  };
  const toReason = (refusal: TokenRefusal, way: string) => toRefusal(refusal, { way }, authority).reason;

  test.each<[TokenRefusal, string, string]>([
    [{ refused: 'invalid_client' }, 'client_secret', 'access'],
    [{ refused: 'invalid_client', description: 'Client authentication failed' }, 'client_secret', 'access'],
    [
      { refused: 'unauthorized_client', description: 'Invalid client or Invalid client credentials' },
      'client_secret',
      'access',
    ],
    [
      { refused: 'invalid_client', description: 'Invalid client or Invalid client credentials' },
      'client_secret',
      'access',
    ],
    [{ refused: 'unauthorized_client', description: 'Invalid client secret provided.' }, 'client_secret', 'secret'],
    [{ refused: 'invalid_client', description: 'Client secret mismatch' }, 'client_secret', 'secret'],
    [{ refused: 'invalid_client', description: 'Unknown client' }, 'client_secret', 'client'],
    [{ refused: 'invalid_client', description: 'The client 5 is not registered' }, 'backend_services', 'client'],
    [{ refused: 'invalid_client', description: 'Invalid client assertion' }, 'backend_services', 'key'],
    [{ refused: 'invalid_client', description: 'No key found for this client' }, 'backend_services', 'key'],
    [{ refused: 'invalid_grant' }, 'backend_services', 'access'],
    [{ refused: 'invalid_client', description: 'JWT has expired' }, 'backend_services', 'access'],
    [{ refused: 'invalid_client', description: 'Invalid JWT signature' }, 'backend_services', 'key'],
    [{ refused: 'invalid_request' }, 'backend_services', 'method'],
    [{ refused: 'invalid_request', hint: 'Check the `client_assertion` parameter' }, 'client_secret', 'method'],
    [{ refused: 'invalid_request', hint: 'No key with this kid' }, 'backend_services', 'key'],
    [{ refused: 'invalid_client', description: 'Unsupported authentication method' }, 'client_secret', 'method'],
    [{ refused: 'invalid_request', description: 'Unknown scope: system/*.cruds' }, 'client_secret', 'scope'],
    [{ refused: 'unsupported_grant_type' }, 'client_secret', 'method'],
    [{ refused: 'unauthorized_client' }, 'client_secret', 'method'],
  ])('%j by %s means %s', (refusal, way, reason) => {
    expect(toReason(refusal, way)).toBe(reason);
  });
});
