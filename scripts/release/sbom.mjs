/**
 * `npm run sbom [file]`: writes a software bill of materials (CycloneDX, JSON) of everything that runs in production, for
 * all platforms: the production packages, the development packages that the build puts into the pages, the programs and
 * libraries in the embedded database of this platform, and the Node that runs this script with the libraries in it.
 * Default: dist/sbom.cdx.json. The same sources give the same bytes.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { font_package } from '../build.mjs';
import { root, runScript, ScriptError } from '../install.mjs';
import { readModifiedTime } from '../sourceState.mjs';
import { bundledDatabase } from './bundledDatabase.mjs';
import { nodeRuntime } from './nodeRuntime.mjs';

await runScript(async () => {
  const file = resolve(root, process.argv[2] ?? 'dist/sbom.cdx.json');
  const bill = everything();
  const shipped = shippedRefs(bill, bundledPackages());
  // npm takes the name from the folder.
  bill.metadata.component.name = 'chartwire';
  bill.components = bill.components.filter((component) => shipped.has(component['bom-ref']));
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => shipped.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => shipped.has(each)) }));
  bill.components.push(...bundledDatabase(), nodeRuntime());
  addLicenseNames(bill.components);
  makeReproducible(bill);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
  process.stdout.write(`${file}: ${bill.components.length} components\n`);
});

/** npm leaves out what a package says only in its own package.json, or in no form that it knows. */
function addLicenseNames(components) {
  for (const component of components.filter(({ licenses = [] }) => licenses.length === 0)) {
    const path = component.properties?.find(({ name }) => name === 'cdx:npm:package:path')?.value;
    const file = join(root, path ?? `node_modules/${component.name}`, 'package.json');
    if (!existsSync(file)) continue;
    const { license } = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof license === 'string') component.licenses = [{ license: { name: license } }];
  }
}

/** npm adds the time and a random number; both follow from the sources here. */
function makeReproducible(bill) {
  bill.components.sort((one, other) => (one['bom-ref'] < other['bom-ref'] ? -1 : 1));
  bill.dependencies.sort((one, other) => (one.ref < other.ref ? -1 : 1));
  bill.metadata.timestamp = new Date(readModifiedTime() * 1_000).toISOString();
  delete bill.serialNumber;
  const hash = createHash('sha256').update(JSON.stringify(bill)).digest('hex');
  // A UUID of version 8: made from other data.
  const groups = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ];
  bill.serialNumber = `urn:uuid:${groups.join('-')}`;
}

function everything() {
  // The npm that runs this script: PATH may contain another one.
  const npm = process.env.npm_execpath;
  const [command, ...before] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const args = [
    'sbom',
    '--sbom-format=cyclonedx',
    '--sbom-type=application',
    '--package-lock-only',
    '--workspaces=false',
    '--include=dev',
  ];
  const { status, stdout, stderr, error } = spawnSync(command, [...before, ...args], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64_000_000,
  });
  if (error) throw new ScriptError(`Cannot run npm: ${error.message}.`);
  if (status !== 0) throw new ScriptError(`npm sbom failed. It needs npm 10 or newer.\n${stderr}`);
  return JSON.parse(stdout);
}

/** The packages that code for the browser imports, and the font. */
function bundledPackages() {
  const sources = readdirSync(join(root, 'web'), { recursive: true }).filter((path) => /\.(tsx?|css)$/.test(path));
  const imported = sources.flatMap((path) =>
    [...readFileSync(join(root, 'web', path), 'utf8').matchAll(/(?:from|import) '((?:@[\w-]+\/)?[\w-]+)/g)].map(
      ([, name]) => name,
    ),
  );
  return new Set([...imported, font_package]);
}

/** The bill's entries for production packages, and for bundled ones with all they depend on. */
function shippedRefs(bill, bundled) {
  const dependencies = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const isDevelopment = ({ properties = [] }) =>
    properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true');
  const shipped = new Set([bill.metadata.component['bom-ref']]);
  const add = (ref) => {
    if (shipped.has(ref)) return;
    shipped.add(ref);
    for (const each of dependencies.get(ref) ?? []) add(each);
  };
  for (const component of bill.components) {
    if (!isDevelopment(component) || bundled.has(component.name)) add(component['bom-ref']);
  }
  return shipped;
}
