/**
 * dist/connector: the package that connectors outside this repository import (`@chartwire/connector`), packed too, so
 * that nothing has to be published, and the template that `chartwire connectors new` copies.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { root, ScriptError } from './install.mjs';

const folder = join(root, 'dist/connector');
/** The compiler's `declarationDir`, with the types of all sources. */
const declarations = join(root, 'dist/declarations');
const entries = ['connector', 'certification'];
const typebox_specifier = /((?:from|import) ?\(?['"])typebox(?=['"/])/g;

/** What the package is made of, besides the sources. */
export const connector_sources = 'connector';

export function listConnectorOutputs() {
  return [...entries.map((entry) => `${entry}.js`), 'package.json', archiveName()].map((file) => `connector/${file}`);
}

/** What a release needs to create connectors, relative to dist/. */
export function listReleasedFiles() {
  return [`connector/${archiveName()}`, 'connector/template'];
}

/** As npm names it. */
function archiveName() {
  const { name, version } = JSON.parse(readFileSync(join(root, 'connector/package.json'), 'utf8'));
  return `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
}

/**
 * `bundle` runs Vite. typebox, whose types are part of the interface, is a folder of the package: npm asks the registry
 * about dependencies even if they are bundled, and a service's machine may have none.
 */
export async function packConnector(bundle) {
  rmSync(folder, { recursive: true, force: true });
  copyDeclarations();
  await bundle({
    root,
    publicDir: false,
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      target: 'node20',
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(entries.map((entry) => [entry, join(root, `src/emr/kit/${entry}.ts`)])),
        external: /^typebox(\/|$)/,
        output: { entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
      },
    },
    ssr: { noExternal: true, external: ['typebox'] },
  });
  for (const file of ['connector/package.json', 'connector/README.md', 'LICENSE']) {
    copyFileSync(join(root, file), join(folder, file.replace('connector/', '')));
  }
  for (const file of readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.js'))) {
    const text = readFileSync(join(folder, file), 'utf8');
    writeFileSync(join(folder, file), text.replace(typebox_specifier, '$1#typebox'));
  }
  cpSync(join(root, 'node_modules/typebox'), join(folder, 'typebox'), {
    recursive: true,
    filter: (source) => !source.endsWith('.map'),
  });
  packArchive();
  cpSync(join(root, 'connector/template'), join(folder, 'template'), {
    recursive: true,
    filter: (source) => !/\/(node_modules|dist)$/.test(source),
  });
}

/** Copies the types that the entries refer to. The compiler rewrites the extensions of imports in code only. */
function copyDeclarations() {
  const copied = new Set();
  const copy = (file) => {
    if (copied.has(file)) return;
    copied.add(file);
    const text = readFileSync(file, 'utf8');
    const to = join(folder, 'types', relative(join(declarations, 'src'), file));
    mkdirSync(dirname(to), { recursive: true });
    const specifier = /((?:from|import) ?\(?)(['"])(\.[^'"]*)\.ts\2/g;
    writeFileSync(to, text.replace(specifier, '$1$2$3.js$2').replace(typebox_specifier, '$1#typebox'));
    for (const [, name] of text.matchAll(/^(?:import|export) .*from '([^.'][^']*)'/gm)) {
      if (!/^(typebox|node:)/.test(name)) throw new ScriptError(`${file}: connectors cannot import ${name}.`);
    }
    for (const [, , , target] of text.matchAll(specifier)) copy(resolve(dirname(file), `${target}.d.ts`));
  };
  for (const entry of entries) copy(join(declarations, `src/emr/kit/${entry}.d.ts`));
  rmSync(declarations, { recursive: true });
}

function packArchive() {
  // npm packs the rights of the files, which depend on the umask of whoever builds.
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  }
  const cache = mkdtempSync(join(tmpdir(), 'chartwire-pack-'));
  const { status, stderr } = spawnSync('npm', ['pack', '--silent', '--offline', '--cache', cache], {
    cwd: folder,
    encoding: 'utf8',
  });
  rmSync(cache, { recursive: true, force: true });
  if (status !== 0 || !existsSync(join(folder, archiveName()))) {
    throw new ScriptError(`npm pack failed for dist/connector.\n${stderr}`);
  }
}
