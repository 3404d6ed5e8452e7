/** Compiles the sources into dist/ if they have changed since the last build. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { connector_sources, listConnectorOutputs, packConnector } from './connectorPackage.mjs';
import { ensureInstalled, root, runScript, ScriptError } from './install.mjs';
import { library_packages, library_sources, packLibraries } from './sdk/packLibraries.mjs';

const dist = join(root, 'dist');
const stamp_file = join(dist, '.stamp');
/** Written instead by a build that ends after what the service needs. */
const service_stamp_file = join(dist, '.stamp-service');
/** Written by `npm test`; a build keeps it. */
export const times_file = 'dist/test-times.json';
const source_folders = ['src', 'sql', 'larkspur', 'scripts', 'bench', 'web', 'sdk'];
// Code for the browser has its own project: other globals are available there.
// The client library is compiled twice, for `import` and for `require`.
const library_projects = ['sdk/tsconfig.json', 'sdk/tsconfig.cjs.json'];
const projects = ['tsconfig.build.json', 'web/tsconfig.json', ...library_projects];
// Link's script is loaded by other sites: one file, one global. Its own page loads with one request as well.
const bundles = [
  { entry: 'web/link/link.ts', format: 'iife', name: 'CobaltLink' },
  { entry: 'web/link/page.ts', format: 'es' },
  { entry: 'web/link/practice.ts', format: 'es' },
  { entry: 'web/link/window.ts', format: 'es' },
  { entry: 'web/docs/docs.ts', format: 'es' },
  // Not a module: the browser waits for it before it shows the page.
  { entry: 'web/docs/early.ts', format: 'iife', name: 'early' },
];
// The program `chartwire`, in one file: loading 1,350 modules took two thirds of a command's processor time.
export const program_folder = 'bin';
// Packages with native code, found through node_modules at run time. pg uses pg-native only if it is there.
export const unbundled = ['@node-rs/argon2', 'pg-native'];
// Vite alone compiles the dashboard, which has many files.
const dashboard = 'web/dashboard';
// The client library, as a folder that can be packed and published.
const library_files = ['sdk/package.json', 'sdk/README.md', 'LICENSE'];
const configuration = [
  'package-lock.json',
  'tsconfig.json',
  ...projects,
  `${dashboard}/tsconfig.json`,
  ...library_files,
  ...library_sources,
  'scripts/release/archive.mjs',
  'scripts/build.mjs',
  'scripts/connectorPackage.mjs',
];
const asset = /\.(sql|css|svg|html)$/;
/** The font of all pages. `web/brand/brand.css` names the copies of its files. */
export const font_package = '@fontsource-variable/inter';
const fonts = ['latin', 'latin-ext'].map((subset) => ({
  source: `node_modules/${font_package}/files/inter-${subset}-wght-normal.woff2`,
  output: `web/brand/inter-${subset}.woff2`,
}));

/** Whether dist/ has what the service needs, built from these sources. A release may contain dist/ without them. */
export function isServiceUpToDate() {
  if (!existsSync(join(root, 'src'))) return existsSync(stamp_file);
  const { stamp, outputs, service_outputs } = plan();
  return isBuilt(stamp_file, stamp, outputs) || isBuilt(service_stamp_file, stamp, service_outputs);
}

export async function build() {
  const { sources, outputs, stamp } = plan();
  if (isBuilt(stamp_file, stamp, outputs)) return;
  process.stdout.write('Building …\n');
  removeStamps();
  compile(projects);
  await keepEnvironment(async () => {
    await buildPages();
    await packProgram('src/chartwire.ts');
    await packConnector(runVite);
  });
  copyAssets(sources);
  await packLibrary();
  removeOthers(outputs);
  compressPageFiles();
  writeStamp(stamp_file, stamp);
}

/** Builds the program and its pages alone, without checking types: a third of the time of `build`. */
export async function buildService() {
  if (isServiceUpToDate()) return;
  process.stdout.write('Building …\n');
  const { sources, stamp } = plan();
  removeStamps();
  await keepEnvironment(() => Promise.all([packProgram('src/chartwire.ts'), buildPages()]));
  copyAssets(sources);
  compressPageFiles();
  // It serves the client libraries.
  compile(library_projects);
  await packLibrary();
  writeStamp(service_stamp_file, stamp);
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await runScript(async () => {
    ensureInstalled();
    await build();
  });
}

function plan() {
  const sources = source_folders.flatMap(filesBelow).filter((path) => isCode(path) || asset.test(path));
  const outputs = [
    ...sources.filter((path) => !isDashboard(path)).flatMap(listOutputs),
    `${dashboard}/main.js`,
    `${program_folder}/chartwire.js`,
    ...library_files.map(libraryPath),
    ...fonts.map(({ output }) => output),
    'sdk/cjs/package.json',
    ...library_packages,
    ...listConnectorOutputs(),
  ];
  const service_outputs = [
    ...bundles.map(({ entry }) => entry.replace(/\.ts$/, '.js')),
    ...outputs.filter((path) => asset.test(path)),
    ...fonts.map(({ output }) => output),
    `${dashboard}/main.js`,
    `${program_folder}/chartwire.js`,
    ...library_packages,
  ];
  const stamp = hashFiles([...configuration, ...filesBelow(connector_sources), ...sources]);
  return { sources, outputs, service_outputs, stamp };
}

/** All files in a folder, as paths relative to the repository. */
function filesBelow(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

/** What removes the files of an earlier build itself. */
function isBundle(path) {
  return isDashboard(path) || path.startsWith(`${program_folder}/`) || path.startsWith('connector/');
}

function isDashboard(path) {
  return path.startsWith(`${dashboard}/`);
}

function isCode(path) {
  return /\.tsx?$/.test(path) && !path.endsWith('.test.ts') && !path.endsWith('.d.ts');
}

function listOutputs(path) {
  if (path.startsWith('sdk/')) return listLibraryOutputs(path.replace(/^sdk\/src\/(.*)\.ts$/, '$1'));
  return asset.test(path) ? [path] : [path.replace(/\.ts$/, '.js'), path.replace(/\.ts$/, '.js.map')];
}

/** Code and types of a module of the client library, for `import` and for `require`. */
function listLibraryOutputs(module) {
  return ['sdk', 'sdk/cjs'].flatMap((folder) => ['js', 'js.map', 'd.ts'].map((end) => `${folder}/${module}.${end}`));
}

function libraryPath(path) {
  return `sdk/${basename(path)}`;
}

/** Hashes contents, not modification times, which a fresh clone resets. */
function hashFiles(paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    const content = readFileSync(join(root, path));
    hash.update(`${path}\n${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

function isBuilt(file, stamp, outputs) {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== stamp) return false;
  return outputs.every((path) => existsSync(join(dist, path)));
}

/** Before a build, so that an interrupted one is repeated. */
function removeStamps() {
  for (const file of [stamp_file, service_stamp_file]) rmSync(file, { force: true });
}

function writeStamp(file, stamp) {
  writeFileSync(`${file}.new`, stamp);
  renameSync(`${file}.new`, file);
}

async function buildPages() {
  for (const bundle of bundles) await pack(dirname(bundle.entry), asLibrary(bundle));
  await pack(dashboard, asApplication(`${dashboard}/main.tsx`));
}

function copyAssets(sources) {
  for (const path of sources.filter((path) => asset.test(path) && !isDashboard(path))) {
    mkdirSync(dirname(join(dist, path)), { recursive: true });
    copyFileSync(join(root, path), join(dist, path));
  }
  mkdirSync(join(dist, 'web/brand'), { recursive: true });
  for (const { source, output } of fonts) copyFileSync(join(root, source), join(dist, output));
}

function compile(projects) {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  for (const project of projects) {
    const { status } = spawnSync(process.execPath, [tsc, '-p', project], { cwd: root, stdio: 'inherit' });
    if (status !== 0) throw new ScriptError('The build failed. See the compiler errors above.');
  }
}

/** Bundles a module with its imports into one file, which replaces the compiler's output. */
function asLibrary({ entry, format, name }) {
  const fileName = () => basename(entry).replace(/\.ts$/, '.js');
  return { emptyOutDir: false, lib: { entry: join(root, entry), formats: [format], name, fileName } };
}

/** Bundles an application into chunks that are loaded on demand. */
function asApplication(entry) {
  return {
    emptyOutDir: true,
    sourcemap: false,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: join(root, entry),
      // Ignores "use client" directives, which have no meaning here.
      onLog: (level, log, handle) => log.code === 'MODULE_LEVEL_DIRECTIVE' || handle(level, log),
      output: {
        entryFileNames: 'main.js',
        chunkFileNames: 'chunks/[name]-[hash].js',
        assetFileNames: (file) =>
          file.names.some((name) => name.endsWith('.css')) ? 'main.css' : 'chunks/[name]-[hash][extname]',
      },
    },
  };
}

/** Completes dist/sdk, which the compiler has filled, to a package, and packs it. */
async function packLibrary() {
  for (const path of library_files) copyFileSync(join(root, path), join(dist, libraryPath(path)));
  writeFileSync(join(dist, 'sdk/cjs/package.json'), '{ "type": "commonjs" }\n');
  // The compiler rewrites the extensions of imports in code only.
  for (const path of filesBelow('dist/sdk').filter((path) => path.endsWith('.d.ts'))) {
    const text = readFileSync(join(root, path), 'utf8');
    writeFileSync(join(root, path), text.replace(/(from '\.[^']*)\.ts'/g, "$1.js'"));
  }
  await packLibraries();
}

async function pack(folder, options) {
  await runVite({
    root: join(root, folder),
    base: folder === dashboard ? '/dashboard/files/' : './',
    publicDir: false,
    build: {
      outDir: join(dist, folder),
      target: 'es2022',
      sourcemap: 'hidden',
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1500,
      ...options,
    },
  });
}

/** Bundles a program for Node with its packages. Not minified, so that stack traces name functions. */
async function packProgram(entry) {
  await runVite({
    root,
    publicDir: false,
    build: {
      ssr: join(root, entry),
      outDir: join(dist, program_folder),
      emptyOutDir: true,
      target: 'node20',
      minify: false,
      sourcemap: true,
      rolldownOptions: { external: unbundled },
    },
    ssr: { noExternal: true },
  });
}

async function runVite(options) {
  const { build: bundle } = await import('vite');
  await bundle({ configFile: false, logLevel: 'warn', ...options });
}

/**
 * Bundles are the same whatever NODE_ENV is: Vite makes those of `development` and `test` larger, with the paths of this
 * machine. The service that starts in this process sees its own NODE_ENV.
 */
async function keepEnvironment(work) {
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production';
  try {
    await work();
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
  }
}

/** Removes the outputs of sources that no longer exist. */
function removeOthers(outputs) {
  const expected = new Set([...outputs, relative('dist', times_file)]);
  for (const path of filesBelow('dist').map((path) => relative('dist', path))) {
    if (!expected.has(path) && !isBundle(path)) rmSync(join(dist, path));
  }
}

/** Writes a .br and a .gz file next to every file of a page; src/http/pages serves them to browsers that accept them. */
function compressPageFiles() {
  // Quality 11 takes ten times as long and saves another 5 %.
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  for (const path of filesBelow('dist/web').filter((path) => /\.(css|js|svg)$/.test(path))) {
    const content = readFileSync(join(root, path));
    writeFileSync(join(root, `${path}.gz`), gzipSync(content, { level: 9 }));
    writeFileSync(join(root, `${path}.br`), brotliCompressSync(content, brotli));
  }
}
