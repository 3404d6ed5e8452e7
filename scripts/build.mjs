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
const source_folders = ['src', 'larkspur', 'scripts', 'bench', 'web', 'sdk'];
// What runs in a browser is compiled apart: it has a document and no process.
const projects = ['tsconfig.build.json', 'web/tsconfig.json', 'sdk/tsconfig.json'];
// Other people's pages load the script of Link as one file that leaves one name; its own page wants one request.
const bundles = [
  { entry: 'web/link/link.ts', format: 'iife', name: 'CobaltLink' },
  { entry: 'web/link/page.ts', format: 'es' },
  { entry: 'web/link/window.ts', format: 'es' },
];
const configuration = ['package-lock.json', 'tsconfig.json', ...projects, 'scripts/build.mjs'];
const asset = /\.(sql|css|svg|html)$/;

export async function build() {
  const sources = source_folders.flatMap(filesBelow).filter((path) => isCode(path) || asset.test(path));
  const outputs = sources.flatMap(outputsOf);
  const stamp = hashOf([...configuration, ...sources]);
  if (isBuilt(stamp, outputs)) return;
  process.stdout.write('Building.\n');
  // Without its stamp a half-written dist/ is built again.
  rmSync(stamp_file, { force: true });
  compile();
  for (const bundle of bundles) await pack(bundle);
  for (const path of sources.filter((path) => asset.test(path))) {
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

function isCode(path) {
  return path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.endsWith('.d.ts');
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

/** Puts a module and all it imports into one small file, in the place of what the compiler made of it. */
async function pack({ entry, format, name }) {
  const { build: bundle } = await import('vite');
  // Vite sets NODE_ENV for its own ends; the service that starts in this process would take it for the operator's.
  const { NODE_ENV } = process.env;
  try {
    await bundle({
      root,
      configFile: false,
      publicDir: false,
      logLevel: 'warn',
      build: {
        outDir: join(dist, dirname(entry)),
        emptyOutDir: false,
        target: 'es2022',
        sourcemap: 'hidden',
        reportCompressedSize: false,
        lib: {
          entry: join(root, entry),
          formats: [format],
          name,
          fileName: () => basename(entry).replace(/\.ts$/, '.js'),
        },
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
    if (!kept.has(path)) rmSync(join(dist, path));
  }
}
