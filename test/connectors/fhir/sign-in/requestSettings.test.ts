import type * as r4 from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { EmrEndpoint } from '../../../../src/emr/connector.ts';
import { fhir } from '../../../../src/emr/fhir/fhir.ts';
import { pageSignIn } from '../../../../src/emr/fhir/sign-in/signIn.ts';
import { createClient } from '../../../../src/emr/fhir/transport/client.ts';
import { withPractice } from '../../../../src/emr/fhir/transport/practice.ts';
import { type AppEndpoint, toEndpoint } from '../../../../src/product/accounts/emrApps.ts';
import { bulk_behavior } from '../../../harness/fhir/bulkSwitches.ts';
import { type FhirServer, startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { bySecret, signedIn } from '../fixture.ts';

let server: FhirServer;
beforeAll(async () => {
  server = await startFhirServer({ data: 'small' });
});
afterEach(() => {
  server.reset();
  server.ledger.length = 0;
});
afterAll(() => server.close());

const endpointWith = (settings: Partial<EmrEndpoint>): EmrEndpoint => ({ ...createEndpoint(server.url), ...settings });
const scopesAsked = () =>
  server.ledger.filter(({ path }) => path.endsWith('/token')).map(({ body }) => new URLSearchParams(body).get('scope'));

async function openClient(settings: Partial<EmrEndpoint>) {
  const endpoint = endpointWith(settings);
  const credentials = bySecret(server);
  const { grant } = await signedIn(endpoint, credentials);
  return createClient(endpoint, { credentials, grant, saveGrant: async () => {} });
}

describe('the scopes of an EMR app', () => {
  const scope = 'system/Patient.rs system/Location.rs';

  test('are sent exactly, and no others if the server refuses them', async () => {
    await signedIn(endpointWith({ scope }), bySecret(server));
    expect(scopesAsked()).toStrictEqual([scope]);
    server.ledger.length = 0;
    server.faults.granted_scopes = ['system/*.read'];
    const refused = await fhir.signIn(endpointWith({ scope }), bySecret(server), undefined);
    expect(refused).toMatchObject({ outcome: 'refused', reason: 'scope', scopes: scope });
    expect(scopesAsked()).toStrictEqual([scope]);
  });

  test('are sent to the sign-in page exactly', async () => {
    const requested = 'openid user/Patient.rs offline_access';
    const credentials = { way: 'authorization_code', ...server.clients.public };
    const back = { return_address: 'http://127.0.0.1:21001/back', state: 's' };
    const { url } = await pageSignIn.start(endpointWith({ scope: requested }), credentials, back);
    expect(new URL(url).searchParams.get('scope')).toBe(requested);
  });
});

test('a server that lists no scopes is requested in every notation, and once it has answered, in that one only', async () => {
  server.faults.scopes = [];
  server.faults.granted_scopes = ['system/*.*'];
  const endpoint = endpointWith({});
  const credentials = bySecret(server);
  const { grant } = await signedIn(endpoint, credentials);
  expect(scopesAsked()).toStrictEqual(['system/*.read system/*.write', 'system/*.cruds', 'system/*.*']);
  server.ledger.length = 0;
  server.expireTokens('access');
  const client = createClient(endpoint, { credentials, grant, saveGrant: async () => {} });
  await client.searchAll('Location', {});
  expect(scopesAsked()).toStrictEqual(['system/*.*']);
});

test('the headers of an EMR app are sent with every request, and cannot replace the connector’s own', async () => {
  const client = await openClient({ headers: { 'x-api-key': 'key-1', accept: 'text/plain' } });
  await client.searchAll('Location', {});
  expect(server.ledger.length).toBeGreaterThan(5);
  expect(server.ledger.filter(({ headers }) => headers['x-api-key'] !== 'key-1')).toStrictEqual([]);
  expect(server.ledger.filter(({ headers }) => headers.accept === 'text/plain')).toStrictEqual([]);
});

test('a bulk export of the group that an EMR app names replaces searches that may miss records, with its headers', async () => {
  const elsewhere = new URL(server.url).origin.replace('127.0.0.1', 'localhost');
  server.faults.narrow = ['Patient'];
  server.faults.withheld_params = { Patient: ['_lastUpdated'] };
  server.faults.bulk = { ...bulk_behavior, redirects_to: elsewhere };
  const credentials = bySecret(server);
  const open = async (settings: Partial<EmrEndpoint>, search_params = {}) => {
    const { grant } = await signedIn(endpointWith(settings), credentials);
    const endpoint = endpointWith({ ...settings, search_params });
    return fhir.openExporter?.(endpoint, { credentials, grant, saveGrant: async () => {} });
  };
  expect((await open({}))?.types).toStrictEqual([]);
  const headers = { 'x-api-key': 'key-1' };
  const exporter = await open({ bulk_group: 'everyone', headers });
  expect(exporter).toMatchObject({ target: 'Group/everyone', types: ['Patient'] });
  const started = await exporter?.kickOff(undefined);
  if (!exporter || !started || !('status_url' in started)) throw new Error('The export was not started.');
  const status = await exporter.poll(started.status_url);
  if (status.state !== 'ready') throw new Error('The export is not ready.');
  let lines = 0;
  for (const file of status.manifest.files) {
    await exporter.read(file, status.manifest, async (batch) => {
      lines += batch.holds === 'records' ? batch.lines.length : 0;
    });
  }
  await exporter.end(started.status_url);
  expect(lines).toBe((await server.resources('Patient')).length);
  expect(server.bulk.exports).toMatchObject([{ path: 'Group/everyone/$export', running: false }]);
  const sent = server.ledger.filter(({ path }) => /\$export|\/bulk\//.test(path));
  const stored = sent.filter(({ path }) => path.includes('/bulk/storage/'));
  expect(stored.length).toBeGreaterThan(0);
  const identified = sent.filter((each) => each.headers['x-api-key'] === 'key-1' && each.headers.authorization);
  expect(identified).toHaveLength(sent.length - stored.length);
  expect(stored.filter((each) => each.headers['x-api-key'] || each.headers.authorization)).toStrictEqual([]);

  // Where practices share an address, a server that ignores the parameter exports all of them.
  server.ledger.length = 0;
  const shared = await open({ bulk_group: 'everyone', headers }, { practice: 'p-1' });
  expect(shared?.target).toBe('Group/everyone?practice=p-1');
  const kicked_off = await shared?.kickOff(undefined);
  expect(server.ledger.find(({ path }) => path.includes('$export'))?.path).toContain('practice=p-1');
  if (!shared || !kicked_off || !('status_url' in kicked_off)) throw new Error('The export was not started.');
  const ready = await shared.poll(kicked_off.status_url);
  if (ready.state !== 'ready') throw new Error('The export is not ready.');
  const [file] = ready.manifest.files;
  if (!file) throw new Error('The export has no file.');
  await expect(shared.read(file, ready.manifest, async () => {})).rejects.toThrow(/do not name their practice/);
});

describe('the search parameters of a practice', () => {
  const search_params = { 'ah-practice': 'Organization/a-1.Practice-1' };
  const named = (id: string): r4.Extension[] => [
    { url: 'https://fhir.example/StructureDefinition/ah-practice', valueReference: { reference: id } },
  ];

  test('are part of every search, by GET and by POST', async () => {
    server.faults.unknown_parameter = 'ignore';
    const client = await openClient({ search_params });
    server.ledger.length = 0;
    await client.searchAll('Patient', { birthdate: 'ge1900-01-01' });
    await client.searchAll('Practitioner', {});
    const searches = server.ledger.filter(({ path }) => /\/R4\/[A-Z]/.test(path));
    expect(searches.map(({ method }) => method).sort()).toStrictEqual(['GET', 'POST']);
    for (const { path, body } of searches) {
      const sent = new URLSearchParams(body || new URL(path, server.url).search);
      expect(sent.getAll('ah-practice'), path).toStrictEqual(['Organization/a-1.Practice-1']);
    }
    const [known] = await server.resources<r4.Patient>('Patient');
    server.ledger.length = 0;
    await client.read('Patient', known?.id ?? '');
    expect(server.ledger.map(({ path }) => path)).toStrictEqual([`/fhir/R4/Patient/${known?.id}`]);
  });

  test.for([
    ['GET', 'Patient?name=a', 'Patient?name=a&ah-practice=p-1'],
    ['GET', 'Patient/?name=a', 'Patient/?name=a&ah-practice=p-1'],
    ['GET', 'Patient/_search?name=a', 'Patient/_search?name=a&ah-practice=p-1'],
    ['GET', 'Patient?ah-practice=p-2', 'Patient?ah-practice=p-1'],
    ['POST', 'Appointment/$find', 'Appointment/$find?ah-practice=p-1'],
    ['GET', 'Patient/1', 'Patient/1'],
    ['GET', 'metadata', 'metadata'],
    ['GET', '?_getpages=1', '?_getpages=1'],
    ['POST', 'Patient', 'Patient'],
    ['PUT', 'Patient/1', 'Patient/1'],
    ['PATCH', 'Patient/1', 'Patient/1'],
  ] as const)('%s %s is sent as %s', ([method, sent, expected]) => {
    const base = 'https://emr.example/fhir/R4';
    const endpoint = { ...endpointWith({ search_params: { 'ah-practice': 'p-1' } }), address: base };
    const request = withPractice(endpoint, {
      method,
      url: new URL(`${base}/${sent}`),
      body: { resourceType: 'Patient' },
    });
    expect(request.url.href).toBe(`${base}/${expected}`);
  });

  test('are complete, or nothing is sent', () => {
    const pins = {
      hosts: [],
      token_endpoint: 'same_host',
      authorization_endpoint: null,
      issuer: null,
      tenant_path: null,
    };
    const app: AppEndpoint = {
      ...{ ...pins, scope: null, headers: {}, search_params: { practice: '', site: 'main' }, bulk_group: null },
      requests_counted_per: 'address',
    };
    expect(toEndpoint(undefined, {})).toStrictEqual({});
    expect(toEndpoint(app, { practice: 'p-1' }).search_params).toStrictEqual({ practice: 'p-1', site: 'main' });
    const named = /^The search parameters that name the practice are not set: practice\. Link the account again\.$/;
    for (const own of [{}, { practice: '' }]) expect(() => toEndpoint(app, own)).toThrow(named);
    const without = /^Search parameters are used with an EMR app only\. Link the account again\.$/;
    expect(() => toEndpoint(undefined, { practice: 'p-1' })).toThrow(without);
  });

  test('a record that names another practice is refused, read by its id and in a list', async () => {
    server.faults.unknown_parameter = 'ignore';
    const client = await openClient({ search_params });
    const flag = { resourceType: 'Flag', status: 'active', code: { text: 'Fall risk' } } as const;
    const subject = { reference: 'Patient/none' };
    await server.storeUnchecked({ ...flag, subject, id: 'own', extension: named('Organization/a-1.Practice-1') });
    expect(await client.read('Flag', 'own')).toMatchObject({ id: 'own' });
    expect(await client.searchAll('Flag', { _id: 'own' })).toHaveLength(1);
    await server.storeUnchecked({ ...flag, subject, id: 'others', extension: named('Organization/a-1.Practice-2') });
    const message = 'The EMR returned a record of another practice. It was not used.';
    expect((await awaitFailure(client.read('Flag', 'others'))).message).toBe(message);
    expect((await awaitFailure(client.searchAll('Flag', { _id: 'others' }))).message).toBe(message);
  });
});
