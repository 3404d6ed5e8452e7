import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { emrAppsCommand } from '../../src/cli/emrApps.ts';
import { apiOf, expectApiError, newClient } from '../api/support.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { newOperator, openOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';

let fixture: TestSandbox;
let server: FhirServer;
let steps: LinkSteps;
let owner: TestOperator;
beforeAll(async () => {
  [fixture, server] = await Promise.all([startSandbox({ small: true }), startFhirServer({ data: 'small' })]);
  steps = linkSteps(fixture);
  owner = await openOperator(fixture);
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
  const body = { name: 'Hillside Clinic', emr: 'fhir', emr_address: server.url, credentials: by_secret(), ...fields };
  const response = await owner.post(path, body);
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

const sessionOf = (token: string) =>
  fixture.api.call('GET', '/link/v1/session', { headers: { access_token: null, 'link-token': token } });

describe('an EMR app', () => {
  test('links an account without credentials, and Link asks for nothing', async () => {
    await addApp();
    const token = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
    const { body } = await sessionOf(token);
    expect(body).toMatchObject({ emr: 'Hillside Clinic', app: { logo: null }, way: 'client_secret' });
    expect(body.ways).toMatchObject([{ name: 'client_secret', fields: [], tells: null }]);
    expect(JSON.stringify(body)).not.toContain(server.clients.confidential.client_secret);
    const api = apiOf(fixture, { access_token: await linkByApp() });
    expect((await api.call('GET', '/v1/settings')).body.data.emr_name).toBe('fhir');
  });

  test('is used for its address, or for all addresses if it is the default', async () => {
    await addApp({ name: 'Elsewhere', emr_address: 'https://fhir.example.org/r4' });
    const without = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
    expect((await sessionOf(without)).body).toMatchObject({ emr: 'FHIR R4', app: null });
    await addApp({ name: 'Any server', emr_address: null });
    const by_default = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
    expect((await sessionOf(by_default)).body.emr).toBe('Any server');
    await addApp();
    const by_address = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
    expect((await sessionOf(by_address)).body.emr).toBe('Hillside Clinic');
  });

  test('can be named, and then says which EMR a new organization has', async () => {
    const emr_app_id = await addApp();
    const body = { user_id: 'named-app', org_id: 'named-app', emr_app_id };
    const headers = { access_token: null };
    const created = await fixture.api.call('POST', '/link/token/create', { body, headers });
    expect(created.status, JSON.stringify(created.body)).toBe(200);
    expect((await sessionOf(created.body.token)).body.emr_host).toBe(new URL(server.url).host);
    const elsewhere = { ...body, emr_name: 'fhir', emr_instance_domain: 'https://fhir.example.org/r4' };
    const mismatched = await fixture.api.call('POST', '/link/token/create', { body: elsewhere, headers });
    expectApiError(mismatched, 400, 'emr_app_id belongs to a different EMR than this organization.', 'emr_app_id');
    const unknown = { ...body, emr_app_id: '0'.repeat(32) };
    const missing = await fixture.api.call('POST', '/link/token/create', { body: unknown, headers });
    expectApiError(missing, 404, `EMR app with ID '${'0'.repeat(32)}' not found.`, 'emr_app_id');
  });

  test('of another client does not exist', async () => {
    const emr_app_id = await addApp();
    const other = await newClient(fixture);
    const body = { user_id: 'other', org_id: 'other', emr_app_id };
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

  test('with a new secret signs its accounts in again, also those that have expired meanwhile', async () => {
    const registered = (client_secret: string) => ({ client_id: 'rotating', client_secret });
    server.register(registered('first-synthetic-secret'));
    const id = await addApp({ credentials: { way: 'client_secret', ...registered('first-synthetic-secret') } });
    const api = apiOf(fixture, { access_token: await linkByApp({ user_id: 'rotating', org_id: 'rotating' }) });
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

  test('that is added later does not replace what an account was linked with', async () => {
    const who = { user_id: 'without-app', org_id: 'without-app' };
    const first = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, ...who });
    const linked = await steps.signIn(first, 0, { credentials: by_secret(), one_time_code: undefined });
    const access_token = (await steps.exchange(linked.body.public_token)).body.token;
    server.register({ client_id: 'later-app', client_secret: 'synthetic-secret' });
    await addApp({ credentials: { way: 'client_secret', client_id: 'later-app', client_secret: 'synthetic-secret' } });
    const again = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, ...who, access_token });
    expect((await sessionOf(again)).body.app).toBeNull();
    const relinked = await steps.signIn(again, 0, { credentials: {}, one_time_code: undefined });
    expect(relinked.status, JSON.stringify(relinked.body)).toBe(200);
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
        emr_address: server.url,
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
    const valid = { name: 'A', emr: 'fhir', emr_address: server.url, credentials: by_secret() };
    const cases: [Record<string, unknown>, string][] = [
      [{ emr: 'papyrus' }, 'emr'],
      [{ emr_address: 'https://10.0.0.1/fhir' }, 'emr_address'],
      [{ credentials: { way: 'bearer_token', bearer_token: 'x' } }, 'credentials.way'],
      [{ credentials: { way: 'client_secret', client_id: 'x' } }, 'credentials.client_secret'],
      [{ emr: 'larkspur', emr_address: null }, 'credentials.way'],
      [{ logo: 'https://example.org/logo.png' }, 'logo'],
    ];
    for (const [fields, field] of cases) {
      const response = await owner.post(path, { ...valid, ...fields });
      expect([response.status, response.body.field], JSON.stringify(response.body)).toEqual([400, field]);
    }
    expect(await fixture.owner`SELECT FROM emr_apps`).toHaveLength(0);
  });

  test('allows one app per address', async () => {
    await addApp();
    const again = await owner.post(path, {
      name: 'B',
      emr: 'fhir',
      emr_address: `${server.url}/`,
      credentials: by_secret(),
    });
    expect([again.status, again.body.code]).toEqual([409, 'emr_app_exists']);
    await addApp({ emr_address: null });
    const second_default = await owner.post(path, { name: 'C', emr: 'fhir', credentials: by_secret() });
    expect(second_default.status).toBe(409);
  });

  test('requires an owner', async () => {
    const operator = await newOperator(fixture, 'operator');
    expect((await operator.post(path, { name: 'A', emr: 'fhir', credentials: by_secret() })).status).toBe(403);
  });

  test('works from the command line', async () => {
    const file = join(fixture.env.DATA_DIR ?? '', 'app.json');
    await writeFile(file, JSON.stringify(by_secret()));
    const client = fixture.sandbox.client_id;
    const added = await command('add', { client, name: 'Hillside', emr: 'fhir', 'credentials-file': file });
    const [, id = ''] = /^emr_app_id (\w{32})$/m.exec(added) ?? [];
    expect(await command('list', { client })).toContain(`${id}  Hillside  fhir  (default)`);
    await expect(command('remove', { client, app: 'x' })).rejects.toThrow('--app must be the ID of an EMR app');
    await expect(command('add', { client, name: 'Hillside', emr: 'fhir' })).rejects.toThrow('--credentials-file');
    await expect(command('list', { client: 'x' })).rejects.toThrow('--client must be');
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
