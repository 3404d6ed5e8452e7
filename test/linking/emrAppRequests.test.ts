import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { runHere } from '../cli/support.ts';
import { createApi } from '../harness/api.ts';
import { appFor } from '../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
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
  server.ledger.length = 0;
  await fixture.owner`DELETE FROM accounts WHERE emr_app_id IS NOT NULL`;
  await fixture.owner`DELETE FROM emr_apps`;
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const path = 'clients/{client}/emr-apps';
const newApp = (fields: object) =>
  owner.post(path, appFor(server.url, { way: 'client_secret', ...server.clients.confidential }, { ...fields }));
const list = async () => (await owner.get(path)).body.emr_apps;

const requests = {
  scope: ' system/Patient.rs  system/Location.rs ',
  headers: { 'X-API-Key': 'key-of-the-practice' },
  search_params: { 'ah-practice': '' },
  bulk_group: 'all-patients',
  requests_counted_per: 'app',
};

const createLink = (org_id: string, more: object = {}) =>
  fixture.api.call('POST', '/link/token/create', {
    body: { user_id: `user-${org_id}`, org_id, emr_name: 'fhir', emr_instance_domain: server.url, ...more },
    headers: { access_token: null },
  });

describe('an EMR app', () => {
  test('stores what its requests send, and never shows a header', async () => {
    expect((await newApp(requests)).status).toBe(200);
    const [app] = await list();
    expect(app).toMatchObject({
      scope: 'system/Patient.rs system/Location.rs',
      header_names: ['x-api-key'],
      search_params: { 'ah-practice': '' },
      bulk_group: 'all-patients',
      requests_counted_per: 'app',
    });
    expect(JSON.stringify(app)).not.toContain('key-of-the-practice');
    const [row] = await fixture.owner`SELECT encode(headers_sealed, 'escape') AS sealed FROM emr_apps`;
    expect(row?.sealed).not.toContain('key-of-the-practice');
    // What is not sent stays; what is blank is removed.
    expect((await owner.patch(`${path}/${app.id}`, { name: 'Other name' })).status).toBe(200);
    expect((await list())[0]).toMatchObject({
      scope: app.scope,
      header_names: ['x-api-key'],
      bulk_group: 'all-patients',
      requests_counted_per: 'app',
    });
    const removed = { scope: '', headers: {}, search_params: {}, bulk_group: null, requests_counted_per: 'address' };
    expect((await owner.patch(`${path}/${app.id}`, removed)).status).toBe(200);
    const { headers: _headers, ...others } = removed;
    expect((await list())[0]).toMatchObject({ ...others, scope: null, header_names: [] });
  });

  test.each([
    [{ scope: 'system/Patient.rs "all"' }, 'scope'],
    [{ headers: { 'x api key': 'a' } }, 'headers'],
    [{ headers: { 'x-api-key': '' } }, 'headers'],
    [{ headers: { 'x-api-key': 'a\nb: c' } }, 'headers'],
    [{ headers: { Authorization: 'Bearer a' } }, 'headers'],
    [{ headers: { 'x-a': '1', 'X-A': '2' } }, 'headers'],
    [{ search_params: { 'a b': '1' } }, 'search_params'],
    [{ search_params: { patient: '1' } }, 'search_params'],
    [{ search_params: { _count: '1' } }, 'search_params'],
    [{ bulk_group: 'a/b' }, 'bulk_group'],
    [{ requests_counted_per: 'practice' }, 'requests_counted_per'],
  ])('refuses %j and stores nothing', async (fields, field) => {
    const { status, body } = await newApp(fields);
    expect([status, body.errors?.[0]?.field ?? body.field], JSON.stringify(body)).toStrictEqual([400, field]);
    expect(await list()).toStrictEqual([]);
  });

  test('takes all of it from the credentials file, as `connectors certify` does', async () => {
    const file = join(fixture.env.DATA_DIR ?? '', 'app.json');
    const { client_id, client_secret } = server.clients.confidential;
    const hosts = [new URL(server.url).host];
    await writeFile(file, JSON.stringify({ way: 'client_secret', client_id, client_secret, ...requests, hosts }));
    const run = (...args: string[]) => runHere(args, fixture.env);
    const client = fixture.sandbox.client_id;
    const added = await run(
      ...['emr-apps', 'add', '--client', client, '--emr', 'fhir', '--name', 'From a file'],
      ...['--credentials-file', file],
    );
    expect(added).toMatchObject({ code: 0, stderr: '' });
    const listed = await run('emr-apps', 'list', '--client', client, '--json');
    expect(JSON.parse(listed.stdout).emr_apps).toMatchObject([
      { hosts, header_names: ['x-api-key'], bulk_group: 'all-patients', requests_counted_per: 'app' },
    ]);
    expect(listed.stdout).not.toContain('key-of-the-practice');
    // What the app leaves open must be in the file, as it must be in a link token.
    const certify = (...more: string[]) =>
      run('connectors', 'certify', 'fhir', '--address', server.url, '--credentials-file', file, ...more);
    const open = '--credentials-file: search_params must have a value for ah-practice, which names the practice.';
    server.ledger.length = 0;
    expect(await certify()).toMatchObject({ code: 1, stderr: expect.stringContaining(open) });
    await writeFile(file, JSON.stringify({ way: 'client_secret', client_id, client_secret }));
    expect(await certify('--client', client)).toMatchObject({ code: 1, stderr: expect.stringContaining(open) });
    expect(server.ledger).toStrictEqual([]);
    await writeFile(file, JSON.stringify({ way: 'client_secret', client_id, client_secret, headers: ['x'] }));
    const refused = await run('emr-apps', 'add', '--client', client, '--name', 'x', '--credentials-file', file);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--credentials-file: headers must be an object of strings.'),
    });
  });
});

test('every request counts for the app where its vendor counts so: of the sign-in, for tokens and of syncs', async () => {
  expect((await newApp({ requests_counted_per: 'app' })).status).toBe(200);
  const [app] = await fixture.owner<{ id: string }[]>`SELECT id FROM emr_apps`;
  const counted_by = `emr_app:${app?.id}`;
  await fixture.owner`INSERT INTO emr_request_budgets (counted_by, per_minute, minute, requests, blocked, confirmations)
    VALUES (${counted_by}, 100000, date_trunc('minute', now()), 0, false, 2)`;
  const expectCounted = async (work: () => Promise<void>) => {
    for (let ended = true; ended; ) {
      server.ledger.length = 0;
      await fixture.owner`UPDATE emr_request_budgets SET minute = date_trunc('minute', now()), requests = 0`;
      const [start] = await fixture.owner`SELECT minute FROM emr_request_budgets`;
      await work();
      const rows = await fixture.owner`SELECT counted_by, minute, requests FROM emr_request_budgets`;
      // Each minute is counted from its start.
      ended = String(rows[0]?.minute) !== String(start?.minute);
      if (!ended) expect(rows).toStrictEqual([{ ...start, counted_by, requests: server.ledger.length }]);
    }
    expect(server.ledger.some(({ path: sent }) => sent.includes('/auth/'))).toBe(true);
  };
  let access_token = '';
  let attempts = 0;
  await expectCounted(async () => {
    const created = await createLink(`counted-requests-${++attempts}`);
    const linked = await steps.signIn(created.body.token, 0, { credentials: {}, one_time_code: undefined });
    expect(linked.status, JSON.stringify(linked.body)).toBe(200);
    access_token = (await steps.exchange(linked.body.public_token)).body.token;
  });
  const api = createApi({ ...fixture.sandbox, access_token });
  await expectCounted(async () => {
    server.expireTokens('access');
    await api.sync();
  });
});

describe('the key set of an EMR app', () => {
  test('is counted when it is fetched, and the connection report says when nobody has', async () => {
    const credentials = { way: 'backend_services', client_id: 'counted' };
    const added = await owner.post(path, appFor(server.url, credentials));
    expect(added.status, JSON.stringify(added.body)).toBe(200);
    const created = await createLink('counted');
    const refused = await steps.signIn(created.body.token, 0, { credentials: {}, one_time_code: undefined });
    expect(refused.status).toBe(400);
    const findings = async () => {
      const { reports } = (await owner.get('clients/{client}/connection-reports')).body;
      const { id } = reports.find(({ org_id }: { org_id: string }) => org_id === 'counted');
      return (await owner.get(`clients/{client}/connection-reports/${id}`)).body.report.findings;
    };
    expect(await findings()).toContain(
      'Keys: nobody has fetched the key set of this EMR app yet. The EMR must be able to reach its URL.',
    );
    for (let n = 0; n < 3; n++) expect((await fetch(added.body.key_set_url)).status).toBe(200);
    await expect.poll(async () => (await list())[0]).toMatchObject({ key_fetches: 3 });
    expect((await findings()).join()).toMatch(
      /Keys: nobody has fetched the key set of this EMR app since 20\d\d-\d\d-\d\d \d\d:\d\d UTC \(3 fetches\)\./,
    );
  });

  test('can be exported for another place, without EC keys on request and never with a private one', async () => {
    const client = ['--client', fixture.sandbox.client_id];
    const exported = async (...args: string[]) => {
      const { code, stdout } = await runHere(['keys', 'export', ...client, ...args], fixture.env);
      expect(code).toBe(0);
      expect(stdout).not.toMatch(/"(d|p|q|dp|dq|qi)":/);
      return JSON.parse(stdout).keys.map(({ kty }: { kty: string }) => kty);
    };
    expect((await exported()).sort()).toStrictEqual(['EC', 'RSA']);
    expect(await exported('--rsa-only')).toStrictEqual(['RSA']);
  });
});
