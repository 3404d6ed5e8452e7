/**
 * `npm run sbom [file]`: writes a software bill of materials (CycloneDX, JSON) of everything that runs in production, for
 * all platforms: the production packages, the development packages that the build puts into the pages, the libraries in
 * the embedded database of this platform, and Node.
 * Default: dist/sbom.cdx.json.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bundledDatabase } from './bundledDatabase.mjs';
import { root, runScript, ScriptError } from './install.mjs';

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
  bill.components.push(...bundledDatabase(), node());
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
  process.stdout.write(`${file}: ${bill.components.length} components\n`);
});

/** Not part of the release folder, but of the image. */
function node() {
  const [, version] = /^ARG NODE_VERSION=(\S+)$/m.exec(readFileSync(join(root, 'deploy/Dockerfile'), 'utf8')) ?? [];
  const purl = `pkg:generic/node@${version}`;
  return { type: 'platform', name: 'node', version, purl, 'bom-ref': purl };
}

function everything() {
  // The npm that runs this script: PATH may contain another one.
  const npm = process.env.npm_execpath;
  const [command, ...before] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  const { status, stdout, stderr, error } = spawnSync(command, [...before, ...args], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64_000_000,
  });
  if (error) throw new ScriptError(`Cannot run npm: ${error.message}.`);
  if (status !== 0) throw new ScriptError(`npm sbom failed. It needs npm 10 or newer.\n${stderr}`);
  return JSON.parse(stdout);
}

/** The packages that code for the browser imports. */
function bundledPackages() {
  const sources = readdirSync(join(root, 'web'), { recursive: true }).filter((path) => /\.(tsx?|css)$/.test(path));
  const imported = sources.flatMap((path) =>
    [...readFileSync(join(root, 'web', path), 'utf8').matchAll(/(?:from|import) '((?:@[\w-]+\/)?[\w-]+)/g)].map(
      ([, name]) => name,
    ),
  );
  return new Set(imported);
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
