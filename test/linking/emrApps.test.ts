import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { emrAppsCommand } from '../../src/surfaces/cli/emrApps.ts';
import { apiAs, expectApiError, newClient } from '../api/support.ts';
import { appFor } from '../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';

let fixture: TestSandbox;
let server: FhirServer;
let steps: LinkSteps;
let owner: TestOperator;
beforeAll(async () => {
  [fixture, server] = await Promise.all([
    startSandbox({ small: true, sync_after_link: false }),
    startFhirServer({ data: 'small' }),
  ]);
  steps = linkSteps(fixture);
  owner = await signInOperator(fixture);
});
afterEach(async () => {
  server.reset();
  await fixture.owner`UPDATE accounts SET emr_app_id = NULL`;
  await fixture.owner`DELETE FROM emr_apps`;
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const path = 'clients/{client}/emr-apps';
const by_secret = () => ({ way: 'client_secret', ...server.clients.confidential });

async function addApp(fields: Record<string, unknown> = {}): Promise<string> {
  const response = await owner.post(path, appFor(server.url, by_secret(), fields));
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return response.body.id;
}

/** Links with no credentials at all; returns the access token. */
async function linkByApp(body: Record<string, unknown> = {}): Promise<string> {
  const link_token = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, ...body });
  const linked = await steps.signIn(link_token, 0, { credentials: {}, one_time_code: undefined });
  expect(linked.status, JSON.stringify(linked.body)).toBe(200);
  return (await steps.exchange(linked.body.public_token)).body.token;
}

const readSession = (token: string) =>
  fixture.api.call('GET', '/link/v1/session', { headers: { access_token: null, 'link-token': token } });

describe('an EMR app', () => {
  test('links an account without credentials, and Link asks for nothing', async () => {
    await addApp();
    const token = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
    const { body } = await readSession(token);
    expect(body).toMatchObject({ emr: 'Hillside Clinic', app: { logo: null }, way: 'client_secret' });
    expect(body.ways).toMatchObject([{ name: 'client_secret', fields: [], tells: null }]);
    expect(JSON.stringify(body)).not.toContain(server.clients.confidential.client_secret);
    const api = apiAs(fixture, { access_token: await linkByApp() });
    expect((await api.call('GET', '/v1/settings')).body.data.emr_name).toBe('fhir');
  });

  test('is chosen by its hosts: an exact name before *., and *. stands for one label', async () => {
    const chosen = async (emr_instance_domain: string) =>
      (await readSession(await steps.linkToken({ emr_name: 'fhir', emr_instance_domain }))).body.emr;
    await addApp({ name: 'Vendor', hosts: ['*.vendor.example', 'vendor.example:8443'] });
    await addApp({ name: 'Clinic', hosts: ['clinic.vendor.example'], credentials: { ...by_secret(), client_id: 'b' } });
    expect(await chosen('https://clinic.vendor.example/r4')).toBe('Clinic');
    expect(await chosen('https://other.vendor.example/r4')).toBe('Vendor');
    expect(await chosen('https://vendor.example:8443/r4')).toBe('Vendor');
    for (const elsewhere of [
      'https://vendor.example/r4',
      'https://a.b.vendor.example/r4',
      'https://xvendor.example/r4',
    ]) {
      expect(await chosen(elsewhere)).toBe(new URL(elsewhere).host);
    }
  });

  test('can be named, and then says which EMR a new organization has', async () => {
    const emr_app_id = await addApp();
    const body = { user_id: 'named-app', org_id: 'named-app', emr_app_id, emr_instance_domain: server.url };
    const headers = { access_token: null };
    const created = await fixture.api.call('POST', '/link/token/create', { body, headers });
    expect(created.status, JSON.stringify(created.body)).toBe(200);
    expect((await readSession(created.body.token)).body.emr_host).toBe(new URL(server.url).host);
    const elsewhere = { ...body, emr_name: 'fhir', emr_instance_domain: 'https://fhir.example.org/r4' };
    const mismatched = await fixture.api.call('POST', '/link/token/create', { body: elsewhere, headers });
    expectApiError(mismatched, 400, 'emr_app_id belongs to a different EMR than this organization.', 'emr_app_id');
    const unknown = { ...body, emr_app_id: '0'.repeat(32) };
    const missing = await fixture.api.call('POST', '/link/token/create', { body: unknown, headers });
    expectApiError(missing, 404, `EMR app with ID '${'0'.repeat(32)}' not found.`, 'emr_app_id');
  });

  test('an EMR app of another client does not exist', async () => {
    const emr_app_id = await addApp();
    const other = await newClient(fixture);
    const body = { user_id: 'other', org_id: 'other', emr_app_id, emr_instance_domain: server.url };
    const response = await other.api.call('POST', '/link/token/create', { body, headers: { access_token: null } });
    expect(response.status).toBe(404);
  });

  test('cannot be overridden by what a person sends', async () => {
    await addApp();
    const link_token = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
    const credentials = { way: 'bearer_token', client_id: 'somebody-else' };
    const linked = await steps.signIn(link_token, 0, { credentials, one_time_code: undefined });
    expect(linked.status, JSON.stringify(linked.body)).toBe(200);
  });

  test('an EMR app with a new secret signs its accounts in again, also those that have expired meanwhile', async () => {
    const registered = (client_secret: string) => ({ client_id: 'rotating', client_secret });
    server.register(registered('first-synthetic-secret'));
    const id = await addApp({ credentials: { way: 'client_secret', ...registered('first-synthetic-secret') } });
    const api = apiAs(fixture, { access_token: await linkByApp({ user_id: 'rotating', org_id: 'rotating' }) });
    await api.sync();
    server.register(registered('second-synthetic-secret'));
    server.expireTokens('all');
    const { job_id } = (await api.call('POST', '/v1/sync', { body: {} })).body;
    await until('the account to expire', async () => (await api.call('GET', '/v1/patients')).status === 403);
    const changes = { credentials: { client_secret: 'second-synthetic-secret' } };
    expect((await owner.patch(`${path}/${id}`, changes)).status).toBe(200);
    expect((await api.untilEvent(job_id)).event_type).toBe('sync.completed');
    expect((await api.call('GET', '/v1/patients')).status).toBe(200);
  });

  test('an EMR app that is added later does not replace what an account was linked with', async () => {
    const who = { user_id: 'without-app', org_id: 'without-app' };
    const first = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, ...who });
    const linked = await steps.signIn(first, 0, { credentials: by_secret(), one_time_code: undefined });
    const access_token = (await steps.exchange(linked.body.public_token)).body.token;
    server.register({ client_id: 'later-app', client_secret: 'synthetic-secret' });
    await addApp({ credentials: { way: 'client_secret', client_id: 'later-app', client_secret: 'synthetic-secret' } });
    const again = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, ...who, access_token });
    expect((await readSession(again)).body.app).toBeNull();
    const relinked = await steps.signIn(again, 0, { credentials: {}, one_time_code: undefined });
    expect(relinked.status, JSON.stringify(relinked.body)).toBe(200);
  });

  test('shows its URLs before the EMR has issued a client ID, and is used from then on', async () => {
    const id = await addApp({ credentials: { way: 'authorization_code' } });
    const [app] = (await owner.get(path)).body.emr_apps;
    const redirect_uri = `${fixture.sandbox.base_url}/link/v1/oauth/callback/${id}`;
    expect(app).toMatchObject({
      registered: false,
      redirect_uri,
      key_set_url: null,
      authorization_endpoint: 'same_host',
    });
    const before = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
    expect((await readSession(before)).body.app).toBeNull();
    const named = { user_id: 'u', org_id: 'unregistered', emr_instance_domain: server.url, emr_app_id: id };
    const headers = { access_token: null };
    const refused = await fixture.api.call('POST', '/link/token/create', { body: named, headers });
    expect([refused.status, refused.body.code]).toEqual([409, 'emr_app_unregistered']);
    expect((await owner.patch(`${path}/${id}`, { credentials: { client_id: 'issued' } })).status).toBe(200);
    const after = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
    expect((await readSession(after)).body.ways).toMatchObject([{ name: 'authorization_code', fields: [] }]);
  });

  test('names the host of the sign-in page, which its owner pinned', async () => {
    const authorization_endpoint = 'https://login.vendor.example/{tenant}/authorize';
    const hosts = ['emr.example.org'];
    await addApp({ hosts, authorization_endpoint, credentials: { way: 'authorization_code', client_id: 'x' } });
    const domain = 'https://emr.example.org/hospital/r4';
    const with_app = await readSession(await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: domain }));
    expect(with_app.body.ways).toMatchObject([{ sign_in_host: 'login.vendor.example' }]);
    const without = await readSession(await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url }));
    const { host } = new URL(server.url);
    expect(without.body.ways.map((way: { sign_in_host: string }) => way.sign_in_host)).toEqual([host, host, host]);
  });

  test('can be deleted once no linked account uses it', async () => {
    const id = await addApp();
    const access_token = await linkByApp({ user_id: 'leaving', org_id: 'leaving' });
    const refused = await owner.delete(`${path}/${id}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'emr_app_in_use']);
    expect((await fixture.api.call('DELETE', '/v1/account', { headers: { access_token } })).status).toBe(200);
    expect((await owner.delete(`${path}/${id}`)).status).toBe(200);
    expect((await owner.delete(`${path}/${id}`)).status).toBe(404);
  });
});

describe('configuring EMR apps', () => {
  test('lists them without secrets', async () => {
    const id = await addApp();
    const { body } = await owner.get(path);
    expect(body.emr_apps).toMatchObject([
      {
        id,
        name: 'Hillside Clinic',
        hosts: [new URL(server.url).host],
        token_endpoint: 'same_host',
        authorization_endpoint: null,
        way: 'client_secret',
        values: { client_id: server.clients.confidential.client_id, client_secret: null },
        accounts: 0,
      },
    ]);
    expect(JSON.stringify(body)).not.toContain(server.clients.confidential.client_secret);
    const rows = await fixture.owner`SELECT emr_apps::text AS row FROM emr_apps`;
    expect(JSON.stringify(rows)).not.toContain(server.clients.confidential.client_secret);
  });

  test('rejects what cannot work, and names the field', async () => {
    const valid = appFor(server.url, by_secret());
    const cases: [Record<string, unknown>, string][] = [
      [{ emr: 'papyrus' }, 'emr'],
      [{ hosts: [] }, 'hosts'],
      [{ hosts: ['10.0.0.1'] }, 'hosts'],
      [{ hosts: ['https://emr.example.org/fhir'] }, 'hosts'],
      [{ hosts: ['*.org'] }, 'hosts'],
      [{ hosts: ['*'] }, 'hosts'],
      [{ hosts: ['a.*.example.org'] }, 'hosts'],
      [{ hosts: ['emr.example.org.'] }, 'hosts'],
      [{ hosts: ['*.10.0.0.1'] }, 'hosts'],
      [{ token_endpoint: 'http://emr.example.org/token' }, 'token_endpoint'],
      [{ token_endpoint: 'https://{hosts}/token' }, 'token_endpoint'],
      [{ token_endpoint: 'https://{tenant}.example.org/token' }, 'token_endpoint'],
      [{ token_endpoint: 'https://10.0.0.1/token' }, 'token_endpoint'],
      ...[
        ...[
          'token?',
          'token?a=1',
          'token#a',
          '%74oken',
          'to{tenant}',
          '{tenant}/{tenant}',
          'at/{host}',
          '/token',
          'a;b',
        ],
      ].map((rest): [Record<string, unknown>, string] => [
        { token_endpoint: `https://auth.example.org/${rest}` },
        'token_endpoint',
      ]),
      [{ token_endpoint: 'https://auth.example.org./token' }, 'token_endpoint'],
      [{ token_endpoint: 'https://auth.{host}/token' }, 'token_endpoint'],
      [{ hosts: ['a.example', 'b.example:8443'], token_endpoint: 'https://{host}:9443/token' }, 'token_endpoint'],
      [{ tenant_path: 'r4/{tenant}' }, 'tenant_path'],
      [{ tenant_path: '/r4/../{tenant}' }, 'tenant_path'],
      [{ tenant_path: '/r4' }, 'tenant_path'],
      [{ issuer: 'emr' }, 'issuer'],
      [{ credentials: { way: 'bearer_token', bearer_token: 'x' } }, 'credentials.way'],
      [{ credentials: { way: 'client_secret', client_id: 'x' } }, 'credentials.client_secret'],
      [{ emr: 'larkspur' }, 'credentials.way'],
      [{ logo: 'https://example.org/logo.png' }, 'logo'],
    ];
    for (const [fields, field] of cases) {
      const response = await owner.post(path, { ...valid, ...fields });
      expect([response.status, response.body.field], JSON.stringify(response.body)).toEqual([400, field]);
    }
    expect(await fixture.owner`SELECT FROM emr_apps`).toHaveLength(0);
  });

  test('stores endpoints in one spelling', async () => {
    const credentials = { way: 'authorization_code', client_id: 'spelled' };
    const id = await addApp({
      ...{ credentials, hosts: ['emr.example.org'], tenant_path: ' /r4/{tenant} ' },
      ...{ token_endpoint: 'HTTPS://{host}:443/a/../{tenant}/./Token' },
      ...{ authorization_endpoint: 'https://Login.example.org:443/{tenant}/authorize?p=x' },
    });
    const stored = {
      tenant_path: '/r4/{tenant}',
      token_endpoint: 'https://{host}/{tenant}/Token',
      authorization_endpoint: 'https://login.example.org/{tenant}/authorize?p=x',
    };
    expect((await owner.get(path)).body.emr_apps).toMatchObject([stored]);
    expect((await owner.patch(`${path}/${id}`, { name: 'Renamed' })).status).toBe(200);
    expect((await owner.get(path)).body.emr_apps).toMatchObject([{ name: 'Renamed', ...stored }]);
  });

  test('allows one app per host', async () => {
    await addApp({ hosts: ['emr.example.org', '*.vendor.example'] });
    const other = { ...by_secret(), client_id: 'another' };
    for (const host of ['EMR.example.org', 'emr.example.org:443', '*.vendor.example']) {
      const again = await owner.post(path, appFor(server.url, other, { hosts: ['x.example.org', host] }));
      expect([again.status, again.body.code, again.body.field]).toEqual([409, 'emr_app_exists', 'hosts']);
    }
    const distinct = appFor(server.url, other, { hosts: ['one.vendor.example', 'emr.example.org:8443'] });
    expect((await owner.post(path, distinct)).status).toBe(200);
  });

  test('allows one app per token endpoint and client ID in the whole installation', async () => {
    const other = await newClient(fixture);
    const theirs = `clients/${other.client_id}/emr-apps`;
    const credentials = { way: 'backend_services', client_id: 'registered-by-a' };
    const template = 'https://auth.vendor.example/{tenant}/token';
    await addApp({ credentials, hosts: ['*.vendor.example'], token_endpoint: template });
    await addApp({ credentials: { ...credentials, client_id: 'b' }, hosts: ['emr.example.org'] });
    const login = { hosts: ['third.example.org'], token_endpoint: 'https://login.example.org/oauth2/token' };
    await addApp({ credentials: { ...credentials, client_id: 'c' }, ...login });
    const add = (client_id: string, host: string, token_endpoint: string) => {
      const fields = { hosts: [host], token_endpoint };
      return owner.post(theirs, appFor(server.url, { way: 'backend_services', client_id }, fields));
    };
    const taken: [string, string, string][] = [
      // Another host does not matter: the token endpoint is the same.
      ['registered-by-a', 'elsewhere.example', template],
      // Narrower and wider than the other app.
      ['registered-by-a', 'elsewhere.example', 'https://auth.vendor.example/hospital/token'],
      ['registered-by-a', 'auth.vendor.example', 'same_host'],
      ['registered-by-a', '*.vendor.example', 'same_host'],
      ['b', 'emr.example.org', 'same_host'],
      ['b', 'emr.example.org', 'https://{host}/oauth/token'],
      ['b', '*.example.org', 'same_host'],
      // Other spellings of the same endpoint.
      ['c', 'elsewhere.example', 'https://login.example.org:443/oauth2/token'],
      ['c', 'elsewhere.example', 'HTTPS://LOGIN.example.org/oauth2/./token'],
      ['c', 'elsewhere.example', 'https://login.example.org/x/../oauth2/token'],
      ['c', 'elsewhere.example', 'https://login.example.org/OAuth2/Token/'],
      ['c', 'login.example.org', 'https://{host}:443/oauth2/token'],
      ['c', 'login.example.org', 'https://{host}/x/../{tenant}/token'],
    ];
    for (const each of taken) {
      const refused = await add(...each);
      expect([refused.status, refused.body.code], String(each)).toEqual([409, 'emr_app_pair_taken']);
      expect(JSON.stringify(refused.body)).not.toContain('Hillside');
    }
    expect((await add('another', 'elsewhere.example', template)).status).toBe(200);
    expect((await add('registered-by-a', 'third.example', 'https://auth.vendor.example/oauth2')).status).toBe(200);
  });

  test('requires an owner', async () => {
    const operator = await newOperator(fixture, 'operator');
    expect((await operator.post(path, appFor(server.url, by_secret()))).status).toBe(403);
  });

  test('works from the command line', async () => {
    const file = join(fixture.env.DATA_DIR ?? '', 'app.json');
    await writeFile(file, JSON.stringify(by_secret()));
    const client = fixture.sandbox.client_id;
    const options = { client, name: 'Hillside', emr: 'fhir', 'credentials-file': file };
    const added = await command('add', { ...options, host: ['emr.example.org', '*.vendor.example'] });
    const [, id = ''] = /^emr_app_id (\w{32})$/m.exec(added) ?? [];
    expect(await command('list', { client })).toContain(`${id}  Hillside  fhir  emr.example.org,*.vendor.example`);
    await expect(command('add', options)).rejects.toThrow('hosts must list at least one host');
    await expect(command('remove', { client, app: 'x' })).rejects.toThrow('--app must be the ID of an EMR app');
    await expect(command('add', { client, name: 'Hillside', emr: 'fhir' })).rejects.toThrow('--credentials-file');
    await expect(command('list', { client: 'x' })).rejects.toThrow('--client must be');
    await writeFile(file, JSON.stringify({ way: 'backend_services' }));
    const token_endpoint = 'https://auth.example.org/{tenant}/token';
    const changes = {
      client,
      app: id,
      'credentials-file': file,
      host: ['a.example.org'],
      'token-endpoint': token_endpoint,
    };
    const key_set_url = `${fixture.ctx.config.base_url}/.well-known/jwks/${client}/${id}.json`;
    expect(await command('change', changes)).toBe(`emr_app_id ${id}\nkey_set_url ${key_set_url}\n`);
    const listed = JSON.parse(await command('list', { client, json: true }));
    const pins = { hosts: ['a.example.org'], token_endpoint, registered: false, key_set_url };
    expect(listed.emr_apps).toMatchObject([{ emr_app_id: id, way: 'backend_services', ...pins }]);
    expect(await command('remove', { client, app: id })).toBe('Removed.\n');
    expect(await fixture.owner`SELECT FROM emr_apps`).toHaveLength(0);
  });
});

/** Runs a command and returns what it prints. */
async function command(what: string, values: Parameters<typeof emrAppsCommand>[2]): Promise<string> {
  const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await emrAppsCommand(fixture.ctx.config, what, values);
    return print.mock.calls.join('');
  } finally {
    print.mockRestore();
  }
}
