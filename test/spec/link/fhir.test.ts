import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { expectApiError, newClient } from '../../api/support.ts';
import type { Api, ApiResponse } from '../../harness/api.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { appFor, sandboxKeySet } from '../../harness/fhir/registrations.ts';
import { type FaultSwitches, type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { signInOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { linkSteps } from '../../linking/linkSteps.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { sendDocument } from '../support/sendDocument.ts';

let fixture: TestSandbox;
let server: FhirServer;
beforeAll(async () => {
  [fixture, server] = await Promise.all([
    startSandbox({ small: true, sync_after_link: false }),
    startFhirServer({ data: 'small' }),
  ]);
});
afterEach(() => server.reset());
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const person = { first_name: 'Nova', last_name: 'Newcomer', dob: '1990-01-31', sex: 'female' };
const mrn = 'MB100001';
const visit = { mrn, location: 'loc-1', provider: 'prac-1', type: 'FOLLOWUP', datetime: '2030-07-09T09:30:00-04:00' };
const unknown_id = 'f'.repeat(32);

/** For each operation: its name in the error, what the server withholds, and a request that needs it. */
const requests: [string, FaultSwitches['withheld'], (api: Api & { access_token: string }) => Promise<ApiResponse>][] = [
  ['patients', { Patient: ['search-type'] }, (api) => api.call('GET', '/v1/patients')],
  ['providers', { Practitioner: ['search-type'] }, (api) => api.call('GET', '/v1/providers')],
  ['staff', { Practitioner: ['search-type'] }, (api) => api.call('GET', '/v1/staff')],
  ['referring providers', { Practitioner: ['search-type'] }, (api) => api.call('GET', '/v1/referring-providers')],
  ['locations', { Location: ['search-type'] }, (api) => api.call('GET', '/v1/locations')],
  ['pharmacies', { Organization: ['search-type'] }, (api) => api.call('GET', '/v1/pharmacies')],
  ['insurance providers', { Organization: ['search-type'] }, (api) => api.call('GET', '/v1/insurance-providers')],
  ['claims', { Claim: 'all' }, (api) => api.call('GET', '/v1/claims')],
  ['eligibility checks', { CoverageEligibilityResponse: 'all' }, (api) => api.call('GET', '/v1/eligibility-checks')],
  [
    'eligibility checks',
    { CoverageEligibilityResponse: 'all' },
    (api) => api.call('GET', `/v1/eligibility-checks/${unknown_id}/benefits`),
  ],
  ['patient insurances', { Coverage: ['search-type'] }, (api) => api.call('GET', `/v1/patients/${mrn}/insurances`)],
  ['orders', { ServiceRequest: 'all' }, (api) => api.call('GET', '/v1/orders?patient_mrn=1')],
  ['appointments', { Appointment: ['search-type'] }, (api) => api.call('GET', `/v1/appointments/${unknown_id}`)],
  ['appointments', { Appointment: ['create'] }, (api) => api.call('POST', '/v1/appointments', { body: visit })],
  ['new patients', { Patient: ['create'] }, (api) => api.call('POST', '/v1/patients', { body: person })],
  [
    'live patient fetches',
    { Patient: ['search-type'] },
    (api) => api.call('POST', '/v1/patients/fetch', { body: { search_by: 'mrn', mrn } }),
  ],
  [
    'new patient insurances',
    { Coverage: ['create'] },
    (api) => api.call('POST', `/v1/patients/${mrn}/insurances`, { body: { member_id: 'M1', insurance_name: 'Any' } }),
  ],
  [
    'insurance updates',
    { Coverage: ['update'] },
    (api) => api.call('PATCH', `/v1/patients/${mrn}/insurances/cov-1`, { body: { member_id: 'M1' } }),
  ],
  [
    'documents',
    { DocumentReference: 'all' },
    ({ access_token }) => sendDocument({ sandbox: { ...fixture.sandbox, access_token } }, { patient_mrn: mrn }),
  ],
];

test(row('DEC-049'), async () => {
  const complete = await linkFhir(fixture, server, { user_id: 'complete', org_id: 'complete' });
  // The sync reads the capabilities again, so it must finish before anything is withheld.
  await complete.sync();
  for (const [index, [operation, withheld, send]] of requests.entries()) {
    server.faults.withheld = withheld;
    const lacking = await linkFhir(fixture, server, { user_id: `lacking-${index}`, org_id: `lacking-${index}` });
    const before = await countAcceptedWork(fixture);
    expectApiError(await send(lacking), 400, `This EMR does not offer ${operation}.`);
    server.reset();
    const { operations, idempotency_keys } = await countAcceptedWork(fixture);
    expect({ operations, idempotency_keys }).toStrictEqual({
      operations: before.operations,
      idempotency_keys: before.idempotency_keys,
    });
    // An account at a server that supports it gets a different response.
    expect((await send(complete)).body.message ?? '', operation).not.toContain('does not offer');
  }
});

test(row('DEC-084'), async () => {
  const headers = { access_token: null };
  const { emrs } = (await fixture.api.call('GET', '/link/emrs', { headers })).body;
  const names = emrs.map(({ emr_name, display_name }: ApiResponse['body']) => [emr_name, display_name]);
  expect(names).toStrictEqual([
    ['larkspur', 'Larkspur'],
    ['fhir', 'FHIR R4'],
    ['openemr', 'OpenEMR'],
  ]);
  const create = (emr_name: string, emr_instance_domain: string) =>
    fixture.api.call('POST', '/link/token/create', {
      body: { user_id: 'named', org_id: `named-${emr_name}`, emr_name, emr_instance_domain },
      headers,
    });
  expect((await create('larkspur', fixture.sandbox.larkspur.url)).status).toBe(200);
  expect((await create('fhir', server.url)).status).toBe(200);
  expectApiError(await create('other', server.url), 400, /larkspur.*fhir/, 'emr_name');
  server.faults.withheld = { Encounter: ['create'] };
  const fhir = await linkFhir(fixture, server, { user_id: 'restricted', org_id: 'restricted' });
  expectApiError(await fhir.callIn(), 400, 'Telephone encounters are only supported for Larkspur EMR.');
  server.reset();
  expect((await fixture.api.callIn()).status).toBe(200);
});

test(row('REP-01'), async () => {
  const api = await linkFhir(fixture, server, { user_id: 'reported', org_id: 'reported' });
  await fixture.owner`UPDATE accounts SET status = 'login_required' WHERE user_id = 'reported'`;
  await fixture.owner`SELECT pg_notify('chartwire_access', '')`;
  const { status, body } = await api.call('GET', '/v1/account/connection-report');
  expect([status, body.data.address, body.data.error_code]).toEqual([200, server.url, null]);
  expect(body.data.steps).toContainEqual({
    stage: 'discovery',
    request: 'GET [base]/metadata',
    status: 200,
    duration_ms: expect.any(Number),
    outcome: 'ok',
  });
  expect(JSON.stringify(body)).not.toContain(server.clients.confidential.client_secret);
  const larkspur = await fixture.api.call('GET', '/v1/account/connection-report');
  expect(larkspur.body).toEqual({ success: true, data: null });
});

test(row('REP-02'), async () => {
  const { client_id, client_secret } = server.clients.confidential;
  // Creates the keys, which takes long on a busy machine.
  await fixture.api.call('GET', new URL(sandboxKeySet(fixture)).pathname);
  const refusals: [string, Partial<FaultSwitches>, Record<string, string>, RegExp][] = [
    [
      'emr_client_refused',
      { client_errors: 'described' },
      { way: 'client_secret', client_id: 'x', client_secret },
      /ID\. FHIR R4 says: "/,
    ],
    [
      'emr_secret_refused',
      { client_errors: 'described' },
      { way: 'client_secret', client_id, client_secret: 'x' },
      /secret/,
    ],
    [
      'emr_key_refused',
      {},
      { way: 'backend_services', client_id },
      /https?:\S+\/\.well-known\/jwks\/ci_test_\w+\/sandbox\.json\b/,
    ],
    [
      'emr_method_refused',
      { auth_methods: ['private_key_jwt'] },
      { way: 'client_secret', client_id, client_secret: 'x' },
      /backend_services, authorization_code, bearer_token\b/,
    ],
  ];
  for (const [code, faults, credentials, message] of refusals) {
    Object.assign(server.faults, faults);
    const headers = { access_token: null };
    const who = { user_id: code, org_id: code, emr_name: 'fhir', emr_instance_domain: server.url };
    const link_token = (await fixture.api.call('POST', '/link/token/create', { body: who, headers })).body.token;
    const body = { link_token, credentials };
    const response = await fixture.api.call('POST', '/sandbox/public_token/create', { body, headers });
    expect([response.status, response.body.code]).toEqual([400, code]);
    expect(response.body.message).toMatch(message);
    server.reset();
  }
});

test(row('KEY-01'), async () => {
  const owner = await signInOperator(fixture);
  const credentials = { way: 'backend_services' };
  const app = await owner.post('clients/{client}/emr-apps', appFor('https://emr.example.org/r4', credentials));
  expect(app.status, JSON.stringify(app.body)).toBe(200);
  const { client_id, base_url } = fixture.sandbox;
  const other = await newClient(fixture);
  const get = (client: string, label: string) =>
    fixture.api.call('GET', `/.well-known/jwks/${client}/${label}.json`, { headers: { access_token: null } });
  expect(app.body.key_set_url).toBe(`${base_url}/.well-known/jwks/${client_id}/${app.body.id}.json`);
  const mine = (await get(client_id, app.body.id)).body.keys;
  expect(mine.map(({ alg }: { alg: string }) => alg).sort()).toEqual(['ES384', 'RS384']);
  expect((await get(other.client_id, app.body.id)).status).toBe(404);
  expect((await get(client_id, unknown_id)).status).toBe(404);
  const theirs = (await get(other.client_id, 'sandbox')).body.keys;
  const kids = [...mine, ...theirs].map(({ kid }: { kid: string }) => kid);
  expect(new Set(kids).size).toBe(4);
});

test(row('KEY-02'), async () => {
  const headers = { access_token: null };
  const who = { user_id: 'by-key', org_id: 'by-key', emr_name: 'fhir', emr_instance_domain: server.url };
  const { token } = (await fixture.api.call('POST', '/link/token/create', { body: who, headers })).body;
  const as_link = { access_token: null, client_id: null, client_secret: null, 'link-token': token };
  const { ways } = (await fixture.api.call('GET', '/link/v1/session', { headers: as_link })).body;
  expect(ways.map(({ name }: { name: string }) => name)).toEqual([
    'client_secret',
    'authorization_code',
    'bearer_token',
  ]);
  await linkSteps(fixture).consent(token);
  const credentials = { way: 'backend_services', client_id: 'registered' };
  const refused = await fixture.api.call('POST', '/link/v1/sign-in', { headers: as_link, body: { credentials } });
  expectApiError(refused, 409, /^Sign-in with a signing key needs an EMR app\. An owner must add one for /);
});
