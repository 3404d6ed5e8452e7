/**
 * `npm run check:dependencies [-- --record]`: asks the npm registry about every direct dependency: whether its version is
 * deprecated or has a known vulnerability, and which versions are newer. Vulnerabilities of indirect ones are looked up
 * too. Exit code 1 if something is deprecated or vulnerable. --record writes docs/dependencies.tsv; see
 * docs/decisions/0025-dependency-policy.md.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, runScript, ScriptError } from './install.mjs';

const file = join(root, 'docs/dependencies.tsv');
const columns = ['package', 'version', 'checked', 'newest of its major', 'newest', 'deprecated', 'advisories'];
const parallel = 8;

await runScript(async () => {
  const { values } = parseArgs({ options: { record: { type: 'boolean' } } });
  const registry = npm('config', 'get', 'registry').replace(/\/+$/, '');
  const names = listDependencies();
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const advisories = await readAdvisories(registry, packages);
  const checked = new Date().toISOString().slice(0, 10);
  const rows = [];
  const waiting = [...names.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      rows[next[0]] = {
        ...(await check(registry, next[1], packages)),
        checked,
        advisories: describe(advisories, next[1]),
      };
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  for (const { name, version, newest_of_major, newest, deprecated, advisories: known } of rows) {
    const notes = [
      ...(newest_of_major === version ? [] : [`${newest_of_major} is newer`]),
      ...(newest === newest_of_major ? [] : [`newest ${newest}`]),
      ...(deprecated ? ['DEPRECATED'] : []),
      ...(/^(none|not checked)$/.test(known) ? [] : [`VULNERABLE: ${known}`]),
    ];
    if (notes.length > 0) process.stdout.write(`${name} ${version}: ${notes.join(', ')}\n`);
  }
  if (values.record) writeFileSync(file, toTable(rows));
  const faults = rows.filter(({ deprecated }) => deprecated).map(({ name }) => `${name} is deprecated`);
  for (const [name, ids] of advisories ?? []) faults.push(`${name} has known vulnerabilities: ${ids.join(', ')}`);
  if (!advisories) process.stdout.write('This registry does not serve advisories: vulnerabilities were not checked.\n');
  if (faults.length > 0) throw new ScriptError(faults.join('\n'));
  process.stdout.write(`ok: ${rows.length} dependencies\n`);
});

function listDependencies() {
  const manifests = ['package.json', 'test/package.json'].map((file) => readFileSync(join(root, file), 'utf8'));
  return manifests
    .map((manifest) => JSON.parse(manifest))
    .flatMap(({ dependencies, optionalDependencies, devDependencies }) =>
      Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies }),
    )
    .sort();
}

async function check(registry, name, packages) {
  const { version } = packages[`node_modules/${name}`] ?? packages[`test/node_modules/${name}`];
  // The short form has all versions, without their descriptions.
  const headers = { accept: 'application/vnd.npm.install-v1+json' };
  const response = await fetch(`${registry}/${name.replace('/', '%2f')}`, { headers });
  if (!response.ok) throw new ScriptError(`The registry responded with ${response.status} about ${name}.`);
  const { versions, 'dist-tags': tags } = await response.json();
  const major = Number(version.split('.')[0]);
  // A prerelease is only compared with prereleases.
  const prerelease = version.includes('-');
  const candidates = Object.keys(versions).filter((each) => each.includes('-') === prerelease);
  const of_major = candidates.filter((each) => Number(each.split('.')[0]) === major).sort(compareVersions);
  return {
    name,
    version,
    newest_of_major: of_major.at(-1) ?? version,
    newest: prerelease ? (candidates.sort(compareVersions).at(-1) ?? version) : tags.latest,
    deprecated: Boolean(versions[version]?.deprecated),
  };
}

/** The ids of the advisories about each installed package; undefined if the registry does not serve any. */
async function readAdvisories(registry, packages) {
  const versions = {};
  for (const [path, { version, link }] of Object.entries(packages)) {
    if (!path.includes('node_modules/') || link) continue;
    const name = path.replace(/^.*node_modules\//, '');
    versions[name] = [...new Set([...(versions[name] ?? []), version])];
  }
  const response = await fetch(`${registry}/-/npm/v1/security/advisories/bulk`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(versions),
  });
  if ([404, 405, 501].includes(response.status)) return undefined;
  if (!response.ok) throw new ScriptError(`The registry responded with ${response.status} about advisories.`);
  return new Map(
    Object.entries(await response.json()).map(([name, known]) => [
      name,
      known.map(({ severity, url }) => `${severity} ${url}`),
    ]),
  );
}

function describe(advisories, name) {
  return advisories ? (advisories.get(name)?.join(' ') ?? 'none') : 'not checked';
}

/** Numbers by value, the rest as text: enough to order the versions of a package. */
function compareVersions(one, other) {
  return one.localeCompare(other, 'en', { numeric: true });
}

function toTable(rows) {
  const lines = rows.map(({ name, version, checked, newest_of_major, newest, deprecated, advisories }) =>
    [name, version, checked, newest_of_major, newest, deprecated ? 'yes' : 'no', advisories].join('\t'),
  );
  return `${[columns.join('\t'), ...lines].join('\n')}\n`;
}

function npm(...args) {
  const own = process.env.npm_execpath;
  const [command, ...before] = own?.endsWith('.js') ? [process.execPath, own] : ['npm'];
  const { status, stdout } = spawnSync(command, [...before, ...args], { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new ScriptError(`npm ${args.join(' ')} failed.`);
  return stdout.trim();
}
