import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { certify } from '../../../src/emr/certification/certify.ts';
import { type Connector, connector_api } from '../../../src/emr/connector.ts';
import { startService } from '../../../src/main.ts';
import { runHere } from '../../cli/support.ts';
import { type Api, createApi } from '../../harness/api.ts';
import { newFolder, startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

/** What a developer does in an empty folder, with the built program and no network. */

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');

type Server = {
  url: string;
  emr: { patients: { mrn: string }[]; notes: { subject: string }[] };
  endSessions(): void;
  changePassword(): void;
  close(): Promise<void>;
};

let folder: string;
let fixture: TestSandbox;
let server: Server;
let api: Api;
beforeAll(async () => {
  folder = join(await newFolder(), 'my-emr');
  const created = await runHere(['connectors', 'new', folder, '--json'], {});
  expect(created.stderr).toBe('');
  expect(JSON.parse(created.stdout)).toStrictEqual({ name: 'my-emr', folder });
  await installOffline();
  const { startServer } = await import(pathToFileURL(join(folder, 'server/server.mjs')).href);
  server = await startServer(0);
  fixture = await startSandbox({ small: true, sync_after_link: false, env: { CONNECTORS: folder } });
  api = await link();
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

/** The compiler and the types of Node come from this repository instead of the registry. */
async function installOffline(): Promise<void> {
  const { devDependencies, ...manifest } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  expect(Object.keys(devDependencies)).toStrictEqual(['@types/node', 'typescript']);
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  const env = { ...process.env, npm_config_cache: join(folder, '../cache') };
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--no-package-lock'], { cwd: folder, env });
  await mkdir(join(folder, 'node_modules/@types'), { recursive: true });
  for (const name of ['typescript', '@types/node', 'undici-types']) {
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
  await run(process.execPath, ['node_modules/typescript/bin/tsc'], { cwd: folder });
}

async function link(who = { user_id: 'outsider', org_id: 'outside', emr_name: 'my-emr' }): Promise<Api> {
  const headers = { access_token: null };
  const practice = { ...who, emr_instance_domain: server.url };
  const { token } = (await fixture.api.call('POST', '/link/token/create', { body: practice, headers })).body;
  const credentials = JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8'));
  const body = { link_token: token, credentials };
  const linked = await fixture.api.call('POST', '/sandbox/public_token/create', { body, headers });
  expect(linked.status, JSON.stringify(linked.body)).toBe(200);
  const path = `/link/token/exchange?public_token=${linked.body.public_token}`;
  const { body: exchanged } = await fixture.api.call('GET', path, { headers });
  return createApi({ ...fixture.sandbox, access_token: exchanged.token });
}

test('the template, built outside the repository, is listed, linked, synced and written to', async () => {
  const { emrs } = (await fixture.api.call('GET', '/link/emrs', { headers: { access_token: null } })).body;
  expect(emrs.at(-1)).toMatchObject({ emr_name: 'my-emr', display_name: 'My EMR' });
  await api.sync();
  const { patients, total } = (await api.call('GET', '/v1/patients?page_size=1000')).body;
  expect(total ?? patients.length).toBe(server.emr.patients.length);
  const [location] = (await api.call('GET', '/v1/locations')).body.locations;

  // Its session has expired: the connector signs in again in the middle of the write.
  server.endSessions();
  const note = { patient_mrn: 'EX100007', location_id: location.ehr_id, subject: 'Outside', note: 'Synthetic note' };
  const tried = await api.call('POST', '/v1/patient-notes?dry_run=true', { body: note });
  expect(tried.status, JSON.stringify(tried.body)).toBe(200);
  expect(server.emr.notes).toStrictEqual([]);
  const sent = await api.call('POST', '/v1/patient-notes', { body: note });
  const { event_type, data } = await api.untilEvent(sent.body.job_id);
  expect([event_type, data.emr_patient_note_id]).toStrictEqual(['patient_note.created', 'n1']);
  expect(server.emr.notes).toMatchObject([{ subject: 'Outside', text: 'Synthetic note', patientId: 'p7' }]);
});

test('the audit log, doctor and connectors list name the module with its version and content', async () => {
  const expected = {
    ...{ name: 'my-emr', module: folder, version: '0.1.0', entry: join(folder, 'dist/index.js') },
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  };
  const records = await fixture.owner`SELECT client_id, actor_kind, actor, outcome, detail FROM audit_records
    WHERE action = 'connectors.load'`;
  const [record] = records;
  expect(records).toHaveLength(1);
  expect({ ...record }).toStrictEqual({
    ...{ client_id: null, actor_kind: 'system', actor: 'service', outcome: 'loaded' },
    detail: { connectors: [expected] },
  });
  const { connectors } = JSON.parse((await runHere(['connectors', 'list', '--json'], fixture.env)).stdout);
  expect(connectors.at(-1)).toStrictEqual({ ...expected, display_name: 'My EMR' });
  expect(connectors[0]).toMatchObject({ name: 'larkspur', module: null, version: null });
  expect((await runHere(['connectors', 'list'], fixture.env)).stdout).toMatch(/^my-emr +My EMR +\/.*my-emr +0\.1\.0 /m);
  expect((await runHere(['doctor'], fixture.env)).stdout).toMatch(
    /^ok +connectors +my-emr from .* 0\.1\.0 \(.*SHA-256/m,
  );
  const refused = await runHere(['doctor'], { ...fixture.env, CONNECTORS: './gone' });
  expect(refused.stdout).toMatch(/^PROBLEM +connectors +CONNECTORS: \.\/gone does not exist/m);
});

test('the template passes every certification check by its own script, and by connectors certify', async () => {
  const own = await run(process.execPath, ['certify.mjs'], { cwd: folder });
  expect(own.stdout).toMatch(/^My EMR: \d+ passed, 0 failed/);
  const { code, stdout } = await runHere(
    [
      ...['connectors', 'certify', 'my-emr', '--address', server.url, '--json'],
      ...['--credentials-file', join(folder, 'credentials.json'), '--only', 'findPatient'],
    ],
    fixture.env,
  );
  const failed = JSON.parse(stdout).checks.filter(({ outcome }: { outcome: string }) => outcome === 'failed');
  expect([code, failed]).toStrictEqual([0, []]);
});

test('a connector without a list can be linked and written to, and one says which of its requests only read', async () => {
  const connectors = fixture.ctx.connectors as Map<string, Connector>;
  const template = connectors.get('my-emr');
  if (!template) throw new Error('The template is not loaded.');
  connectors.set('fed', {
    ...template,
    name: 'fed',
    capabilities: template.capabilities.filter((name) => !name.startsWith('list')),
    open: (endpoint, access) => {
      const { listPatients: _p, listProviders: _d, listLocations: _l, ...rest } = template.open(endpoint, access);
      return rest;
    },
  });
  const fed = await link({ user_id: 'fed', org_id: 'fed', emr_name: 'fed' });
  const { event_type, data } = await fed.untilEvent((await fed.call('POST', '/v1/sync', { body: {} })).body.job_id);
  expect([event_type, data.records]).toStrictEqual(['sync.completed', {}]);
  expect((await fed.call('GET', '/v1/patients')).body.patients).toStrictEqual([]);
  const sent = await fed.call('POST', '/v1/patients', { body: new_patient });
  expect((await fed.untilEvent(sent.body.job_id)).event_type).toBe('patient.created');

  const outbound = fixture.ctx.emr_outbound;
  const credentials = JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8'));
  const target = { address: server.url, credentials, outbound, writes: true };
  const results = await certify({ ...target, connector: { ...template, isRead: () => true } }, [
    'createPatient.lost_response',
  ]);
  expect(results.at(-1)).toMatchObject({ outcome: 'failed', reason: 'no write request was sent' });
});

const new_patient = {
  ...{ first_name: 'Nova', last_name: 'Newcomer', dob: '1990-05-14', sex: 'female', phone: '518-555-0191' },
  ...{ email: 'nova.newcomer@example.org', address_street: '5 Placeholder Lane', address_city: 'Exampleton' },
  ...{ address_state: 'NY', address_zip: '12999' },
};

test('a failure that the connector throws is recognized, although it has its own copy of the class', async () => {
  server.changePassword();
  await api.call('POST', '/v1/sync', { body: {} });
  const readStatus = async () => (await api.call('GET', '/v1/accounts')).body.accounts?.[0]?.status;
  await expect.poll(readStatus).toBe('login_required');
});

test('the service does not start without a connector that linked accounts use', async () => {
  const env = { ...fixture.env, CONNECTORS: '' };
  await expect(startService(loadConfig(env), { role: 'worker', print: () => {} })).rejects.toThrow(
    /^Accounts are linked with a connector that is not loaded: fed, my-emr\. Add its module to CONNECTORS/,
  );
  expect((await runHere(['doctor'], env)).stdout).toMatch(
    /^PROBLEM +connectors +Accounts are linked with .*: fed, my-emr/m,
  );
});

test('connectors new never touches an existing folder, and refuses names that no connector can have', async () => {
  const before = await readdir(folder);
  for (const [name, message] of [
    [folder, `${folder} exists already. Nothing was changed.\n`],
    [join(folder, 'no/my-emr'), `${join(folder, 'no')} does not exist. Create it first.\n`],
    [join(folder, 'My EMR'), /^The folder is named like the connector: .* such as my-emr\.\n$/],
    [join(folder, 'fhir'), 'fhir is a built-in connector. Choose another name.\n'],
  ] as const) {
    const { code, stderr } = await runHere(['connectors', 'new', name], {});
    expect([code, stderr]).toStrictEqual([1, typeof message === 'string' ? message : expect.stringMatching(message)]);
  }
  expect(await readdir(folder)).toStrictEqual(before);
});

test('the major version of the package is that of the interface, and the template asks for it', async () => {
  const { version } = JSON.parse(await readFile(join(root, 'connector/package.json'), 'utf8'));
  expect(version.split('.')[0]).toBe(String(connector_api));
  const source = await readFile(join(folder, 'src/index.ts'), 'utf8');
  expect(source).toContain(`connector_api: ${connector_api} `);
  expect((await stat(join(folder, `chartwire-connector-${version}.tgz`))).isFile()).toBe(true);
});
