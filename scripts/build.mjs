/** Compiles the sources into dist/, when they have changed since the last time. */
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
import { ensureInstalled, Refusal, root, runScript } from './install.mjs';

const dist = join(root, 'dist');
const stamp_file = join(dist, '.stamp');
const source_folders = ['src', 'sql', 'larkspur', 'scripts', 'bench', 'web', 'sdk'];
// What runs in a browser is compiled apart: it has a document and no process.
const projects = ['tsconfig.build.json', 'web/tsconfig.json', 'sdk/tsconfig.json'];
// Other people's pages load the script of Link as one file that leaves one name; its own page wants one request.
const bundles = [
  { entry: 'web/link/link.ts', format: 'iife', name: 'CobaltLink' },
  { entry: 'web/link/page.ts', format: 'es' },
  { entry: 'web/link/window.ts', format: 'es' },
];
// The dashboard is an application of many files, which Vite alone compiles.
const dashboard = 'web/dashboard';
const configuration = [
  'package-lock.json',
  'tsconfig.json',
  ...projects,
  `${dashboard}/tsconfig.json`,
  'scripts/build.mjs',
];
const asset = /\.(sql|css|svg|html)$/;

export async function build() {
  const sources = source_folders.flatMap(filesBelow).filter((path) => isCode(path) || asset.test(path));
  const outputs = [...sources.filter((path) => !isDashboard(path)).flatMap(outputsOf), `${dashboard}/main.js`];
  const stamp = hashOf([...configuration, ...sources]);
  if (isBuilt(stamp, outputs)) return;
  process.stdout.write('Building.\n');
  // Without its stamp a half-written dist/ is built again.
  rmSync(stamp_file, { force: true });
  compile();
  for (const bundle of bundles) await pack(dirname(bundle.entry), asLibrary(bundle));
  await pack(dashboard, asApplication(`${dashboard}/main.tsx`));
  for (const path of sources.filter((path) => asset.test(path) && !isDashboard(path))) {
    mkdirSync(dirname(join(dist, path)), { recursive: true });
    copyFileSync(join(root, path), join(dist, path));
  }
  removeOthers(outputs);
  writeFileSync(`${stamp_file}.new`, stamp);
  renameSync(`${stamp_file}.new`, stamp_file);
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await runScript(async () => {
    ensureInstalled();
    await build();
  });
}

/** Files below a folder of the repository, as paths from its root. */
function filesBelow(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

function isDashboard(path) {
  return path.startsWith(`${dashboard}/`);
}

function isCode(path) {
  return /\.tsx?$/.test(path) && !path.endsWith('.test.ts') && !path.endsWith('.d.ts');
}

function outputsOf(path) {
  return asset.test(path) ? [path] : [path.replace(/\.ts$/, '.js'), path.replace(/\.ts$/, '.js.map')];
}

/** Contents, not times: a fresh clone gives every file the time of the clone. */
function hashOf(paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    const content = readFileSync(join(root, path));
    hash.update(`${path}\n${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

function isBuilt(stamp, outputs) {
  if (!existsSync(stamp_file) || readFileSync(stamp_file, 'utf8') !== stamp) return false;
  return outputs.every((path) => existsSync(join(dist, path)));
}

function compile() {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  for (const project of projects) {
    const { status } = spawnSync(process.execPath, [tsc, '-p', project], { cwd: root, stdio: 'inherit' });
    if (status !== 0) throw new Refusal('The build failed: see what the compiler says above.');
  }
}

/** One module and all it imports as one small file, in the place of what the compiler made of it. */
function asLibrary({ entry, format, name }) {
  const fileName = () => basename(entry).replace(/\.ts$/, '.js');
  return { emptyOutDir: false, lib: { entry: join(root, entry), formats: [format], name, fileName } };
}

/** A page that loads each of its parts when it is first looked at. */
function asApplication(entry) {
  return {
    emptyOutDir: true,
    sourcemap: false,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: join(root, entry),
      // Components say where they may run ("use client"); there is only one place here.
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

async function pack(folder, options) {
  const { build: bundle } = await import('vite');
  // Vite sets NODE_ENV for its own ends; the service that starts in this process would take it for the operator's.
  const { NODE_ENV } = process.env;
  try {
    await bundle({
      root: join(root, folder),
      base: folder === dashboard ? '/dashboard/files/' : './',
      configFile: false,
      publicDir: folder === dashboard ? 'public' : false,
      logLevel: 'warn',
      build: {
        outDir: join(dist, folder),
        target: 'es2022',
        sourcemap: 'hidden',
        reportCompressedSize: false,
        chunkSizeWarningLimit: 1500,
        ...options,
      },
    });
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
  }
}

/** What earlier sources have left: a module that is gone must not be found any more. */
function removeOthers(outputs) {
  const kept = new Set(outputs);
  for (const path of filesBelow('dist').map((path) => relative('dist', path))) {
    if (!kept.has(path) && !isDashboard(path)) rmSync(join(dist, path));
  }
}
