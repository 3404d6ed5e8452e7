import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
// @ts-expect-error: plain JavaScript, which has no types.
import { packFolder } from '../../scripts/archive.mjs';
// @ts-expect-error: plain JavaScript, which has no types.
import { installPackages, isPlainNpm, listNeeded } from '../../scripts/packages.mjs';

const root = resolve(import.meta.dirname, '../..');
type Locked = { version: string; integrity?: string; [key: string]: unknown };
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>;
};

test('npm start installs every package that the program and its pages import, and no tool of the tests', () => {
  const needed = listNeeded(packages, () => true);
  for (const name of ['vitest', 'typescript', '@biomejs/biome', 'playwright-core', '@redocly/cli', '@medplum/core'])
    expect(needed, name).not.toContain(`node_modules/${name}`);
  const files = ['src', 'sql', 'larkspur', 'web'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|tsx|css)$/.test(name))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  );
  const imported = new Set(
    files.flatMap((text) =>
      [...text.matchAll(/^(?!import type)(?:import|export|\}).*?['"]((?:@[\w-]+\/)?[a-z][\w.-]*)(?:\/[^'"]*)?['"]/gm)]
        .map(([, name = '']) => name)
        .filter((name) => packages[`node_modules/${name}`] !== undefined),
    ),
  );
  expect(imported.size).toBeGreaterThan(30);
  for (const name of [...imported, 'vite']) expect(needed, name).toContain(`node_modules/${name}`);
});

test('npm installs the packages itself where it is configured to do so in another way', () => {
  const agent = { npm_config_user_agent: 'npm/11.0.0 node/v20.19.0 linux x64' };
  expect(isPlainNpm(agent)).toBe(true);
  expect(isPlainNpm({ ...agent, npm_config_cafile: '/etc/ssl/ca.pem', npm_config_ignore_scripts: '' })).toBe(true);
  for (const environment of [
    {},
    { npm_config_user_agent: 'pnpm/9.0.0 npm/? node/v20.19.0' },
    { ...agent, npm_config_registry: 'https://npm.example.org/' },
    { ...agent, npm_config_ignore_scripts: 'true' },
    { ...agent, HTTPS_PROXY: 'http://proxy.example.org:3128' },
  ])
    expect(isPlainNpm(environment)).toBe(false);
});

let folder: string;
let server: Server;
let registry: string;
const archives = new Map<string, Buffer>();
beforeAll(async () => {
  folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? '/tmp', 'packages-'));
  server = createServer((request, response) => {
    const archive = archives.get(request.url ?? '');
    response.writeHead(archive ? 200 : 404).end(archive);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

/** Publishes a package whose scripts leave a file, and returns its entry in the lockfile. */
async function publish(name: string, more: object = {}): Promise<Locked> {
  const source = join(folder, 'sources', name);
  await mkdir(join(source, 'a'.repeat(60), 'b'.repeat(60)), { recursive: true });
  await writeFile(join(source, 'package.json'), JSON.stringify({ name, scripts: { postinstall: 'touch ran' } }));
  await writeFile(join(source, 'a'.repeat(60), 'b'.repeat(60), 'deep.txt'), name);
  await writeFile(join(source, 'program'), '#!/bin/sh\n', { mode: 0o755 });
  const file = join(folder, 'archive.tgz');
  await packFolder(source, file, { name: 'package', modified_s: 0 });
  const archive = await readFile(file);
  archives.set(`/${name}/-/${name.split('/').pop()}-1.0.0.tgz`, archive);
  return { version: '1.0.0', integrity: `sha512-${createHash('sha512').update(archive).digest('base64')}`, ...more };
}

async function createProject(locked: Record<string, Locked>, names: string[]): Promise<string> {
  const project = await mkdtemp(join(folder, 'project-'));
  const dependencies = Object.fromEntries(names.map((name) => [name, '1.0.0']));
  await writeFile(join(project, 'package.json'), JSON.stringify({ allowScripts: { '@x/runs': true } }));
  await writeFile(
    join(project, 'package-lock.json'),
    JSON.stringify({ packages: { '': { dependencies, devDependencies: {} }, ...locked } }),
  );
  return project;
}

test('what is installed has the files of the packages, and only allowed packages run a script', async () => {
  const locked = {
    'node_modules/@x/runs': await publish('@x/runs', { hasInstallScript: true, dependencies: { inner: '1.0.0' } }),
    'node_modules/@x/runs/node_modules/inner': await publish('inner', { hasInstallScript: true }),
    'node_modules/elsewhere': await publish('elsewhere', { os: ['plan9'] }),
    'node_modules/unused': await publish('unused'),
  };
  const needs_elsewhere = { ...locked['node_modules/@x/runs'], optionalDependencies: { elsewhere: '1.0.0' } };
  const project = await createProject({ ...locked, 'node_modules/@x/runs': needs_elsewhere }, ['@x/runs']);
  await installPackages(project, ({ os }: Locked) => os === undefined, registry);
  const at = (path: string) => join(project, 'node_modules', path);
  expect(await readFile(at(`@x/runs/${'a'.repeat(60)}/${'b'.repeat(60)}/deep.txt`), 'utf8')).toBe('@x/runs');
  expect((await stat(at('@x/runs/program'))).mode & 0o777).toBe(0o755);
  expect((await stat(at('@x/runs/package.json'))).mode & 0o777).toBe(0o644);
  expect(['@x/runs/ran', '@x/runs/node_modules/inner/program'].map((path) => existsSync(at(path)))).toEqual([
    true,
    true,
  ]);
  const absent = ['@x/runs/node_modules/inner/ran', 'elsewhere', 'unused'];
  expect(absent.filter((path) => existsSync(at(path)))).toStrictEqual([]);
});

test('a package with another checksum, from another place or without one is not unpacked', async () => {
  const right = await publish('victim');
  for (const [entry, reason] of [
    [{ ...right, integrity: `sha512-${createHash('sha512').update('other').digest('base64')}` }, 'checksum'],
    [{ ...right, integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }, 'checksum'],
    [{ version: '1.0.0' }, 'checksum'],
    [{ ...right, resolved: 'https://elsewhere.example.org/victim-1.0.0.tgz' }, 'registry'],
    [{ ...right, version: '2.0.0' }, '404'],
  ] as const) {
    const project = await createProject({ 'node_modules/victim': entry }, ['victim']);
    await expect(installPackages(project, () => true, registry)).rejects.toThrow(reason);
    expect(existsSync(join(project, 'node_modules/victim'))).toBe(false);
  }
  const lacking = await createProject({}, ['victim']);
  await expect(installPackages(lacking, () => true, registry)).rejects.toThrow('The lockfile has no victim');
});
