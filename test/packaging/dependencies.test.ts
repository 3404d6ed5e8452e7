import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const service = JSON.parse(read('package.json'));
const checks = JSON.parse(read('test/package.json'));
const required: Record<string, string> = {
  ...service.dependencies,
  ...service.optionalDependencies,
  ...service.devDependencies,
  ...checks.devDependencies,
};
const locked: Record<string, { version: string; link?: boolean }> = JSON.parse(read('package-lock.json')).packages;

/** The lines of docs/dependencies.tsv, by package. */
function listChecks(): Map<string, { version: string; checked: string }> {
  const [, ...lines] = read('docs/dependencies.tsv').trimEnd().split('\n');
  return new Map(
    lines.map((line) => {
      const [name = '', version = '', checked = '', ...rest] = line.split('\t');
      expect(rest, line).toHaveLength(4);
      return [name, { version, checked }];
    }),
  );
}

test('every dependency was checked in the version that is installed, at a date that is on record', () => {
  const checked_versions = listChecks();
  const remedy = 'Run: npm run check:dependencies -- --record';
  const unchecked = Object.keys(required).filter(
    (name) => checked_versions.get(name)?.version !== locked[`node_modules/${name}`]?.version,
  );
  expect(unchecked, remedy).toStrictEqual([]);
  expect(
    [...checked_versions.keys()].filter((name) => !(name in required)),
    remedy,
  ).toStrictEqual([]);
  for (const [name, { checked }] of checked_versions) {
    expect(checked, name).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(new Date(`${checked}T00:00:00Z`).toISOString().slice(0, 10), name).toBe(checked);
  }
});

test('every dependency is pinned to an exact version and has its line in the record of dependencies', () => {
  const ranges = Object.entries(required).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
  expect(ranges).toStrictEqual([]);
  const record = read('docs/decisions/0002-dependencies.md');
  // Types of a library are part of it; some lines name a group.
  const named = [...record.matchAll(/`([@\w./*-]+)`/g)].map(([, name = '']) => name);
  const isNamed = (name: string) =>
    named.some((each) => each === name || (each.endsWith('/*') && name.startsWith(each.slice(0, -1))));
  const types = (name: string) => name.replace(/^@types\//, '').replace('react-dom', 'react');
  const missing = Object.keys(required).filter(
    (name) => !isNamed(name) && !isNamed(types(name)) && name !== '@types/node',
  );
  expect(missing).toStrictEqual([]);
});

test('what npm start builds and runs imports no package that only checks need', () => {
  const folders = ['src', 'sql', 'larkspur', 'web', 'sdk/src', 'scripts/sdk'];
  const sources = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  );
  const scripts = ['start', 'install', 'build', 'ports', 'connectorPackage'].map((name) => `scripts/${name}.mjs`);
  const only_checks = Object.keys(checks.devDependencies);
  const wrong = [...sources, ...scripts]
    .filter((path) => /\.(tsx?|mjs|css)$/.test(path))
    .flatMap((path) =>
      [...read(path).matchAll(/(?:from|import|import\() ?'((?:@[\w-]+\/)?[\w.-]+)/g)]
        .filter(([, name = '']) => only_checks.includes(name))
        .map(([, name]) => `${path}: ${name}`),
    );
  expect(sources.length).toBeGreaterThan(1000);
  expect(wrong).toStrictEqual([]);
});

type Registry = { deprecated?: string; advisories?: Record<string, unknown>; status?: number };

/** A registry with the versions of the lockfile, and the check against it. */
async function runCheck({
  deprecated,
  advisories = {},
  status = 200,
}: Registry): Promise<{ code: number; output: string }> {
  const server = createServer((request, response) => {
    if (request.method === 'POST') return void response.writeHead(status).end(JSON.stringify(advisories));
    const name = decodeURIComponent(request.url ?? '').slice(1);
    const { version = '' } = locked[`node_modules/${name}`] ?? {};
    const fault = name === deprecated ? { deprecated: 'Use another one.' } : {};
    const newer = version.replace(/\d+$/, '999999');
    const versions = { [version]: fault, ...(name === 'fastify' ? { [newer]: {} } : {}) };
    response.end(JSON.stringify({ 'dist-tags': { latest: name === 'fastify' ? newer : version }, versions }));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const child = spawn(process.execPath, ['scripts/checkDependencies.mjs'], {
    cwd: root,
    env: { PATH: process.env.PATH, npm_config_registry: `http://127.0.0.1:${port}/` },
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, output: stdout + stderr };
}

test('the check lists newer versions and passes if nothing is deprecated or vulnerable', async () => {
  const { code, output } = await runCheck({});
  expect(output).toMatch(/^fastify [\d.]+: [\d.]+999999 is newer$/m);
  expect(output).toContain(`ok: ${Object.keys(required).length} dependencies`);
  expect(code).toBe(0);
});

test('the check fails for a deprecated dependency and for a vulnerable one, also an indirect one', async () => {
  const deprecated = await runCheck({ deprecated: 'pg' });
  expect(deprecated).toMatchObject({ code: 1, output: expect.stringMatching(/^pg is deprecated$/m) });
  const indirect = Object.keys(locked).find(
    (path) => path.startsWith('node_modules/') && !(path.slice(13) in required) && !locked[path]?.link,
  );
  const name = (indirect ?? '').slice(13);
  const advisories = { [name]: [{ severity: 'high', url: 'https://example.org/GHSA-1' }] };
  const vulnerable = await runCheck({ advisories });
  expect(vulnerable.code).toBe(1);
  expect(vulnerable.output).toContain(`${name} has known vulnerabilities: high https://example.org/GHSA-1`);
});

test('the check says that vulnerabilities were not checked if the registry has no advisories', async () => {
  const { code, output } = await runCheck({ status: 405 });
  expect(output).toContain('This registry does not serve advisories: vulnerabilities were not checked.');
  expect(code).toBe(0);
});
