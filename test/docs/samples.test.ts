import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newWebhookSecret } from '../../src/catalog/ids.ts';
import { type Endpoint, isRead } from '../../src/http/endpoint.ts';
import { codeSamples, type SampleValues } from '../../src/http/openapi/codeSamples.ts';
import { composeExamples, listCredentialHeaders } from '../../src/http/openapi/describeOperation.ts';
import { composeOpenApi } from '../../src/http/openapi/openApi.ts';
import { signWebhook } from '../../src/platform/security/signatures.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { tryItValues } from '../../src/surfaces/sandbox/banner.ts';
import { documents } from '../harness/documents.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { completeBooking } from '../spec/support/completedJobs.ts';
import { queuedCall } from '../spec/support/queuedCall.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';

/** The samples use the client library of the last build: run `npm run build` before this file alone. */
const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const has_python = await run('python3', ['-c', 'import sys; assert sys.version_info >= (3, 9)']).then(
  () => true,
  () => false,
);
/** These end the account, need a value that is valid once, or have no end. */
const not_executed = new Set([
  'account.delete',
  'account.rotate-token',
  'link.token.exchange',
  'sandbox.public_token.create',
  'webhook-events.stream',
]);
/** Last, because it deletes the endpoint that others refer to. */
const executed = endpoints
  .filter(({ id }) => !not_executed.has(id))
  .sort((a, b) => Number(a.id === 'webhook.delete') - Number(b.id === 'webhook.delete'));
const webhook_url = 'http://127.0.0.1:9/hook';
const success = Object.fromEntries(executed.map(({ id }) => [id, '200']));

let fixture: TestSandbox;
let folder: string;
let env: Record<string, string>;
let failed_job_id: number;
let unbilled_id: string;
let document_id: string;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const { client_id, client_secret, access_token } = fixture.sandbox;
  env = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    PYTHONPATH: join(root, 'sdk/python'),
    PYTHONDONTWRITEBYTECODE: '1',
    CLIENT_ID: client_id,
    CLIENT_SECRET: client_secret,
    ACCESS_TOKEN: access_token,
  };
  folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? '/tmp', 'samples-'));
  await mkdir(join(folder, 'node_modules/@chartwire'), { recursive: true });
  await symlink(join(root, 'dist/sdk'), join(folder, 'node_modules/@chartwire/client'));
  await symlink(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'));
  await symlink(join(root, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'));
  await writeFile(join(folder, 'referral.pdf'), documents.pdf);
  const accepted = await fixture.api.callIn();
  await fixture.api.untilEvent(accepted.body.job_id);
});
afterAll(async () => {
  await fixture.close();
  await rm(folder, { recursive: true, force: true });
});

test('samples are executed for every read, and for at least one write of every resource', () => {
  const writes = executed.filter(({ method }) => method !== 'GET');
  const with_writes = new Set(endpoints.filter(({ method }) => method !== 'GET').map(({ group }) => group));
  expect(new Set(writes.map(({ group }) => group))).toStrictEqual(with_writes);
  expect(endpoints.filter((each) => isRead(each) && not_executed.has(each.id)).map(({ id }) => id)).toEqual([
    'link.token.exchange',
    'webhook-events.stream',
  ]);
});

test('the samples in curl succeed', async () => {
  await prepare();
  const statuses: Record<string, string> = {};
  for (const endpoint of executed) {
    const { stdout } = await run('sh', ['-c', `${await sample(endpoint, 'curl')} -s -o /dev/null -w '%{http_code}'`], {
      cwd: folder,
      env,
    });
    statuses[endpoint.id] = stdout;
  }
  expect(statuses).toStrictEqual(
    Object.fromEntries(executed.map(({ id, accepted_status = 200 }) => [id, String(accepted_status)])),
  );
});

test('the samples in TypeScript succeed', async () => {
  await prepare();
  for (const endpoint of executed) {
    await writeFile(join(folder, `${endpoint.id}.mjs`), await sample(endpoint, 'TypeScript'));
  }
  // The library throws an error for every status but 2xx.
  await writeFile(
    join(folder, 'run.mjs'),
    `const statuses = {};
console.log = () => {};
for (const id of ${JSON.stringify(executed.map(({ id }) => id))})
  statuses[id] = await import(\`./\${id}.mjs\`).then(() => '200', (error) => String(error));
process.stdout.write(JSON.stringify(statuses));`,
  );
  const { stdout } = await run(process.execPath, ['run.mjs'], { cwd: folder, env });
  expect(JSON.parse(stdout)).toStrictEqual(success);
});

test.skipIf(!has_python)('the samples in Python succeed', async () => {
  await prepare();
  for (const endpoint of executed) {
    await writeFile(join(folder, `${endpoint.id}.py`), await sample(endpoint, 'Python'));
  }
  await writeFile(
    join(folder, 'run.py'),
    `import contextlib, io, json
statuses = {}
for name in ${JSON.stringify(executed.map(({ id }) => id))}:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(open(name + ".py").read(), name, "exec"), {})
        statuses[name] = "200"
    except Exception as error:
        statuses[name] = repr(error)
print(json.dumps(statuses))`,
  );
  const { stdout } = await run('python3', ['run.py'], { cwd: folder, env });
  expect(JSON.parse(stdout)).toStrictEqual(success);
});

test('are correct in every operation, as shown: TypeScript by its types, Python by its syntax', async () => {
  const document = composeOpenApi(endpoints, { version: '0.0.0', base_url: 'http://localhost:4000' });
  const shown = Object.values(document.paths).flatMap((item) => Object.values(item));
  const place = join(folder, 'shown');
  await mkdir(place);
  for (const { operationId, 'x-codeSamples': samples } of shown) {
    const languages = samples.map(({ label }) => label);
    expect(languages, operationId).toStrictEqual(
      operationId === 'webhook-events.stream' ? ['curl'] : ['curl', 'TypeScript', 'Python'],
    );
    for (const { label, source } of samples) {
      if (label === 'TypeScript') await writeFile(join(place, `${operationId}.mts`), source);
      if (label === 'Python') await writeFile(join(place, `${operationId}.py`), source);
    }
  }
  expect(await typeErrors(place)).toBe('');
  if (has_python) await run('python3', ['-m', 'compileall', '-q', place], { env });
});

describe('the code of the guides', () => {
  const guides = ['quickstart', 'webhooks', 'errors-and-retries'];
  const here = (code: string) => code.replaceAll('http://localhost:4000', fixture.sandbox.base_url);

  test.each(guides)('%s: its requests succeed', async (name) => {
    const commands = readBlocks(name, 'bash').filter((code) => code.includes('curl'));
    expect(commands.length).toBeGreaterThan(0);
    for (const code of commands) {
      const { stdout } = await run('sh', ['-c', here(code)], { cwd: folder, env });
      expect(stdout, code).toMatch(/"success"\s*:\s*true/);
    }
  });

  test('quickstart: its programs create an encounter and wait for it', async () => {
    const [program = ''] = readBlocks('quickstart', 'ts');
    await writeFile(join(folder, 'quickstart.mjs'), here(program));
    const { stdout } = await run(process.execPath, ['quickstart.mjs'], { cwd: folder, env });
    expect(stdout).toMatch(/^telephone_encounter\.created \d+\n$/);
    if (!has_python) return;
    const [script = ''] = readBlocks('quickstart', 'python');
    await writeFile(join(folder, 'quickstart.py'), here(script));
    expect((await run('python3', ['quickstart.py'], { cwd: folder, env })).stdout).toMatch(
      /^telephone_encounter\.created \d+\n$/,
    );
  });

  test('webhooks: the code that verifies a signature accepts only genuine, recent requests', async () => {
    const [code = ''] = readBlocks('webhooks', 'js');
    const { isGenuine } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const [secret, older, body] = [newWebhookSecret(), newWebhookSecret(), '{"id":"1"}'];
    const timestamp_s = Math.floor(Date.now() / 1000);
    const headers = signWebhook({ id: 'e1', timestamp_s, body, secrets: [secret, older] });
    expect(isGenuine(headers, body, secret)).toBe(true);
    expect(isGenuine(headers, body, older)).toBe(true);
    expect(isGenuine(headers, `${body} `, secret)).toBe(false);
    expect(isGenuine(headers, body, newWebhookSecret())).toBe(false);
    const old = signWebhook({ id: 'e1', timestamp_s: timestamp_s - 600, body, secrets: [secret] });
    expect(isGenuine(old, body, secret)).toBe(false);
  });

  test('is correct in TypeScript by its types', async () => {
    const place = join(folder, 'guides');
    await mkdir(place);
    for (const name of guides) {
      for (const [index, code] of readBlocks(name, 'ts').entries())
        await writeFile(join(place, `${name}.${index}.mts`), code);
    }
    expect(await typeErrors(place)).toBe('');
  });
});

/** The code blocks of a guide in a language. */
function readBlocks(guide: string, language: string): string[] {
  const text = readFileSync(join(root, `docs/guides/${guide}.md`), 'utf8');
  return [...text.matchAll(/^```(\w+)[^\n]*\n([\s\S]*?)^```/gm)]
    .filter(([, name]) => name === language)
    .map(([, , code = '']) => code);
}

/** What the compiler says about the modules of a folder. */
async function typeErrors(place: string): Promise<string> {
  const options = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: ['node'] };
  await writeFile(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.mts'] }));
  return run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', place]).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  );
}

/** A webhook endpoint, a failed job, a visit without a claim and a document, which samples refer to and use up. */
async function prepare(): Promise<void> {
  expect((await fixture.api.call('POST', '/v1/webhook', { body: { webhook_url } })).status).toBe(200);
  failed_job_id = (await fixture.api.callIn({ patient_mrn: 'LK999999' })).body.job_id;
  await fixture.api.untilEvent(failed_job_id);
  unbilled_id = (await completeBooking(fixture)).event.data.appointment_id;
  document_id = (await sendDocument(fixture)).body.document_id;
}

/** The sample of an endpoint, with values of this installation where the example is not one. */
async function sample(endpoint: Endpoint, language: string): Promise<string> {
  const values: SampleValues = structuredClone(composeExamples(endpoint));
  if (endpoint.id === 'jobs.run-again') values.params.job_id = failed_job_id;
  if (endpoint.id === 'jobs.cancel') values.params.job_id = await queuedCall(fixture);
  if (endpoint.id === 'documents.get') values.params.id = document_id;
  if (endpoint.id === 'claims.create') values.body = { appointment_id: unbilled_id };
  // A host that does not exist: looking it up would delay the end of the test.
  if (values.body?.webhook_url) values.body.webhook_url = webhook_url;
  for (const [name, source] of Object.entries(endpoint.found_in ?? {})) {
    if (endpoint.id === 'claims.create' || source.startsWith('POST ')) continue;
    const [origin = '', pointer = ''] = source.split('#');
    const value = pointer
      .split('/')
      .slice(1)
      .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], await bodyFrom(origin));
    const part = [values.params, values.query, values.body].find((each) => each && name in each);
    if (part) part[name] = value;
  }
  const samples = codeSamples(endpoint, values, fixture.sandbox.base_url, listCredentialHeaders(endpoint));
  return samples.find(({ label }) => label === language)?.source ?? '';
}

async function bodyFrom(origin: string): Promise<unknown> {
  if (origin === 'sandbox') return tryItValues(fixture.ctx, fixture.sandbox);
  return (await fixture.api.call('GET', origin.replace('GET ', ''))).body;
}
