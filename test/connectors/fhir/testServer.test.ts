import { validateResource } from '@medplum/core';
import type { Resource } from '@medplum/fhirtypes';
import type * as fhir from 'fhir/r4.js';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { loadDefinitions } from '../../harness/fhir/loadDefinitions.ts';
import { makePractice } from '../../harness/fhir/practice/practice.ts';
import { listReferences } from '../../harness/fhir/repository.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';

let server: FhirServer;
let token: string;
beforeAll(async () => {
  server = await startFhirServer({ redirect_uris: ['http://127.0.0.1:21299/back'] });
  token = server.bearerToken();
});
afterEach(() => server.reset());
afterAll(() => server.close());

async function send(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(path.startsWith('http') ? path : `${server.url}/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/fhir+json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text && text[0] === '{' ? JSON.parse(text) : text,
  };
}

const patient = (family: string, marker?: string): fhir.Patient => ({
  resourceType: 'Patient',
  name: [{ family, given: ['Test'] }],
  ...(marker && { identifier: [{ system: 'urn:chartwire:marker', value: marker }] }),
});

function form(fields: Record<string, string>, headers: Record<string, string> = {}) {
  return fetch(`${server.issuer}/token`, { method: 'POST', headers, body: new URLSearchParams(fields) });
}

test('only the statement and the discovery document are public', async () => {
  const bare = async (path: string) => (await fetch(`${server.url}/${path}`)).status;
  expect(await bare('metadata')).toBe(200);
  expect(await bare('.well-known/smart-configuration')).toBe(200);
  expect(await bare('Patient')).toBe(401);
  server.expireTokens('access');
  expect((await send('GET', 'Patient')).status).toBe(401);
  token = server.bearerToken();
});

test('rejects a resource that is invalid in R4 or has a dangling reference', async () => {
  expect(await send('POST', 'Patient', { ...patient('A'), nonsense: 1 })).toMatchObject({ status: 400 });
  const coverage = {
    resourceType: 'Coverage',
    status: 'active',
    beneficiary: { reference: 'Patient/nobody' },
    payor: [{ display: 'Examplecare' }],
  };
  expect(await send('POST', 'Coverage', coverage)).toMatchObject({ status: 400 });
  expect(await server.resources('Coverage')).toEqual([]);
});

test('one marker creates one record, even with two concurrent creates', async () => {
  const condition = { 'if-none-exist': 'identifier=urn:chartwire:marker|once' };
  const both = await Promise.all([1, 2].map(() => send('POST', 'Patient', patient('Once', 'once'), condition)));
  expect(both.map(({ status }) => status).sort()).toEqual([200, 201]);
  expect(both[0]?.body.id).toBe(both[1]?.body.id);
  server.faults.conditional_create = false;
  expect(await send('POST', 'Patient', patient('Once', 'once'), condition)).toMatchObject({ status: 201 });
  const { body } = await send('GET', 'metadata');
  const declared = body.rest[0].resource.find(({ type }: { type: string }) => type === 'Patient');
  expect(declared).toMatchObject({ conditionalCreate: false, versioning: 'versioned-update' });
});

test('an update must name the version it changes', async () => {
  const { body: stored, headers } = await send('POST', 'Patient', patient('Before'));
  const path = `Patient/${stored.id}`;
  const changed = { ...patient('After'), id: stored.id };
  expect((await send('PUT', path, changed)).status).toBe(412);
  const if_match = headers.get('etag') ?? '';
  expect(if_match).toMatch(/^W\/".+"$/);
  expect(await send('PUT', path, changed, { 'if-match': if_match })).toMatchObject({ status: 200 });
  expect((await send('PUT', path, changed, { 'if-match': if_match })).status).toBe(412);
});

test('pages are linked and belong to the result of the first search', async () => {
  for (let count = 0; count < 7; count++) await send('POST', 'Patient', patient('Paged'));
  const families = [];
  let url: string | undefined = 'Patient?family=Paged&_count=3';
  while (url) {
    const { body }: { body: fhir.Bundle } = await send('GET', url);
    expect(body.total).toBe(7);
    families.push(body.entry?.length);
    url = body.link?.find(({ relation }) => relation === 'next')?.url;
    await send('POST', 'Patient', patient('Paged'));
  }
  expect(families).toEqual([3, 3, 1]);
});

test('withheld interactions are neither declared nor performed', async () => {
  server.faults.withheld = { Claim: 'all', Patient: ['create'] };
  const { body } = await send('GET', 'metadata');
  const declared = new Map<string, string[]>(
    body.rest[0].resource.map(({ type, interaction }: { type: string; interaction: { code: string }[] }) => [
      type,
      interaction.map(({ code }) => code),
    ]),
  );
  expect(declared.get('Claim')).toBeUndefined();
  expect(declared.get('Patient')).toEqual(['read', 'search-type', 'update']);
  expect((await send('GET', 'Claim')).status).toBe(405);
  expect((await send('POST', 'Patient', patient('X'))).status).toBe(405);
});

test('a response can be lost after the write was performed, and the request log shows it', async () => {
  server.fail({ kind: 'reset', method: 'POST', performed: true });
  await expect(send('POST', 'Patient', patient('Lost', 'lost'))).rejects.toThrow();
  expect((await send('GET', 'Patient?identifier=urn:chartwire:marker|lost')).body.total).toBe(1);
  expect(server.writes('Patient').at(-1)).toMatchObject({ performed: true, status: 0 });
});

test.for([
  ['error_500', 500],
  ['html_500', 502],
  ['too_many', 429],
  ['forbidden', 403],
] as const)('%s happens as often as it was set, and nothing is performed', async ([kind, status]) => {
  server.fail({ kind, method: 'POST', times: 2 });
  const before = server.writes().length;
  for (const _ of [1, 2]) expect((await send('POST', 'Patient', patient('No'))).status).toBe(status);
  expect(server.writes()).toHaveLength(before);
  expect((await send('POST', 'Patient', patient('Yes'))).status).toBe(201);
});

test('a slow response starts after the request has arrived', async () => {
  server.faults.latency_ms = 50;
  const before = server.ledger.length;
  const asking = send('GET', 'Patient?_count=1');
  await expect.poll(() => server.ledger.length).toBe(before + 1);
  expect((await asking).status).toBe(200);
});

test('every search switch works', async () => {
  await send('POST', 'Patient', { ...patient('Dated'), birthDate: '2001-02-03' });
  const total = async (query: string) => (await send('GET', `Patient?${query}`)).body.total;
  expect(await total('birthdate=2001-02-03')).toBe(1);
  server.faults.day_matches_nothing = true;
  expect(await total('birthdate=2001-02-03')).toBe(0);
  expect(await total('birthdate=ge2001-02-03&birthdate=lt2001-02-04')).toBe(1);
  expect(await total('nonsense=1')).toBe(0);
  server.faults.unknown_parameter = 'refuse';
  expect((await send('GET', 'Patient?nonsense=1')).status).toBe(400);
  server.faults.unknown_parameter = 'ignore';
  expect(await total('nonsense=1')).toBeGreaterThan(1);
  server.faults.search_by_identifier = false;
  server.faults.unknown_parameter = 'refuse';
  expect((await send('GET', 'Patient?identifier=x|y')).status).toBe(400);
  server.faults.total = false;
  server.faults.bundle_type = 'collection';
  const { body } = await send('GET', 'Patient?family=Dated');
  expect(body).toMatchObject({ type: 'collection', entry: [{ search: { mode: 'match' } }] });
  expect(body.total).toBeUndefined();
});

test('included records are separate from the matches', async () => {
  const { body: stored } = await send('POST', 'Patient', patient('Included'));
  const beneficiary = { reference: `Patient/${stored.id}` };
  await send('POST', 'Coverage', { resourceType: 'Coverage', status: 'active', beneficiary, payor: [beneficiary] });
  const { body } = await send('GET', 'Coverage?_include=Coverage:beneficiary');
  const modes = body.entry.map((entry: fhir.BundleEntry) => [entry.resource?.resourceType, entry.search?.mode]);
  expect(modes).toEqual([
    ['Coverage', 'match'],
    ['Patient', 'include'],
  ]);
});

test('the second of two concurrent creates fails with one_create_at_a_time', async () => {
  server.faults.one_create_at_a_time = true;
  const both = await Promise.all([1, 2].map(() => send('POST', 'Patient', patient('Pair'))));
  expect(both.map(({ status }) => status).sort()).toEqual([201, 500]);
});

test('issues a token for a secret and for a signed assertion, each assertion once', async () => {
  const { client_id, client_secret } = server.clients.confidential;
  const grant_type = 'client_credentials';
  expect((await form({ grant_type, client_id, client_secret })).status).toBe(200);
  expect((await form({ grant_type, client_id, client_secret: 'wrong' })).status).toBe(401);

  const { publicKey, privateKey } = await generateKeyPair('ES384');
  server.register({ client_id: 'backend', jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'k' }] } });
  const assertion = (audience: string) =>
    new SignJWT({ jti: audience })
      .setProtectedHeader({ alg: 'ES384', kid: 'k' })
      .setIssuer('backend')
      .setSubject('backend')
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime('4m')
      .sign(privateKey);
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const good = { grant_type, client_assertion_type, client_assertion: await assertion(`${server.issuer}/token`) };
  expect((await form(good)).status).toBe(200);
  expect((await form(good)).status).toBe(401);
  expect((await form({ ...good, client_assertion: await assertion('elsewhere') })).status).toBe(401);
});

test('a person authorizes an application on a page that cannot be framed, with PKCE, and refresh tokens rotate', async () => {
  const redirect_uri = 'http://127.0.0.1:21299/back';
  const verifier = 'v'.repeat(50);
  const digest = await crypto.subtle.digest('SHA-256', Buffer.from(verifier));
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: server.clients.public.client_id,
    redirect_uri,
    state: 'st',
    scope: 'openid fhirUser offline_access user/*.*',
    aud: server.url,
    code_challenge: Buffer.from(digest).toString('base64url'),
    code_challenge_method: 'S256',
  });
  const address = `${server.issuer}/authorize?${query}`;
  const page = await fetch(address);
  expect(page.headers.get('x-frame-options')).toBe('DENY');
  expect((await fetch(address.replace('aud=', 'aud=no'))).status).toBe(400);
  const [person] = server.people;
  const body = new URLSearchParams({ username: person?.username ?? '', password: person?.password ?? '' });
  const back = await fetch(address, { method: 'POST', body, redirect: 'manual' });
  const { searchParams } = new URL(back.headers.get('location') ?? '');
  expect(searchParams.get('state')).toBe('st');

  const { client_id } = server.clients.public;
  const code = searchParams.get('code') ?? '';
  const redeemed = await form({
    grant_type: 'authorization_code',
    client_id,
    code,
    redirect_uri,
    code_verifier: verifier,
  });
  const first: { refresh_token: string } = JSON.parse(await redeemed.text());
  expect(first).toMatchObject({ token_type: 'Bearer', expires_in: 3600, id_token: expect.any(String) });
  const renew = (refresh_token: string) => form({ grant_type: 'refresh_token', client_id, refresh_token });
  expect((await renew(first.refresh_token)).status).toBe(200);
  expect((await renew(first.refresh_token)).status).toBe(400);
});

test('a token can expire early', async () => {
  server.faults.token_uses_max = 1;
  token = server.bearerToken();
  expect((await send('GET', 'Patient?_count=1')).status).toBe(200);
  expect((await send('GET', 'Patient?_count=1')).status).toBe(401);
  server.reset();
  token = server.bearerToken();
});

test('the synthetic practice is valid R4 without dangling references', async () => {
  await loadDefinitions();
  // Medplum's and DefinitelyTyped's R4 types describe the same resources.
  for (const resource of makePractice('paged')) validateResource(resource as unknown as Resource);
  const all = makePractice('practice');
  const ids = new Set(all.map(({ resourceType, id }) => `${resourceType}/${id}`));
  expect(ids.size).toBe(all.length);
  expect(all.flatMap(listReferences).filter((reference) => !ids.has(reference))).toEqual([]);
  const count = (type: string) => all.filter(({ resourceType }) => resourceType === type).length;
  expect([count('Patient'), count('Claim'), count('ClaimResponse')]).toEqual([200, 5000, 1950]);
});

test('a search by references returns the same with and without the index', async () => {
  const practice = await startFhirServer({ data: 'small' });
  const [claim] = await practice.resources<fhir.Claim>('Claim');
  const all = await practice.resources<fhir.Claim>('Claim');
  const headers = { authorization: `Bearer ${practice.bearerToken()}` };
  const findIds = async (query: string) => {
    const bundle: fhir.Bundle = JSON.parse(await (await fetch(`${practice.url}/Claim?${query}`, { headers })).text());
    return bundle.entry?.map(({ resource }) => resource?.id);
  };
  const patient = claim?.patient.reference;
  const same = all.filter((one) => one.patient.reference === patient).map(({ id }) => id);
  expect(await findIds(`patient=${patient}`)).toEqual(same);
  expect(await findIds(`patient=${patient}&_sort=-_lastUpdated`)).toEqual(same.toReversed());
  expect(await findIds(`patient=${patient}&status=cancelled,draft`)).toEqual(
    all.filter((one) => one.patient.reference === patient && one.status === 'cancelled').map(({ id }) => id),
  );
  await practice.close();
});
