/**
 * `npm run release [-- --to FOLDER] [--archive FILE] [--sign KEY]`: builds release/chartwire-<version>/, which runs with
 * Node alone on machines of the same platform as this one: the bundled program and pages, the packages with native code,
 * the files of deploy/, a bill of materials, the licenses of all packages, and checksums. Without --to, packs it as
 * release/chartwire-<version>-<platform>.tar.gz too. --sign signs the archive with a key of OpenSSH.
 *
 * The same commit gives the same bytes with the same version of Node, wherever it is built: `npm run check:reproducible`.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build, program_folder, unbundled } from '../build.mjs';
import { listReleasedFiles } from '../connectorPackage.mjs';
import { ensureInstalled, root, runScript, ScriptError } from '../install.mjs';
import { readCommit, readModifiedTime } from '../sourceState.mjs';
import { listPaths, packFolder } from './archive.mjs';
import { checkSigning, signArchive } from './signature.mjs';

const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const platform = `${process.platform}-${process.arch}`;

await runScript(async () => {
  const { values } = parseArgs({
    options: { to: { type: 'string' }, archive: { type: 'string' }, sign: { type: 'string' } },
  });
  const name = `chartwire-${own.version}`;
  const folder = values.to === undefined ? join(root, 'release', name) : resolve(values.to);
  const archive = archiveFile(values, name);
  const commit = readCommit();
  if (values.sign !== undefined) checkSigning(values.sign, archive, commit);
  ensureInstalled();
  // What is signed is built now: an earlier build may have been changed since.
  if (values.sign !== undefined) rmSync(join(root, 'dist/.stamp'), { force: true });
  await build();
  prepare(folder);
  for (const path of [
    `dist/${program_folder}`,
    'dist/web',
    'dist/packages',
    'dist/src/platform/db/migrations',
    'deploy',
  ])
    copy(path, folder);
  for (const path of ['LICENSE', 'CHANGELOG.md', 'SECURITY.md', '.env.example', 'docs', 'sdk/README.md'])
    copy(path, folder);
  for (const path of listReleasedFiles()) copy(`dist/${path}`, folder);
  for (const path of nativePackages()) copy(path, folder);
  cpSync(join(root, 'deploy/release/README.md'), join(folder, 'README.md'));
  cpSync(join(root, 'chartwire'), join(folder, 'chartwire'));
  chmodSync(join(folder, 'chartwire'), 0o755);
  const { version, license, type, engines, bin } = own;
  writeJson(join(folder, 'package.json'), { name: own.name, version, license, private: true, type, engines, bin });
  writeJson(join(folder, 'BUILD.json'), { version, commit, node: process.versions.node, platform });
  const bill = writeBill(join(folder, 'sbom.cdx.json'));
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licenses(bill));
  writeFileSync(join(folder, 'SHA256SUMS'), checksums(folder));
  makeReadable(folder);
  const modified_s = readModifiedTime();
  for (const path of [...listPaths(folder).reverse(), '']) lutimesSync(join(folder, path), modified_s, modified_s);
  process.stdout.write(`${folder}\n`);
  if (archive === undefined) return;
  mkdirSync(dirname(archive), { recursive: true });
  // That of an earlier archive.
  rmSync(`${archive}.sig`, { force: true });
  await packFolder(folder, archive, { name, modified_s });
  const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex');
  process.stdout.write(`${archive}\nSHA-256 ${sha256}\n`);
  if (values.sign !== undefined) signArchive(archive, values.sign);
});

function archiveFile({ to, archive }, name) {
  if (archive !== undefined) return resolve(archive);
  return to === undefined ? join(root, 'release', `${name}-${platform}.tar.gz`) : undefined;
}

/** Lets every user read the release: the checkout may be private (umask 077), and the service runs as another user. */
function makeReadable(folder) {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const executable = entry.isDirectory() || (statSync(path).mode & 0o100) !== 0;
    chmodSync(path, executable ? 0o755 : 0o644);
  }
}

/** Empties the folder of an earlier release, and refuses any other folder that is not empty. */
function prepare(folder) {
  const used = existsSync(folder) && readdirSync(folder).length > 0;
  if (used && !existsSync(join(folder, 'SHA256SUMS'))) throw new ScriptError(`${folder} is not an earlier release.`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

/** Copies a file or folder of the repository. Source maps are for developers. */
function copy(path, folder) {
  cpSync(join(root, path), join(folder, path), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith('.map'),
  });
}

/** The packages that are not part of the bundle, with what they depend on, as far as it is for this platform. */
function nativePackages() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const databases = Object.keys(own.optionalDependencies);
  const paths = new Set();
  const add = (name) => {
    const path = `node_modules/${name}`;
    if (paths.has(path) || !existsSync(join(root, path))) return;
    paths.add(path);
    const { dependencies = {}, optionalDependencies = {} } = packages[path];
    for (const each of [...Object.keys(dependencies), ...Object.keys(optionalDependencies)]) add(each);
  };
  for (const name of [...unbundled, ...databases]) add(name);
  return paths;
}

function writeBill(file) {
  const script = join(root, 'scripts/release/sbom.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, file], { encoding: 'utf8' });
  if (status !== 0) throw new ScriptError(`The bill of materials could not be written.\n${stderr}`);
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** The license texts of all packages of the bill that are installed: their code is part of the bundles. */
function licenses({ components }) {
  return components
    .map(({ name, version, licenses: declared = [], properties = [] }) => {
      const path = properties.find((each) => each.name === 'cdx:npm:package:path')?.value ?? `node_modules/${name}`;
      const folder = join(root, path);
      if (!existsSync(folder)) return '';
      const ids = declared.map(({ license, expression }) => license?.id ?? license?.name ?? expression).join(', ');
      const texts = readdirSync(folder)
        .sort()
        .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
        .map((file) => readFileSync(join(folder, file), 'utf8').trim());
      return [`${'='.repeat(80)}\n${name} ${version} (${ids})`, ...texts].join('\n\n');
    })
    .filter((text) => text !== '')
    .join('\n\n')
    .concat('\n');
}

/** In the format of sha256sum. Links lead to files that are listed. */
function checksums(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
    .map(
      (path) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, path)))
          .digest('hex')}  ${path}\n`,
    )
    .join('');
}

function writeJson(file, value) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}
