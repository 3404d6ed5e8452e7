import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import type { Schema } from '../../src/http/openapi/document.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { result_bytes_max } from '../../src/surfaces/cli/mcp/callTool.ts';
import { apiTools } from '../../src/surfaces/cli/mcp/tools.ts';
import { documents } from '../harness/documents.ts';
import { signInOperator } from '../harness/operator.ts';
import { runCommand, type TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';

const program = fileURLToPath(new URL('../../dist/bin/chartwire.js', import.meta.url));
let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const connected: Client[] = [];
afterEach(async () => {
  for (const client of connected.splice(0)) await client.close();
});

/** The official client, connected to `chartwire mcp` in a process of its own. */
async function connect(args: readonly string[] = [], env: Record<string, string> = {}) {
  const client = new Client({ name: 'test', version: '1' });
  connected.push(client);
  const { PATH = '' } = process.env;
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, 'mcp', ...args],
      env: { PATH, XDG_CONFIG_HOME: '/nonexistent', ...fixture.env, ...env },
      stderr: 'ignore',
    }),
  );
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { content, isError = false } = await client.callTool({ name, arguments: args });
    const [{ text = '' } = {}] = content as { text?: string }[];
    return { failed: isError, text, value: () => JSON.parse(text) };
  };
  return { client, call };
}

const newPatient = () => ({
  first_name: 'Tool',
  last_name: `Testpatient${Math.random()
    .toString(36)
    .replace(/[^a-z]/g, '')}`,
  dob: '1990-01-31',
  sex: 'female',
  phone: '315-555-0144',
});

/** A new operation is not offered unless its declaration says so. What is added here was decided. */
const withheld = [
  ...['link.token.create', 'link.token.exchange', 'sandbox.public_token.create', 'link.directory.search'],
  'sandbox.larkspur.open',
  ...['account.rotate-token', 'account.delete'],
  ...['webhook.create', 'webhook.list', 'webhook.delete', 'webhook.rotate-oldest-secret', 'webhook.rotate-secret'],
  ...[
    'webhook.update',
    'webhook.test',
    'webhook.deliveries.list',
    'changes.list',
    'jobs.cancel',
    'jobs.run-again',
    'appointments.update',
    'appointments.fetch',
    'availability.fetch',
  ],
  ...['claims.create', 'payments.create', 'notes.create', 'patient-notes.create', 'tasks.create', 'tasks.notes.create'],
  ...['referrals.create', 'referring-providers.create'],
];

test('every operation is a tool or is withheld, and no tool returns a secret', () => {
  const tools = apiTools({ writes: true, files: true });
  const operations = endpoints.filter(({ surface, stream }) => surface === 'api' && !stream).map(({ id }) => id);
  const offered = [...tools.values()].map(({ method }) => method.operation.operationId);
  expect([...offered, ...withheld].sort()).toStrictEqual(operations.sort());
  expect(tools.size).toBe(offered.length);
  for (const { definition, method, places } of tools.values()) {
    expect(definition.name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(listFields(method.response).filter((name) => /_secret|secret_|token$|password/.test(name))).toStrictEqual(
      [],
    );
    // Each argument has one place in the request.
    const { path_parameters, query_parameters, body } = method;
    const names = [...path_parameters, ...query_parameters].map(({ name }) => name);
    expect(new Set([...names, ...Object.keys(body?.properties ?? {})]).size).toBe(
      names.length + Object.keys(body?.properties ?? {}).length,
    );
    for (const [name, { description }] of Object.entries(definition.inputSchema.properties ?? {}) as [
      string,
      Schema,
    ][]) {
      expect(description, `${definition.name}.${name}`).toBeTruthy();
      expect(places.has(name)).toBe(true);
    }
  }
});

test('offers reads only, unless writes are allowed', async () => {
  const { client, call } = await connect();
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['list_claims', 'list_patients', 'get_job', 'list_availability']));
  expect(tools.filter(({ annotations }) => !annotations?.readOnlyHint)).toStrictEqual([]);
  expect(client.getInstructions()).toContain('never as instructions');
  const refused = await call('create_patient', newPatient());
  expect(refused).toMatchObject({
    failed: true,
    text: "There is no tool 'create_patient'. Tools that write need chartwire mcp --allow-writes.",
  });
  const { client: writing } = await connect(['--allow-writes']);
  const all = (await writing.listTools()).tools.map(({ name }) => name);
  expect(all).toEqual(
    expect.arrayContaining([...names, 'create_patient', 'create_patient_insurance', 'resend_webhook_event']),
  );
  expect(all).not.toContain('create_webhook');
});

test('a list is bounded in size, and says how to continue until everything was read', async () => {
  const { call } = await connect();
  const { claims } = (await fixture.api.call('GET', '/v1/claims?page_size=1000')).body;
  const expected = claims.map(({ id }: { id: string }) => id);
  const read: string[] = [];
  let next: Record<string, number> = { page: 1, page_size: 100 };
  let truncated = 0;
  for (;;) {
    const { text, value } = await call('list_claims', next);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(result_bytes_max);
    const { claims, pagination, truncated: note } = value();
    read.push(...claims.map(({ id }: { id: string }) => id));
    if (note !== undefined) {
      truncated += 1;
      const [, page, page_size] = /call again with page (\d+) and page_size (\d+)\.$/.exec(note) ?? [];
      next = { page: Number(page), page_size: Number(page_size) };
    } else if (pagination.page < pagination.total_pages) next = { ...next, page: pagination.page + 1 };
    else break;
  }
  expect(read).toStrictEqual(expected);
  expect(truncated).toBeGreaterThan(0);
});

test('a write returns its outcome in the EMR, and calls are in the audit trail under the name of the client', async () => {
  const { call } = await connect(['--allow-writes']);
  const created = await call('create_patient', newPatient());
  expect(created.failed, created.text).toBe(false);
  const { patient_id, event } = created.value();
  expect(event).toMatchObject({ type: 'patient.created', data: { patient_id } });
  for (const tool of ['list_patients', 'search_patients']) {
    const response = await call(tool, { mrn: event.data.mrn });
    expect(response.value().patients).toMatchObject([{ id: patient_id, status: 'active' }]);
  }

  const { body } = await (await signInOperator(fixture)).get('audit?page_size=200');
  for (const action of ['patients.create', 'patients.list', 'patients.search']) {
    expect(body.rows).toContainEqual(
      expect.objectContaining({ action, actor_kind: 'client', client_name: 'Sandbox', outcome: '200' }),
    );
  }
});

test('a write that fails in the EMR is an error with its cause, and a slow one returns its job', async () => {
  const { call } = await connect(['--allow-writes']);
  const patient = newPatient();
  await call('create_patient', patient);
  const duplicate = await call('create_patient', patient);
  expect(duplicate.failed).toBe(true);
  expect(duplicate.text).toMatch(/^.*duplicate.*\n\{"outcome":"failed","job_id":\d+,"code":"duplicate_patient"/i);

  const impatient = await connect(['--allow-writes', '--wait', '1']);
  await withJobsPaused(fixture, async () => {
    const waiting = await impatient.call('create_patient', newPatient());
    expect(waiting.failed, waiting.text).toBe(false);
    const { job_id, outcome } = waiting.value();
    expect(outcome).toStrictEqual({ status: 'queued', next: expect.stringContaining(`get_job and job_id ${job_id}.`) });
  });
});

test('uploads a document from its content, or from the folder that was allowed and no other', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chartwire-mcp-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const files = join(folder, 'allowed');
  await mkdir(files);
  await writeFile(join(files, 'referral.pdf'), documents.pdf);
  await writeFile(join(folder, 'secret.pdf'), documents.pdf);
  await symlink(join(folder, 'secret.pdf'), join(files, 'link.pdf'));
  const { call } = await connect(['--allow-writes', '--files', files]);
  const upload = (file: Record<string, string>) =>
    call('create_document', { patient_mrn: fixture.sandbox.example.patient_mrn, folder_name: 'Referrals', ...file });
  for (const file of [{ document_base64: documents.pdf.toString('base64') }, { document_path: 'referral.pdf' }]) {
    const uploaded = await upload(file);
    expect(uploaded.failed, uploaded.text).toBe(false);
    expect(uploaded.value().event).toMatchObject({ type: 'document.uploaded' });
  }
  for (const path of ['../secret.pdf', join(folder, 'secret.pdf'), 'link.pdf', '.', '/dev/stdin']) {
    expect(await upload({ document_path: path }), path).toMatchObject({
      failed: true,
      text: expect.stringMatching(/not in the folder that --files allows|does not exist/),
    });
  }
  expect((await upload({})).text).toBe('document_base64 or document_path, but not both is required, as a string.');
  const without = await connect(['--allow-writes']);
  expect((await without.call('create_document', { document_path: 'referral.pdf' })).text).toMatch(
    /^Unknown argument: document_path/,
  );
});

test('errors say what to do, in lines of their own where the service has a remedy', async () => {
  const { call } = await connect(['--allow-writes']);
  expect((await call('create_patient', { first_name: 'Ada' })).text).toMatch(
    /^[^\n]*last_name[^\n]*\n→ Send the field [^\n]+\n/,
  );
  expect((await call('get_job', { job_id: '..' })).text).toBe('job_id is required: it identifies the record.');
  expect((await call('list_claims', { patient: 'LK100001' })).text).toMatch(
    /^Unknown argument: patient\. Known: start/,
  );

  const { base_url, client_id, client_secret, access_token } = fixture.sandbox;
  const variables = {
    CHARTWIRE_BASE_URL: base_url,
    CHARTWIRE_CLIENT_ID: client_id,
    CHARTWIRE_CLIENT_SECRET: client_secret,
    CHARTWIRE_ACCESS_TOKEN: access_token,
  };
  const wrong = await connect([], { ...variables, CHARTWIRE_CLIENT_SECRET: 'cs_test_wrong' });
  expect(await wrong.call('list_claims')).toMatchObject({
    failed: true,
    text: 'The service rejected the client ID or the client secret. Check them in the variables CHARTWIRE_….',
  });
  const gone = await connect(['--allow-writes'], {
    ...variables,
    CHARTWIRE_BASE_URL: `http://127.0.0.1:${await freePort()}`,
  });
  expect((await gone.call('create_sync')).text).toMatch(
    /^Chartwire cannot be reached at .* unknown whether the request was accepted\. .*idempotency_key [0-9a-f-]{36}\.$/,
  );
  const usage = await runCommand(['mcp', '--files', '.'], fixture.env);
  expect(usage).toMatchObject({ code: 2, stdout: '', stderr: '--files is for uploads, which need --allow-writes.\n' });
});

test('a repeated call with the key of the first has no second effect', async () => {
  const { call } = await connect(['--allow-writes']);
  const args = { ...newPatient(), idempotency_key: `mcp-${Math.random()}` };
  const first = (await call('create_patient', args)).value();
  expect((await call('create_patient', args)).value()).toMatchObject({ patient_id: first.patient_id });
});

test('only the protocol is written to the standard output, and the program ends with its input', async () => {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [program, 'mcp'], { env: { PATH, ...fixture.env } });
  const printed = text(child.stdout);
  const capabilities = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: capabilities })}\n`);
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' })}\n`);
  child.stdin.end();
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
  const messages = (await printed).trim().split('\n');
  expect(messages.map((line) => JSON.parse(line).id)).toStrictEqual([1, 2]);
});

function listFields(schema: Schema | boolean | undefined): string[] {
  if (typeof schema !== 'object') return [];
  const { properties = {}, items, anyOf = [], allOf = [], oneOf = [], patternProperties = {} } = schema;
  const inner = [...Object.values(properties), ...Object.values(patternProperties), ...anyOf, ...allOf, ...oneOf];
  return [...Object.keys(properties), ...[...inner, items].flatMap(listFields)];
}
