import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import type { Grant } from '../../../../src/emr/connector.ts';
import { pageSignIn } from '../../../../src/emr/fhir/sign-in/signIn.ts';
import { createClient } from '../../../../src/emr/fhir/transport/client.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, createEndpoint, expectNoSecret, required } from '../../larkspur/fixture.ts';
import { linkedClient, listPaths, newKeys, signedIn } from '../fixture.ts';

const return_address = 'http://127.0.0.1:21001/back';
const server = sharedFhirServer({ redirect_uris: [return_address] });

const token_path = 'POST /auth/token';
const patients = 'GET /Patient';

describe('a token that expires early', () => {
  test('is renewed once without a person, and the new one is saved', async () => {
    const { client, endpoint, saved } = await linkedClient(server);
    server.expireTokens('access');
    expect(await client.searchAll('Patient', {})).toEqual([]);
    // An empty list is requested again without paging parameters.
    expect(listPaths(endpoint)).toEqual([patients, token_path, patients, patients]);
    expect(saved).toHaveLength(1);
    await client.searchAll('Patient', {});
    expect(listPaths(endpoint)).toHaveLength(6);
  });

  test('is renewed once for several concurrent calls, including a write', async () => {
    const { client, endpoint } = await linkedClient(server);
    server.expireTokens('access');
    const reads = Array.from({ length: 4 }, () => client.searchAll('Patient', {}));
    const created = client.create<fhir.Patient>({ resourceType: 'Patient' }, 'at-once');
    await Promise.all([...reads, created]);
    expect(listPaths(endpoint).filter((path) => path === token_path)).toHaveLength(1);
    expect(await client.findByMarker('Patient', 'at-once')).toBeDefined();
  });

  test('a token that expires early after every renewal needs a person', async () => {
    const { client } = await linkedClient(server);
    server.expireTokens('access');
    server.faults.token_uses_max = 0;
    const failure = await awaitFailure(client.searchAll('Patient', {}));
    expect(failure).toMatchObject({ kind: 'login_required', message: 'The EMR no longer accepts the sign-in.' });
  });

  test('is renewed before use if it is known to have expired', async () => {
    server.faults.token_life_s = 5;
    const { client, endpoint, saved } = await linkedClient(server);
    server.faults.token_life_s = 3600;
    await client.searchAll('Patient', {});
    expect(listPaths(endpoint)).toEqual([token_path, patients]);
    expect(saved).toHaveLength(1);
  });

  test('a token whose renewal gets no response fails as unavailable, writes too, and is renewed by the next call', async () => {
    const { client } = await linkedClient(server);
    server.expireTokens('access');
    for (const kind of ['error_500', 'too_many', 'html_500', 'reset', 'html_200', 'empty', 'truncated'] as const) {
      server.fail({ kind, path: '/auth/token' });
      const failure = await awaitFailure(client.create<fhir.Patient>({ resourceType: 'Patient' }, 'no-renewal'));
      // Known not to be applied, so never of unknown outcome.
      expect([kind, failure.kind]).toEqual([kind, 'unavailable']);
      expectNoSecret(failure, { password: server.clients.confidential.client_secret });
    }
    expect(await client.findByMarker('Patient', 'no-renewal')).toBeUndefined();
  });

  test('a token whose renewal cannot be saved passes that error on, and the next call renews again', async () => {
    const { access, endpoint } = await linkedClient(server);
    server.expireTokens('access');
    let database_down = true;
    const saved: Grant[] = [];
    const saveGrant = async (grant: Grant) => {
      if (database_down) throw new Error('database gone');
      saved.push(grant);
    };
    const client = createClient(endpoint, { ...access, saveGrant });
    await expect(client.searchAll('Patient', {})).rejects.toThrow('database gone');
    database_down = false;
    await client.searchAll('Patient', {});
    expect(saved).toHaveLength(1);
  });
});

describe('an account that the EMR no longer accepts needs a person', () => {
  test('when its secret was changed, and later calls do not try again', async () => {
    const { access, endpoint } = await linkedClient(server);
    server.expireTokens('access');
    const credentials = { ...access.credentials, client_secret: 'of last year' };
    const client = createClient(endpoint, { ...access, credentials });
    for (let n = 0; n < 3; n++) {
      const failure = await awaitFailure(client.searchAll('Patient', {}));
      expect(failure.kind).toBe('login_required');
      expectNoSecret(failure, { password: 'of last year' }, { token: access.grant.access_token ?? '' });
    }
    expect(listPaths(endpoint).filter((path) => path === token_path)).toHaveLength(1);
  });

  test('when its bearer token expires, because it cannot be renewed', async () => {
    const endpoint = createEndpoint(server.url);
    const credentials = { way: 'bearer_token', bearer_token: server.bearerToken() };
    const { grant } = await signedIn(endpoint, credentials);
    const client = createClient(endpoint, { credentials, grant, saveGrant: async () => {} });
    server.expireTokens('access');
    const failure = await awaitFailure(client.searchAll('Patient', {}));
    expect(failure).toMatchObject({ kind: 'login_required', message: 'The EMR no longer accepts the bearer token.' });
  });
});

test('signing keys renew with a new assertion each time, because the EMR accepts each one once', async () => {
  const { keys, jwks } = await newKeys();
  server.register({ client_id: 'signed', jwks });
  const credentials = { way: 'backend_services', client_id: 'signed' };
  const endpoint = { ...createEndpoint(server.url), keys };
  const { grant } = await signedIn(endpoint, credentials);
  const client = createClient(endpoint, { credentials, grant, saveGrant: async () => {} });
  for (let n = 0; n < 3; n++) {
    server.expireTokens('access');
    await client.searchAll('Patient', {});
  }
});

describe('a person who signed in on the EMR’s page', () => {
  async function linkedByPage(saved: Grant[] = [], endpoint = createEndpoint(server.url)) {
    const credentials = { way: 'authorization_code', client_id: server.clients.public.client_id };
    const started = await pageSignIn.start(endpoint, credentials, { return_address, state: 's' });
    const [person] = server.people;
    const form = new URLSearchParams({
      username: person?.username ?? '',
      password: person?.password ?? '',
      decision: 'allow',
    });
    const page = await fetch(started.url, { method: 'POST', body: form, redirect: 'manual' });
    const returned = new URL(required(page.headers.get('location') ?? undefined));
    const outcome = await pageSignIn.finish(endpoint, credentials, started.pending, returned);
    if (outcome.outcome !== 'signed_in') throw new Error('not signed in');
    const { grant } = await signedIn(endpoint, credentials, outcome.grant);
    return createClient(endpoint, { credentials, grant, saveGrant: async (renewed) => void saved.push(renewed) });
  }

  test.each([true, false])('stays signed in with refresh tokens, rotating (%s) or not', async (rotates) => {
    server.faults.refresh_rotates = rotates;
    const saved: Grant[] = [];
    const client = await linkedByPage(saved);
    for (let n = 1; n <= 3; n++) {
      server.expireTokens('access');
      await client.searchAll('Patient', {});
      expect(saved).toHaveLength(n);
      expect(saved.at(-1)?.refresh_token).toMatch(/\w/);
      expect(saved.at(-1)).toHaveProperty('server');
    }
  });

  test('stays signed in if the server sends the refresh token only once', async () => {
    server.faults.refresh_rotates = false;
    const saved: Grant[] = [];
    const endpoint = createEndpoint(server.url);
    const client = await linkedByPage(saved, endpoint);
    const { fetch } = endpoint.outbound;
    endpoint.outbound.fetch = async (url, request) => {
      const response = await fetch(url, request);
      if (!String(url).endsWith('/token')) return response;
      const { refresh_token: _unsaid, ...reported } = JSON.parse(response.body.toString());
      return { ...response, body: Buffer.from(JSON.stringify(reported)) };
    };
    for (let n = 1; n <= 2; n++) {
      server.expireTokens('access');
      await client.searchAll('Patient', {});
      expect(saved.at(-1)?.refresh_token).toMatch(/^rt-/);
    }
  });

  test('must sign in again when the refresh token has expired', async () => {
    const client = await linkedByPage();
    server.expireTokens('all');
    expect(await awaitFailure(client.searchAll('Patient', {}))).toMatchObject({ kind: 'login_required' });
  });
});
