import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError, newClient, type OtherClient } from '../../api/support.ts';
import { runHere } from '../../cli/support.ts';
import type { Api } from '../../harness/api.ts';
import { appFor } from '../../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { signInOperator, type TestOperator } from '../../harness/operator.ts';
import { at, brands, endpointAt, organization, writeList } from '../../harness/practiceLists.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { linkSteps } from '../../linking/linkSteps.ts';

let fixture: TestSandbox;
let server: FhirServer;
let other: OtherClient;
let operator: TestOperator;
let app_id: string;

const practices = [
  { name: 'Cedar', url: 'https://cedar.example.org/r4', city: 'Salem', state: 'OR' },
  { name: 'Cedar Grove Clinic', url: 'https://grove.example.org/r4', city: 'Portland', state: 'OR' },
  { name: 'Clínica del Cedár', url: 'https://clinica.example.org/r4', city: 'El Paso', state: 'Texas' },
  { name: 'Northside', url: 'https://north.example.org/r4', aliases: 'Cedar North' },
  { name: 'Valley Office', url: 'https://valley.example.org/r4', parent: 'Cedar Health', city: 'Boise', state: 'ID' },
  { name: 'Dr. O’Brien’s Practice', url: 'https://obrien.example.org/r4', city: 'Cedarville', state: 'OH' },
  { name: 'Main Office', url: 'https://main1.example.org/r4', city: 'Austin', state: 'TX' },
  { name: 'Main Office', url: 'https://main2.example.org/r4', city: 'Dallas', state: 'TX' },
  { name: 'Oddly Written', url: ': https://APP.Example.org:443/fhir/R4/' },
  { name: 'Without Scheme', url: 'app.example.org/tenant/R4' },
];

beforeAll(async () => {
  fixture = await startSandbox({ small: true, sync_after_link: false });
  server = await startFhirServer({ data: 'small' });
  other = await newClient(fixture);
  operator = await signInOperator(fixture);
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const headers = { access_token: null };
const search = (query: string, more = '', api: Api = fixture.api) =>
  api.call('GET', `/link/directory?query=${encodeURIComponent(query)}${more}`, { headers });
const names = async (query: string, more = '') =>
  (await search(query, more)).body.practices.map(({ name }: { name: string }) => name);
const findId = async (query: string): Promise<string> => (await search(query)).body.practices[0].id;
const create = (body: Record<string, unknown>, api: Api = fixture.api) =>
  api.call('POST', '/link/token/create', { body: { user_id: 'user-1', org_id: 'new-org', ...body }, headers });
const as_page = (link_token: string) => ({
  headers: { client_id: null, client_secret: null, access_token: null, 'link-token': link_token },
});
const page = (link_token: string, path: string, body?: Record<string, unknown>) =>
  fixture.api.call(body ? 'POST' : 'GET', `/link/v1/${path}`, { ...as_page(link_token), ...(body && { body }) });
const tokens = async () => (await fixture.owner`SELECT FROM link_tokens`).length;

async function importList(content: unknown): Promise<void> {
  const { code, stderr } = await runHere(['directory', 'import', await writeList(content)], fixture.env);
  expect(code, stderr).toBe(0);
}

test(row('DIR-17'), async () => {
  const before = await tokens();
  expectApiError(await create({}), 400, 'Missing required field: emr_name', 'emr_name');
  expect((await search('cedar')).body).toEqual({ success: true, practices: [] });
  await importList([...practices, { name: 'Reachable Care', url: server.url, city: 'Reno', state: 'NV' }]);
  const credentials = { way: 'client_secret', client_id: 'app', client_secret: 'secret' };
  const added = await operator.post('clients/{client}/emr-apps', appFor('https://app.example.org', credentials));
  app_id = added.body.id;
  const reachable = appFor(server.url, credentials, { name: 'Reachable' });
  expect((await operator.post('clients/{client}/emr-apps', reachable)).status).toBe(200);
  expect(await tokens()).toBe(before);
  expect((await create({ org_id: 'finds-practice' })).status).toBe(200);
  // What was named in part is still completed.
  expectApiError(await create({ emr_name: 'fhir' }), 400, /emr_instance_domain/, 'emr_instance_domain');
  expectApiError(await create({ emr_instance_domain: 'https://x.example.org' }), 400, /emr_name/, 'emr_name');
  expectApiError(await create({ emr_app_id: app_id }), 400, /emr_instance_domain/, 'emr_instance_domain');
  expect(await tokens()).toBe(before + 1);
  // A known organization keeps its EMR.
  const { org_id, larkspur } = fixture.sandbox;
  const { body } = await create({ org_id, user_id: 'colleague' });
  expect((await page(body.token, 'session')).body).toMatchObject({
    finds_practice: false,
    emr_host: new URL(larkspur.url).host,
  });
});

test(row('DIR-11'), async () => {
  const { status, body } = await search('grove');
  expect(status).toBe(200);
  expect(body).toEqual({
    success: true,
    practices: [
      {
        ...{ id: expect.stringMatching(/^[0-9a-f]{32}$/), name: 'Cedar Grove Clinic', aliases: [] },
        ...{ city: 'Portland', state: 'OR', parent: null, emr_name: 'fhir', emr_app_id: null },
      },
    ],
  });
  for (const path of ['/link/directory', '/link/directory?query=']) {
    const response = await fixture.api.call('GET', path, { headers });
    expectApiError(response, 400, 'Missing required field: query', 'query');
  }
  const long = await search('x'.repeat(201));
  expectApiError(long, 400, 'query exceeds maximum length of 200 characters', 'query');
  expectApiError(await search('cedar', '&town=Salem'), 400, 'Unexpected query parameters: town', 'town');
  const anonymous = { client_id: null, client_secret: null, access_token: null };
  const refused = await fixture.api.call('GET', '/link/directory?query=cedar', { headers: anonymous });
  expect(refused.status).toBe(401);
  // Nothing to search for.
  expect(await names('–.')).toEqual([]);
});

test(row('DIR-12'), async () => {
  expect(await names('cedar')).toEqual([
    'Cedar',
    'Cedar Grove Clinic',
    'Clínica del Cedár',
    'Northside',
    'Valley Office',
    'Dr. O’Brien’s Practice',
  ]);
  expect(await names('CEDÁR')).toEqual(await names('cedar'));
  expect(await names('clin')).toEqual(['Clínica del Cedár', 'Cedar Grove Clinic']);
  expect(await names('obriens')).toEqual(['Dr. O’Brien’s Practice']);
  expect(await names("dr o'br")).toEqual(['Dr. O’Brien’s Practice']);
  expect(await names('grove ced')).toEqual(['Cedar Grove Clinic']);
  // Not the middle of a word.
  expect(await names('rove')).toEqual([]);
  expect(await names('cedar nowhere')).toEqual([]);
});

test(row('DIR-13'), async () => {
  expect(await names('cedar', '&state=OR')).toEqual(['Cedar', 'Cedar Grove Clinic']);
  for (const state of ['TX', 'tx', 'Texas', ' texas ']) {
    expect(await names('cedar', `&state=${encodeURIComponent(state)}`)).toEqual(['Clínica del Cedár']);
  }
  expect(await names('cedar', '&state=WY')).toEqual([]);
  const cities = (await search('main office dal')).body.practices.map(({ city }: { city: string }) => city);
  expect(cities).toEqual(['Dallas']);
  expect(await names('main tx')).toEqual(['Main Office', 'Main Office']);
});

test(row('DIR-05'), async () => {
  for (const query of ['oddly written', 'without scheme']) {
    expect((await search(query)).body.practices).toMatchObject([{ emr_app_id: app_id }]);
  }
  const { body } = await create({ practice_id: await findId('oddly written'), org_id: 'oddly' });
  expect((await page(body.token, 'session')).body).toMatchObject({ emr_address: 'app.example.org/fhir/R4' });
  const [stored] = await fixture.owner`SELECT address, address_key FROM practices WHERE name = 'Oddly Written'`;
  expect(stored).toEqual({
    address: 'https://APP.Example.org:443/fhir/R4/',
    address_key: 'https://app.example.org/fhir/R4',
  });
});

test(row('DIR-14'), async () => {
  const theirs = await search('oddly', '', other.api);
  expect(theirs.body.practices).toMatchObject([{ name: 'Oddly Written', emr_app_id: null }]);
  expect((await search('cedar grove')).body.practices).toMatchObject([{ emr_app_id: null }]);
  const credentials = { way: 'client_secret', client_id: 'wide', client_secret: 'secret' };
  const wide = appFor('https://any.example.org', credentials, { name: 'Any', hosts: ['*.example.org'] });
  const { body: added } = await operator.post('clients/{client}/emr-apps', wide);
  expect((await search('cedar grove')).body.practices).toMatchObject([{ emr_app_id: added.id }]);
  expect((await search('oddly')).body.practices).toMatchObject([{ emr_app_id: app_id }]);
  expect((await operator.delete(`clients/{client}/emr-apps/${added.id}`)).status).toBe(200);
  expect((await search('cedar grove')).body.practices).toMatchObject([{ emr_app_id: null }]);
});

test(row('DIR-15'), async () => {
  const practice_id = await findId('without scheme');
  const { body } = await create({ practice_id, org_id: 'by-practice' });
  expect((await page(body.token, 'session')).body).toMatchObject({
    ...{ emr_address: 'app.example.org/tenant/R4', finds_practice: false },
    practice: { name: 'Without Scheme' },
  });
  const before = await tokens();
  const both = 'practice_id cannot be combined with emr_name or emr_instance_domain.';
  for (const fields of [{ emr_name: 'fhir' }, { emr_instance_domain: 'https://app.example.org' }]) {
    expectApiError(await create({ practice_id, ...fields }), 400, both, 'practice_id');
  }
  for (const unknown of ['nonsense', '0'.repeat(32)]) {
    const message = `Practice with ID '${unknown}' not found.`;
    expectApiError(await create({ practice_id: unknown }), 404, message, 'practice_id');
  }
  const wrong_app = await create({ practice_id: await findId('cedar grove'), emr_app_id: app_id });
  expectApiError(wrong_app, 400, /emr_app_id belongs to a different EMR/, 'emr_app_id');
  expect(await tokens()).toBe(before);
});

test(row('DIR-16'), async () => {
  const { org_id, larkspur } = fixture.sandbox;
  const message = 'practice_id does not match the EMR address of this organization.';
  const foreign = await create({ org_id, practice_id: await findId('cedar grove') });
  expectApiError(foreign, 400, message, 'practice_id');
  await importList([{ name: 'Larkspur Practice', url: larkspur.url, emr_name: 'larkspur' }]);
  expect((await create({ org_id, practice_id: await findId('larkspur practice') })).status).toBe(200);
});

test(row('DIR-18'), async () => {
  const { body } = await create({ org_id: 'searches' });
  const { status, body: matches } = await page(body.token, 'practices?query=oddly');
  expect(status).toBe(200);
  expect(matches.practices).toEqual([
    { id: await findId('oddly'), name: 'Oddly Written', city: null, state: null, parent: null, available: true },
  ]);
  expect((await page(body.token, 'practices?query=grove')).body.practices).toMatchObject([{ available: false }]);
  expectApiError(await page(body.token, 'practices?query='), 400, 'Missing required field: query', 'query');
  const fixed = await create({ practice_id: await findId('oddly'), org_id: 'fixed' });
  const message = 'The practice of this link cannot be changed.';
  expectApiError(await page(fixed.body.token, 'practices?query=oddly'), 409, message);
  const choice = { practice_id: await findId('without scheme') };
  expectApiError(await page(fixed.body.token, 'practice', choice), 409, message);
  expect((await page('lt_unknown', 'practices?query=oddly')).status).toBe(404);
});

test(row('DIR-19'), async () => {
  const { body } = await create({ org_id: 'chooses' });
  const empty = (await page(body.token, 'session')).body;
  expect(empty).toMatchObject({ finds_practice: true, practice: null, emr: '', consent: null, fields: [] });
  const unavailable = await page(body.token, 'practice', { practice_id: await findId('cedar grove') });
  expectApiError(unavailable, 409, 'There is no EMR app for this practice. Ask an owner to add one.', 'practice_id');
  const unknown = await page(body.token, 'practice', { practice_id: '0'.repeat(32) });
  expectApiError(unknown, 404, `Practice with ID '${'0'.repeat(32)}' not found.`, 'practice_id');
  expect((await page(body.token, 'practice', { practice_id: await findId('reachable') })).status).toBe(200);
  const chosen = (await page(body.token, 'session')).body;
  expect(chosen).toMatchObject({
    finds_practice: true,
    practice: { name: 'Reachable Care', city: 'Reno', state: 'NV', parent: null },
    emr: 'Reachable',
  });
  expect(chosen.consent).toMatchObject({ required: true });
  const [record] = await fixture.owner`
    SELECT detail FROM audit_records WHERE action = 'link.practice.choose' AND outcome = '200' ORDER BY id DESC LIMIT 1`;
  expect(record?.detail).toMatchObject({ org_id: 'chooses', emr_address: server.url });
  // The organization got another EMR in the meantime.
  const second = await create({ org_id: 'chooses', user_id: 'user-2' });
  const { api, sandbox } = fixture;
  const linked = await linkSteps({ api, sandbox }).linkToken({ org_id: 'chooses', user_id: 'user-3' });
  expect((await linkSteps({ api, sandbox }).signIn(linked, 1)).status).toBe(200);
  const late = await page(second.body.token, 'practice', { practice_id: await findId('oddly') });
  expectApiError(late, 400, 'practice_id does not match the EMR address of this organization.', 'practice_id');
});

test(row('DIR-20'), async () => {
  const { body } = await create({ org_id: 'changes-mind' });
  const steps = linkSteps(fixture);
  const credentials = { way: 'client_secret' };
  const early = await steps.signIn(body.token, 1, { credentials });
  expectApiError(early, 409, 'No practice was chosen in this link yet.');
  await page(body.token, 'practice', { practice_id: await findId('reachable') });
  await steps.consent(body.token);
  const consents = () => fixture.owner`SELECT terms->>'emr_address' AS address FROM link_consents
    WHERE given_at IS NOT NULL AND link_token_hash IS NOT NULL AND client_id = (
      SELECT id FROM clients WHERE public_id = ${fixture.sandbox.client_id}) AND terms->>'organization' = 'changes-mind'`;
  expect(await consents()).toEqual([{ address: server.url }]);
  await page(body.token, 'practice', { practice_id: await findId('without scheme') });
  expect(await consents()).toEqual([]);
  expectApiError(await page(body.token, 'sign-in', { credentials }), 403, /consent/i);
});

test(row('DIR-21'), async () => {
  const url = 'https://fhir.athena.io/StructureDefinition/ah-practice';
  const named = (reference: string) => ({ extension: [{ url, valueReference: { reference } }] });
  await importList(
    brands(
      organization('1', 'Shared Address One', { ...at('e'), ...named('Organization/Practice-1') }),
      organization('2', 'Shared Address Two', { ...at('e'), ...named('Organization/a-1.Practice-2') }),
      endpointAt('e', 'https://app.example.org/shared/r4'),
    ),
  );
  const stored = await fixture.owner`SELECT search_params FROM practices WHERE search_params IS NOT NULL ORDER BY name`;
  expect(stored.map(({ search_params }) => search_params)).toEqual([
    { 'ah-practice': 'Organization/a-1.Practice-1' },
    { 'ah-practice': 'Organization/a-1.Practice-2' },
  ]);
  expect(await names('shared address')).toEqual(['Shared Address One', 'Shared Address Two']);
  const practice_id = await findId('shared address one');
  const { body } = await create({ org_id: 'shared' });
  const { practices: shown } = (await page(body.token, 'practices?query=shared')).body;
  expect(shown).toMatchObject([{ available: true }, { available: true }]);
  expect((await page(body.token, 'practice', { practice_id })).status).toBe(200);
  expect((await create({ practice_id, org_id: 'shared' })).status).toBe(200);
  const chosen =
    await fixture.owner`SELECT search_params FROM link_tokens WHERE org_id = 'shared' AND practice_id IS NOT NULL`;
  const one = { 'ah-practice': 'Organization/a-1.Practice-1' };
  expect(chosen.map(({ search_params }) => search_params)).toEqual([one, one]);
  await fixture.owner`INSERT INTO organizations (id, client_id, org_id, connector, emr_address, timezone, search_params)
    SELECT gen_random_uuid(), client_id, org_id, connector, emr_address, 'UTC', search_params FROM link_tokens
     WHERE org_id = 'shared' AND practice_id IS NOT NULL LIMIT 1`;
  const other = await create({ practice_id: await findId('shared address two'), org_id: 'shared' });
  expectApiError(other, 400, 'practice_id does not match the EMR address of this organization.', 'practice_id');
  // Would be ignored: the practice has its own, and without an EMR there is nothing that they belong to.
  for (const [sent, field] of [
    [{ practice_id, search_params: one }, 'search_params'],
    [{ search_params: one }, 'emr_name'],
  ] as const) {
    expectApiError(await create({ ...sent, org_id: 'shared-more' }), 400, /search_params|emr_name/, field);
  }
});
