import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { sharedSandbox } from '../harness/sharedSandbox.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** What a new user writes, with types. The same code without them runs as ESM and as CommonJS. */
const program = `
const client = new Chartwire({
  baseUrl: process.env.BASE_URL ?? '',
  clientId: process.env.CLIENT_ID ?? '',
  clientSecret: process.env.CLIENT_SECRET ?? '',
  accessToken: process.env.ACCESS_TOKEN ?? '',
});
async function main() {
  const last_name = 'Testpatient' + Math.random().toString(36).replace(/[^a-z]/g, '');
  const event = await client.patients.createAndWait({ first_name: 'Packed', last_name, dob: '1990-01-31', sex: 'male', phone: '315-555-0143' });
  const { patients } = await client.patients.list({ mrn: event.data.mrn });
  const body = process.env.EVENT ?? '';
  const received = await verifyWebhook(body, JSON.parse(process.env.HEADERS ?? '{}'), process.env.SECRET ?? '');
  const mrn = received.type === 'patient.created' ? received.data.mrn : '';
  const error = await client.jobs.get('0').catch((each) => each);
  console.log(JSON.stringify([event.type, patients[0]?.last_name === last_name, mrn, error instanceof NotFoundError]));
}
void main();
`;
const names = '{ Chartwire, NotFoundError }';

test('the packed library installs into an empty folder and works with import, require and types', async () => {
  const folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'sdk-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const npm_env = { ...process.env, npm_config_cache: join(folder, 'cache') };
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: join(root, 'dist/sdk'),
    env: npm_env,
  });
  const [{ filename, files }] = JSON.parse(packed.stdout);
  expect(files.map(({ path }: { path: string }) => path)).toEqual(
    expect.arrayContaining(['README.md', 'LICENSE', 'index.js', 'index.d.ts', 'cjs/index.js', 'cjs/link.d.ts']),
  );
  const app = join(folder, 'app');
  await mkdir(app);
  await writeFile(join(app, 'package.json'), '{ "private": true }');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, filename)], {
    cwd: app,
    env: npm_env,
  });

  await writeFile(
    join(app, 'app.mjs'),
    `import ${names} from '@chartwire/client';\nimport { verifyWebhook } from '@chartwire/client/webhooks';\n${program}`,
  );
  await writeFile(
    join(app, 'app.cjs'),
    `const ${names} = require('@chartwire/client');\nconst { verifyWebhook } = require('@chartwire/client/webhooks');\n${program}`,
  );
  const { sandbox } = await sharedSandbox();
  const secret = 'whsec_RVhBTVBMRS1FWEFNUExFLUVYQU1QTEUtRVhBTVBMRSE=';
  const event = JSON.stringify({ id: 'e1', object: 'event', type: 'patient.created', data: { mrn: 'LK100001' } });
  const at = new Date();
  const env = {
    PATH: process.env.PATH ?? '',
    BASE_URL: sandbox.base_url,
    CLIENT_ID: sandbox.client_id,
    CLIENT_SECRET: sandbox.client_secret,
    ACCESS_TOKEN: sandbox.access_token,
    SECRET: secret,
    EVENT: event,
    HEADERS: JSON.stringify({
      'webhook-id': 'e1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('e1', at, event),
    }),
  };
  for (const file of ['app.mjs', 'app.cjs']) {
    const { stdout } = await run(process.execPath, [file], { cwd: app, env });
    expect(JSON.parse(stdout), file).toStrictEqual(['patient.created', true, 'LK100001', true]);
  }

  // The quickstart and the lists of the guide, as they are printed there.
  const guide = await readFile(join(root, 'sdk/README.md'), 'utf8');
  const snippets = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code);
  const example = snippets.slice(0, 2).join('\n');
  await writeFile(join(app, 'guide.mjs'), example);
  const guide_env = {
    PATH: env.PATH,
    CHARTWIRE_BASE_URL: sandbox.base_url,
    CHARTWIRE_CLIENT_ID: sandbox.client_id,
    CHARTWIRE_CLIENT_SECRET: sandbox.client_secret,
    CHARTWIRE_ACCESS_TOKEN: sandbox.access_token,
  };
  expect((await run(process.execPath, ['guide.mjs'], { cwd: app, env: guide_env })).stdout).toMatch(/^LK\d+\n/);

  const head = `declare const process: { env: Record<string, string | undefined> };\n`;
  const imports = `import ${names} from '@chartwire/client';\nimport { verifyWebhook } from '@chartwire/client/webhooks';\n`;
  const link = `import { openLink } from '@chartwire/client/link';\nvoid openLink;\n`;
  await writeFile(join(app, 'typed.mts'), head + imports + link + program);
  await writeFile(join(app, 'guide.mts'), head + example);
  await writeFile(join(app, 'typed.cts'), head + imports + program);
  await writeFile(
    join(app, 'wrong.mts'),
    `${imports}\nnew Chartwire({ clientId: 5 });\nvoid verifyWebhook;\nvoid NotFoundError;\n`,
  );
  const tsc = (...files: string[]) =>
    run(
      process.execPath,
      [
        join(root, 'node_modules/typescript/bin/tsc'),
        ...['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', '', ...files],
      ],
      { cwd: app },
    );
  await tsc('typed.mts', 'typed.cts', 'guide.mts');
  await expect(tsc('wrong.mts')).rejects.toMatchObject({
    stdout: expect.stringContaining("'number' is not assignable"),
  });
});

const has_python = await run('python3', ['-c', 'import venv']).then(
  () => true,
  () => false,
);

test.skipIf(!has_python)('npm and pip install the client libraries from the service, with types', async () => {
  const folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'served-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { sandbox } = await sharedSandbox();
  const { base_url } = sandbox;
  const response = await fetch(`${base_url}/sdk.tgz`);
  expect(response.headers.get('content-type')).toBe('application/gzip');
  const etag = response.headers.get('etag') ?? '';
  expect((await fetch(`${base_url}/sdk/chartwire-0.1.0.tgz`, { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await fetch(`${base_url}/sdk.tgz`, { method: 'HEAD' })).status).toBe(200);
  for (const path of ['/sdk/other.tgz', '/sdk/..%2f..%2fpackage.json']) {
    expect((await fetch(base_url + path)).status, path).toBe(404);
  }

  const env = { ...process.env, npm_config_cache: join(folder, 'cache') };
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  await run('npm', ['install', '--no-audit', '--no-fund', `${base_url}/sdk.tgz`], { cwd: folder, env });
  const program =
    "import { Chartwire } from '@chartwire/client';\nconsole.log(typeof new Chartwire().patients.create);\n";
  await writeFile(join(folder, 'app.mjs'), program);
  const credentials = {
    PATH: process.env.PATH ?? '',
    CHARTWIRE_BASE_URL: base_url,
    CHARTWIRE_CLIENT_ID: sandbox.client_id,
    CHARTWIRE_CLIENT_SECRET: sandbox.client_secret,
    CHARTWIRE_ACCESS_TOKEN: sandbox.access_token,
  };
  const { stdout } = await run(process.execPath, ['app.mjs'], { cwd: folder, env: credentials });
  expect(stdout).toBe('function\n');
  expect(await readFile(join(folder, 'node_modules/@chartwire/client/cjs/index.d.ts'), 'utf8')).toContain('Chartwire');

  await run('python3', ['-m', 'venv', join(folder, 'venv')]);
  const python = join(folder, 'venv/bin/python');
  const wheel = `${base_url}/sdk/chartwire-0.1.0-py3-none-any.whl`;
  await run(python, ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-index', wheel]);
  const script =
    "import chartwire, os; print(chartwire.Chartwire().settings.get()['success'], os.listdir(os.path.dirname(chartwire.__file__)).count('py.typed'))";
  expect((await run(python, ['-c', script], { env: credentials, cwd: folder })).stdout).toBe('True 1\n');
});
