import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freshDatabase, onDatabase } from '../harness/postgres.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { providerSettings, startProvider } from '../harness/servers/identityProvider.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { runHere } from './support.ts';

let fixture: TestSandbox;
let folder: string;
beforeAll(async () => {
  fixture = await sharedSandbox();
  folder = await mkdtemp(join(tmpdir(), 'chartwire-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

const run = (...args: string[]) => runHere(args, fixture.env);
async function json(...args: string[]) {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}
const variables = () => ({
  CHARTWIRE_BASE_URL: fixture.sandbox.base_url,
  CHARTWIRE_CLIENT_ID: fixture.sandbox.client_id,
  CHARTWIRE_CLIENT_SECRET: fixture.sandbox.client_secret,
  CHARTWIRE_ACCESS_TOKEN: fixture.sandbox.access_token,
});

test('opens every job that the list shows, also of another account', async () => {
  const token = await fixture.api.link({ user_id: 'another-user', staff: 1 });
  const { job_id } = (await fixture.api.callIn({}, { access_token: token })).body;
  const { jobs } = await json('jobs', 'list', '--limit', '100');
  expect(jobs.map((each: { job_id: number }) => each.job_id)).toContain(job_id);
  const watched = await run('jobs', 'watch', String(job_id));
  expect(watched.stderr).toBe('');
  expect(watched).toMatchObject({ code: 0, stdout: expect.stringContaining(`Job ${job_id}: succeeded`) });
  expect((await json('jobs', 'get', String(job_id))).job).toMatchObject({ job_id, user_id: 'another-user' });
  const shown = (await run('jobs', 'get', String(job_id))).stdout;
  expect(shown).toMatch(/^Account +another-user /m);
  expect(shown).toContain('The timeline needs the access token of this account.');
  expect((await run('jobs', 'get', '999999999')).stderr).toMatch(
    /^Job with ID '999999999' not found\.\n→ .*\n {2}http:\S+#record_not_found\n {2}Request \w{32}\n$/,
  );
});

test('lists, shows, follows and repeats jobs', async () => {
  await json('sandbox', 'fault', 'refuse', '--once');
  const { job_id } = (await fixture.api.callIn()).body;
  const watched = await run('jobs', 'watch', String(job_id));
  expect(watched).toMatchObject({ code: 3, stdout: expect.stringContaining(`Job ${job_id}: failed`) });
  expect(watched.stderr).toBe('The clinic does not accept this at the moment.\n');

  const { jobs } = await json('jobs', 'list', '--status', 'failed', '--limit', '5');
  expect(jobs[0]).toMatchObject({ job_id, status: 'failed' });
  const row = `${job_id} +telephone_encounter\\S* +failed .* sandbox-practice +sandbox-user +The clinic does not accept this`;
  expect((await run('jobs', 'list')).stdout).toMatch(new RegExp(`^JOB +TYPE .*\n(.*\n)*${row}`));
  const { job } = await json('jobs', 'get', String(job_id));
  expect(job.timeline.length).toBeGreaterThan(0);
  const shown = (await run('jobs', 'get', String(job_id))).stdout;
  expect(shown).toMatch(
    /^Status +failed\nReason +The clinic does not accept this at the moment\.\nPatient +MRN LK\d+$/m,
  );
  expect(shown).toMatch(/^Created +[-\d]+ [:\d]+ \S+$/m);
  expect(shown).not.toMatch(/[{}]/);

  const again = await run('jobs', 'run-again', String(job_id), '--watch', '--json');
  expect(again.code, again.stderr).toBe(0);
  const lines = again.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines[0].job_id).toBeGreaterThan(job_id);
  expect(lines.at(-1).job).toMatchObject({ job_id: lines[0].job_id, status: 'succeeded' });
});

test('lists, shows and resends events', async () => {
  const { job_id } = (await fixture.api.callIn()).body;
  const { id } = await fixture.api.untilEvent(job_id);
  expect((await json('events', 'list', '--job', String(job_id))).events).toMatchObject([{ id }]);
  expect((await run('events', 'list')).stdout).toMatch(
    new RegExp(`^${id} +telephone_encounter.created +${job_id} .* no endpoints$`, 'm'),
  );
  expect((await json('events', 'get', id)).event).toMatchObject({ id, type: 'telephone_encounter.created' });
  expect(await json('events', 'resend', id)).toStrictEqual({ event_id: id, deliveries: 0 });
  const unknown = await run(
    'events',
    'get',
    id.replace(/.$/, (last: string) => (last === '0' ? '1' : '0')),
  );
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('The account has no event') });
});

test('replaces an access token and the secret of a webhook endpoint, at once if asked to', async () => {
  const access_token = await fixture.api.link({ user_id: 'rotated-by-command', staff: 4 });
  const as_account = (token: string, ...args: string[]) =>
    runHere(args, { ...fixture.env, ...variables(), CHARTWIRE_ACCESS_TOKEN: token });
  const rotated = await as_account(access_token, 'accounts', 'rotate-token', '--immediately', '--json');
  const fresh = JSON.parse(rotated.stdout).access_token;
  const readStatus = async (token: string) =>
    (await fixture.api.call('GET', '/v1/settings', { headers: { access_token: token } })).status;
  expect([await readStatus(access_token), await readStatus(fresh)]).toStrictEqual([401, 200]);
  const later = await as_account(fresh, 'accounts', 'rotate-token');
  expect(later.stdout).toMatch(/^Access token replaced\. The old one stays valid for 24 hours\.\naccess_token \S+\n$/);
  expect(await readStatus(fresh)).toBe(200);

  const headers = { access_token: null };
  const hook = { body: { webhook_url: 'https://example.org/commands' }, headers };
  const { webhook_id, webhook_secret } = (await fixture.api.call('POST', '/v1/webhook', hook)).body;
  const { webhooks } = await json('webhooks', 'list');
  expect(webhooks).toContainEqual(expect.objectContaining({ id: webhook_id, url: 'https://example.org/commands' }));
  expect((await run('webhooks', 'list')).stdout).toContain(`${webhook_id} `);
  const changed = await json('webhooks', 'rotate-secret', webhook_id, '--immediately');
  expect(changed).toStrictEqual({ webhook_id, webhook_secret: expect.stringMatching(/^whsec_/) });
  expect(changed.webhook_secret).not.toBe(webhook_secret);
  const [secrets] = await fixture.owner`SELECT count(*) AS n FROM webhook_secrets WHERE endpoint_id = ${webhook_id}`;
  expect(secrets).toStrictEqual({ n: 1 });
  await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers });
});

test('lists and syncs accounts, and shows requests', async () => {
  const { access_token_reference_id } = fixture.sandbox;
  const { accounts } = await json('accounts', 'list');
  expect(accounts).toContainEqual(expect.objectContaining({ access_token_reference_id, status: 'active' }));
  const synced = await json('accounts', 'sync');
  expect(synced.event).toMatchObject({ type: 'sync.completed' });
  const requests = async () => {
    const tail = await run('requests', 'tail', '--no-follow', '--json', '--limit', '100');
    const lines = tail.stdout.trim().split('\n');
    return lines.map((line) => JSON.parse(line).request.endpoint);
  };
  // Requests are logged after their response.
  await expect.poll(requests).toContain('sync.create');
  expect(await requests()).not.toContain('requests.list');
  const listed = await json('requests', 'list', '--endpoint', 'sync.create', '--limit', '1');
  expect(listed.requests).toMatchObject([{ endpoint: 'sync.create', status: 200 }]);
  expect((await run('requests', 'list', '--utc')).stdout).toMatch(/^AT \(UTC\) +STATUS .*\n[-\d]+ [:\d]+ +\d{3} /);
});

test('sends any request, and explains what does not fit', async () => {
  const { patient_mrn } = fixture.sandbox.example;
  const response = await json('api', 'get', `/v1/patients?mrn=${patient_mrn}`);
  expect(response.patients).toMatchObject([{ mrn: patient_mrn }]);
  const file = join(folder, 'fetch.json');
  await writeFile(file, JSON.stringify({ search_by: 'mrn', mrn: patient_mrn }));
  expect(await json('api', 'post', '/v1/patients/fetch', '--data', `@${file}`)).toHaveProperty('job_id');

  const wrong = await run('api', 'post', '/v1/patients', '-d', '{"first_name":"Ada"}');
  expect(wrong).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^.*last_name.*\n→ .*\n {2}http:\S+\n.*\n$/),
  });
  expect(await run('api', 'post', '/v1/patients', '--data', '{oops')).toMatchObject({
    code: 2,
    stderr: '--data must be a JSON object, or @ and the name of a file with one.\n',
  });
  expect(await run('api', 'get', '/v1/future')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('does not have this endpoint. Check the path'),
  });
});

test('creates a link and knows the pages', async () => {
  const { base_url, larkspur } = fixture.sandbox;
  const { url } = await json('link', 'create');
  expect((await fetch(url)).status).toBe(200);
  expect((await run('open', 'dashboard')).stdout).toBe(`${base_url}/dashboard\n`);
  expect(await json('open', 'larkspur')).toStrictEqual({ url: larkspur.url });
  expect(await run('open', 'moon')).toMatchObject({ code: 2, stderr: expect.stringContaining('dashboard, docs') });
  // A code is valid for 30 seconds, which may end meanwhile.
  const before = fixture.api.code();
  const { codes } = await json('sandbox', 'code', larkspur.staff[0]?.username ?? '');
  expect([before, fixture.api.code()]).toContain(codes[0].code);
  expect((await run('sandbox', 'fault')).stdout).toMatch(/^refuse +off/m);
  await json('sandbox', 'fault', 'refuse');
  expect((await run('sandbox', 'fault')).stdout).toMatch(/^refuse +on/m);
  await json('sandbox', 'fault', '--off');
  expect((await run('sandbox', 'fault')).stdout).toMatch(/^refuse +off/m);
});

test('uses the environment, then a profile, and stores secrets for this user only', async () => {
  const elsewhere = { DATA_DIR: folder, XDG_CONFIG_HOME: folder };
  const none = await runHere(['jobs', 'list'], elsewhere);
  expect(none).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(/^No credentials: set CHARTWIRE_BASE_URL.*\n$/),
  });
  expect((await runHere(['jobs', 'list', '--json'], { ...elsewhere, ...variables() })).code).toBe(0);
  const partly = { ...elsewhere, CHARTWIRE_BASE_URL: fixture.sandbox.base_url };
  expect(await runHere(['jobs', 'list'], partly)).toMatchObject({
    code: 5,
    stderr: 'CHARTWIRE_CLIENT_ID and CHARTWIRE_CLIENT_SECRET must be set too.\n',
  });

  const { base_url, client_id, client_secret, access_token } = fixture.sandbox;
  const [secret_file, token_file] = [join(folder, 'secret'), join(folder, 'token')];
  await writeFile(secret_file, `${client_secret}\n`);
  await writeFile(token_file, access_token);
  const added = await runHere(
    [
      ...['profile', 'add', 'own', '--base-url', base_url, '--client-id', client_id],
      ...['--client-secret-file', secret_file, '--access-token-file', token_file],
    ],
    elsewhere,
  );
  expect(added, added.stderr).toMatchObject({ code: 0 });
  const stored = join(folder, 'chartwire/profiles.json');
  expect((await stat(stored)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(stored, 'utf8'))).toMatchObject({ own: { client_secret } });
  const listed = await runHere(['profile', 'list'], elsewhere);
  expect(listed.stdout).toContain(client_id);
  expect(listed.stdout).not.toContain(client_secret);
  expect((await runHere(['events', 'list', '--profile', 'own', '--json'], elsewhere)).code).toBe(0);
  await chmod(stored, 0o644);
  expect(await runHere(['profile', 'list'], elsewhere)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/chmod 600/),
  });
  await chmod(stored, 0o600);
  expect((await runHere(['profile', 'remove', 'own'], elsewhere)).code).toBe(0);
  expect((await runHere(['jobs', 'list', '--profile', 'own'], elsewhere)).code).toBe(2);
});

test('explains wrong credentials, an unreachable service and wrong usage in one sentence, without secrets', async () => {
  const wrong = { ...variables(), CHARTWIRE_CLIENT_SECRET: 'cs_test_wrong' };
  expect(await runHere(['jobs', 'list'], wrong)).toStrictEqual({
    ...{ code: 5, stdout: '' },
    stderr: 'The service rejected the client ID or the client secret. Check them in the variables CHARTWIRE_….\n',
  });
  for (const command of [['listen'], ['events', 'list']]) {
    const refused = await runHere(command, {
      ...variables(),
      CHARTWIRE_ACCESS_TOKEN: 'at_wrong',
      ...(command[0] === 'listen' && wrong),
    });
    expect(refused).toMatchObject({
      code: 5,
      stdout: '',
      stderr: expect.stringMatching(/^The service rejected .*\n$/),
    });
  }
  const closed = await closedPort();
  for (const command of [['jobs', 'list'], ['listen']]) {
    const unreachable = await runHere(command, { ...variables(), CHARTWIRE_BASE_URL: `http://127.0.0.1:${closed}` });
    expect(unreachable).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/^Chartwire cannot be reached at .*\n$/),
    });
  }
  const exposed = { ...variables(), CHARTWIRE_BASE_URL: 'http://chartwire.invalid' };
  expect(await runHere(['jobs', 'list'], exposed)).toMatchObject({
    ...{ code: 5, stdout: '' },
    stderr: expect.stringMatching(/^The URL of the service in .* must use https, .* CHARTWIRE_INSECURE_HTTP=on\.\n$/),
  });
  expect((await runHere(['jobs', 'list'], { ...exposed, CHARTWIRE_INSECURE_HTTP: 'on' })).code).toBe(4);
  const usage: [args: string[], message: RegExp][] = [
    [
      ['jobs', 'list', '--state', 'x'],
      /^Unknown option '--state'\. Did you mean '--status'\? See: chartwire jobs list --help\n$/,
    ],
    [['jobs', 'get'], /^Missing required argument 'job_id'\. See: chartwire jobs get --help\n$/],
    [['jobs', 'explode'], /^Unknown command 'jobs explode'\. See: chartwire jobs --help\n$/],
    [['jobs', 'gte'], /^Unknown command 'jobs gte'\. Did you mean 'get'\? See: chartwire jobs --help\n$/],
    [['jbos'], /^Unknown command 'jbos'\. Did you mean 'jobs'\? See: chartwire --help\n$/],
    [['jobs', 'list', '--stauts', 'x'], /^Unknown option '--stauts'\. Did you mean '--status'\? /],
    [['jobs', 'list', '--status', 'faield'], /cancelled\. Did you mean 'failed'\? See: chartwire jobs list --help\n$/],
    [['trigger', 'patient.craeted'], /^There is no event 'patient\.craeted'\. Did you mean 'patient\.created'\? /],
    [['sandbox', 'fault', 'refsue'], /^There is no fault 'refsue'\. Did you mean 'refuse'\? /],
    [['completion', 'tcsh'], /^Command-argument value 'tcsh' is invalid/],
    [['explode'], /^Unknown command 'explode'\. See: chartwire --help\n$/],
    [['jobs'], /^Usage: chartwire jobs/],
    [['listen', '--forward-to', 'http://198.51.100.1/x'], /must use https/],
    [['profile', 'add', 'x', '--base-url', 'http://198.51.100.1', '--client-id', 'x'], /^--base-url must use https/],
  ];
  for (const [args, message] of usage) {
    expect(await run(...args), args.join(' ')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(message),
    });
  }
  expect(await run()).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/Exit codes: 0 success/) });
});

test('explains a program that is not Chartwire, an older service, and what cannot be sent, in one sentence', async () => {
  const commands = [
    ...[
      'listen',
      'jobs list',
      'jobs get 1',
      'jobs watch 1',
      'jobs run-again 1',
      'jobs cancel 1',
      'events list',
      'accounts list',
    ],
    ...['accounts sync', 'requests tail --no-follow', 'api post /v1/patients', 'link create --user a --org b'],
  ];
  /** Runs all commands; each must fail with the exit code and one line that matches. */
  const expectAll = async (env: Record<string, string>, code: number, message: RegExp) => {
    for (const command of commands) {
      const { stdout, ...failed } = await runHere(command.split(' '), env);
      expect(failed, command).toStrictEqual({ code, stderr: expect.stringMatching(message) });
      expect(stdout, command).not.toContain('undefined');
    }
  };
  const at = (base_url: string) => ({ ...variables(), CHARTWIRE_BASE_URL: base_url });
  const other =
    /^http:\S+ \(from .*\) returned status \d+, but the response is not from Chartwire\. Check the URL, .*\n$/;
  await expectAll(at(await startOther(200, '<!doctype html>')), 1, other);
  await expectAll(at(await startOther(200, '{}')), 1, other);
  await expectAll(at(await startOther(404, '<!doctype html>')), 1, other);
  await expectAll(at(await startOther(302, '')), 1, other);
  const unknown = JSON.stringify({ success: false, code: 'route_not_found', message: 'There is no such endpoint.' });
  await expectAll(
    at(await startOther(404, unknown)),
    1,
    /^The service at .* does not have this endpoint\. Check the path, .*\n$/,
  );
  const broken = JSON.stringify({ success: false, code: 'internal', message: 'Internal error.' });
  await expectAll(
    at(await startOther(400, broken)),
    1,
    /^Internal error\.\n→ See the service’s log for the cause\.\n$/,
  );

  await expectAll(at('localhost:4000'), 5, /^The URL of the service in .* is not valid\. .*\n$/);
  const secret = { CHARTWIRE_CLIENT_SECRET: `${fixture.sandbox.client_secret}\n` };
  await expectAll({ ...variables(), ...secret }, 5, /^The client secret in .* Copy it again\.\n$/);
  for (const content of ['{', '{}', 'null']) {
    await writeFile(join(folder, 'sandbox.json'), content);
    await expectAll({ DATA_DIR: folder }, 1, /sandbox\.json is damaged, or from another version\. .*\n$/);
  }
  await rm(join(folder, 'sandbox.json'));
  const no_token = await runHere(['api', 'get', '/v1/staff'], { ...variables(), CHARTWIRE_ACCESS_TOKEN: '' });
  expect(no_token).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(/^This command needs an account’s access token.*\n$/),
  });
});

test('checks the installation, and says what to do about a problem', async () => {
  const names = ['versions', 'settings', 'disk', 'ports', 'database', 'clock', 'migrations', 'master key'];
  const { checks } = JSON.parse((await run('doctor', '--json')).stdout);
  // Other files of this worker may have linked EMRs that are stopped by now.
  const outbound = { name: 'outbound', message: `${new URL(fixture.sandbox.larkspur.url).host} accepts connections` };
  expect(checks).toContainEqual({ ...outbound, status: 'ok' });
  const others = checks.filter(({ name }: { name: string }) => name !== 'outbound');
  expect(others.map(({ name, status }: { name: string; status: string }) => [name, status])).toStrictEqual(
    names.map((name) => [name, 'ok']),
  );
  // Started on another port than the settings of this command name.
  const { port: own_port } = new URL(fixture.sandbox.base_url);
  const elsewhere = await runHere(['doctor'], { ...fixture.env, PORT: '', BASE_URL: '' });
  expect(elsewhere.stdout).toMatch(
    new RegExp(`^ok +ports +the service is running at \\S+:${own_port} and ready$`, 'm'),
  );
  const other = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const key = '0'.repeat(64);
  const broken = await runHere(['doctor'], { ...fixture.env, PORT: String(port), MASTER_KEY: key });
  expect(broken.code).toBe(1);
  expect(broken.stdout).toMatch(/PROBLEM +ports +another program uses .*\n +→ Stop it/);
  expect(broken.stdout).toMatch(/PROBLEM +master key +this is not the key for this database\n +→ Restore/);
  const unset = await runHere(['doctor'], { ...fixture.env, PORT: 'many' });
  expect(unset).toMatchObject({ code: 1, stdout: expect.stringMatching(/PROBLEM +settings +PORT/) });
  const down = await runHere(['doctor'], {
    ...fixture.env,
    DATABASE_URL: `postgres://a:b@127.0.0.1:${await closedPort()}/c?sslmode=disable`,
  });
  expect(down.stdout).toMatch(/PROBLEM +database +DATABASE_URL cannot be used: no server is listening/);
});

test('does not promise an upgrade to a database of a version before 0.1.0', async () => {
  const database = await freshDatabase('doctor');
  onTestFinished(database.drop);
  await onDatabase(database.address, async (sql) => {
    await sql`CREATE TABLE schema_migrations (name text PRIMARY KEY)`;
    await sql`INSERT INTO schema_migrations (name) VALUES ('0001_baseline.sql')`;
  });
  const { code, stdout } = await runHere(['doctor'], { ...fixture.env, DATABASE_URL: database.url });
  expect(code).toBe(1);
  expect(stdout).toMatch(/PROBLEM +migrations +of a version before 0\.1\.0\n +→ Use an empty database/);
});

test('says which secrets are in files, and which file every user can read', async () => {
  const [private_file, public_file] = [join(folder, 'url'), join(folder, 'token')];
  await writeFile(private_file, fixture.env.DATABASE_URL ?? '', { mode: 0o600 });
  await writeFile(public_file, 'a long random text', { mode: 0o644 });
  const env = { ...fixture.env, DATABASE_URL: '', DATABASE_URL_FILE: private_file, METRICS_TOKEN_FILE: public_file };
  const { code, stdout } = await runHere(['doctor'], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ok +secrets +not in the environment: DATABASE_URL \(DATABASE_URL_FILE\), METRICS_TOKEN \(/m);
  expect(stdout).toMatch(
    new RegExp(`^warning +secrets +every user .* can read ${public_file}\n +→ Run: chmod o-r`, 'm'),
  );
  expect(stdout).toMatch(/^ok +database /m);
  expect(stdout).not.toContain('a long random text');
});

test('runs MASTER_KEY_COMMAND, and commands that need the key fail with its error output', async () => {
  const file = await readFile(join(fixture.env.DATA_DIR ?? '', 'master.key'), 'utf8');
  const { PATH = '' } = process.env;
  const good = await runHere(['doctor'], { ...fixture.env, PATH, MASTER_KEY_COMMAND: `echo ${file.trim()}` });
  expect(good.stdout).toMatch(/^warning +master key +from MASTER_KEY_COMMAND; .* has another key/m);
  const failing = { ...fixture.env, PATH, MASTER_KEY_COMMAND: "sh -c 'echo card not present >&2; exit 3'" };
  const shown = await runHere(['doctor'], failing);
  expect(shown.code).toBe(1);
  expect(shown.stdout).toMatch(/^PROBLEM +master key +MASTER_KEY_COMMAND failed: sh ended with exit code 3\./m);
  expect(shown.stdout).toMatch(/card not present\n +→ Run the program as the user of the service\./);
  const verify = await runHere(['audit', 'verify'], failing);
  expect(verify).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^MASTER_KEY_COMMAND failed: .*\ncard not present\n$/),
  });
});

test('checks the identity provider', async () => {
  const provider = await startProvider();
  await provider.allowRedirect(fixture.sandbox.base_url);
  const env = { ...fixture.env, ...providerSettings(provider, 'owners=owner') };
  expect((await runHere(['doctor'], env)).stdout).toMatch(/ok +sign-in +localhost:\d+ is ready for single sign-on/);
  await provider.close();
  const down = await runHere(['doctor'], env);
  expect(down.code).toBe(1);
  expect(down.stdout).toMatch(/PROBLEM +sign-in +single sign-on is not ready: localhost:\d+ .*\n +→ Check OIDC_ISSUER/);
});

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A server that responds to everything in the same way. */
async function startOther(status: number, body: string): Promise<string> {
  const headers = { 'content-type': body.startsWith('{') ? 'application/json' : 'text/html' };
  const server = createServer((_request, response) => response.writeHead(status, headers).end(body));
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a dry run of the command line prints what the write would do, and stores nothing', async () => {
  const last_name = `Testpatient-${randomUUID()}`;
  const body = JSON.stringify({ first_name: 'Dry', last_name, dob: '1990-01-31', sex: 'female' });
  expect(await json('api', 'post', '/v1/patients', '--data', body, '--dry-run')).toStrictEqual({
    ...{ success: true, dry_run: true, emr_checked: true },
    would: [{ action: 'create', resource: 'patient', reasons: [] }],
  });
  expect((await fixture.api.call('GET', `/v1/patients?last_name=${last_name}`)).body.patients).toStrictEqual([]);
});
