/**
 * Installs what `npm start` needs from the lockfile: the packages that run, and those that the build of the program and its
 * pages needs, without the tools of the tests. It takes a sixth of the processor time of `npm ci`, which also keeps a cache
 * and plans changes of an existing folder. Every archive must have the lockfile's checksum. See docs/decisions/0031-first-start.md.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const public_registry = 'https://registry.npmjs.org';
const parallel_downloads = 24;
const timeout_ms = 60_000;

/** What the pages of web/ consist of, and what bundles them. All other development packages are for tests and checks. */
const build_packages = [
  /^@fontsource-variable\//,
  /^@mantine\//,
  /^@simplewebauthn\/browser$/,
  /^@tanstack\/react-query$/,
  /^(react|react-dom|recharts|uqr|vite|wouter)$/,
];

/**
 * Whether npm would take the packages from its own registry, in its own way. `npm start` says where it is configured to do
 * something else: then npm has to do it.
 */
export function isPlainNpm(environment) {
  const { npm_config_user_agent: agent = '' } = environment;
  const settings = ['registry', 'proxy', 'https_proxy', 'ignore_scripts', 'offline', 'strict_ssl', 'cert', 'before'];
  const set = [
    ...settings.map((name) => `npm_config_${name}`),
    'HTTPS_PROXY',
    'https_proxy',
    'HTTP_PROXY',
    'http_proxy',
  ];
  return agent.startsWith('npm/') && set.every((name) => !environment[name]);
}

/** `runsHere` says whether a package is for this platform. Throws if anything is not as expected: npm can try then. */
export async function installPackages(root, runsHere, registry = public_registry) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { allowScripts = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const waiting = [...listNeeded(packages, runsHere)];
  const needed = [...waiting];
  rmSync(join(root, 'node_modules'), { recursive: true, force: true });
  const work = async () => {
    for (let path = waiting.pop(); path; path = waiting.pop()) {
      const archive = await download(registry, path, packages[path]);
      unpack(gunzipSync(archive), join(root, path));
    }
  };
  await Promise.all(Array.from({ length: parallel_downloads }, work));
  for (const path of needed.filter((each) => packages[each].hasInstallScript && allowScripts[nameOf(each)])) {
    runInstallScript(join(root, path));
  }
}

/** The folders of the packages in the lockfile that are needed to build and to run. */
export function listNeeded(packages, runsHere) {
  const { dependencies, optionalDependencies, devDependencies } = packages[''];
  const built_with = Object.keys(devDependencies).filter((name) => build_packages.some((each) => each.test(name)));
  const needed = new Set();
  const add = (from, name, optional) => {
    const path = resolvePackage(packages, from, name);
    if (path === undefined || !runsHere(packages[path])) {
      if (!optional) throw new Error(`The lockfile has no ${name} for ${from || 'the project'}.`);
      return;
    }
    if (needed.has(path)) return;
    needed.add(path);
    const each = packages[path];
    for (const other of Object.keys(each.dependencies ?? {})) add(path, other, false);
    for (const other of Object.keys(each.optionalDependencies ?? {})) add(path, other, true);
    for (const other of Object.keys(each.peerDependencies ?? {})) add(path, other, true);
  };
  for (const name of [...Object.keys(dependencies), ...built_with]) add('', name, false);
  for (const name of Object.keys(optionalDependencies ?? {})) add('', name, true);
  return needed;
}

/** As Node finds it: in the package's own node_modules, else in those of the folders above. */
function resolvePackage(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[path]) return path;
    if (folder === '') return undefined;
  }
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

async function download(registry, path, { name = nameOf(path), version, resolved, integrity, link }) {
  const url = `${registry}/${name}/-/${name.split('/').pop()}-${version}.tgz`;
  if (link || (resolved !== undefined && resolved !== url)) throw new Error(`${name} is not from the registry.`);
  const archive = await fetchArchive(url).catch(() => fetchArchive(url));
  const [algorithm, checksum] = (integrity ?? '').split('-');
  if (algorithm !== 'sha512' || createHash(algorithm).update(archive).digest('base64') !== checksum) {
    throw new Error(`${name} does not have the checksum of the lockfile.`);
  }
  return archive;
}

async function fetchArchive(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeout_ms) });
  if (!response.ok) throw new Error(`${url} returned ${response.status}.`);
  return Buffer.from(await response.arrayBuffer());
}

const block_bytes = 512;

/** Writes the files of a tar archive, without its first folder, to a folder. */
function unpack(archive, folder) {
  const made = new Set();
  let long_path;
  for (let at = 0; at + block_bytes <= archive.length; ) {
    const header = archive.subarray(at, at + block_bytes);
    const bytes = Number.parseInt(readText(header, 124, 12).trim() || '0', 8);
    const content = archive.subarray(at + block_bytes, at + block_bytes + bytes);
    const type = readText(header, 156, 1) || '0';
    at += block_bytes * (1 + Math.ceil(bytes / block_bytes));
    if (header[0] === 0) continue;
    if (type === 'x') {
      long_path = /\d+ path=(.*)\n/.exec(content.toString())?.[1];
      continue;
    }
    const prefix = readText(header, 345, 155);
    const path = long_path ?? `${prefix === '' ? '' : `${prefix}/`}${readText(header, 0, 100)}`;
    long_path = undefined;
    if (type === '5' || type === 'g') continue;
    const parts = path.split('/').slice(1);
    // npm packs files only. Anything else is not followed out of the folder.
    if (type !== '0' || parts.length === 0 || parts.includes('..')) throw new Error(`Unexpected entry ${path}.`);
    const file = join(folder, ...parts);
    if (!made.has(dirname(file))) mkdirSync(dirname(file), { recursive: true });
    made.add(dirname(file));
    const executable = (Number.parseInt(readText(header, 100, 8), 8) & 0o111) !== 0;
    writeFileSync(file, content, { mode: executable ? 0o755 : 0o644 });
  }
}

/** Up to the first zero byte. */
function readText(header, start, length) {
  const field = header.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? length : end).toString();
}

function runInstallScript(folder) {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  for (const name of ['preinstall', 'install', 'postinstall']) {
    if (!scripts?.[name]) continue;
    const { status } = spawnSync(scripts[name], { cwd: folder, shell: true, stdio: 'inherit' });
    if (status !== 0) throw new Error(`The ${name} script of ${folder} failed.`);
  }
}
