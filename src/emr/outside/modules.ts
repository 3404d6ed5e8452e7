import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { StartFailure } from '../../catalog/errors.ts';

/** A module of the setting CONNECTORS, as it was loaded. */
export type LoadedModule = {
  /** As the setting names it. */
  module: string;
  entry: string;
  /** Of its package; null if it has none. */
  version: string | null;
  /** Of the entry file alone. */
  sha256: string;
  exported: unknown;
};

/**
 * Imports a module by the path of a folder or file, relative to the first of `folders`, or by the name of a package that
 * is installed in or above one of them. Node's own resolution starts at the importing file, which is inside the service.
 */
export async function loadModule(module: string, folders: readonly string[]): Promise<LoadedModule> {
  const is_path = /^\.{0,2}\//.test(module) || module === '.' || module === '..' || isAbsolute(module);
  const place = is_path ? resolve(folders[0] ?? '', module) : await findPackage(module, folders);
  const stats = await stat(place).catch(() => undefined);
  if (!stats) throw failure(module, `does not exist: there is nothing at ${place}.`);
  const { entry, version } = stats.isDirectory() ? await findEntry(module, place) : await describeFile(place);
  const content = await readFile(entry).catch((cause: unknown) => {
    const problem = `cannot be loaded: its package.json names ${entry}, which cannot be read.`;
    throw failure(module, `${problem} If it has to be built, build it.`, cause);
  });
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { module, entry, version, sha256, exported: await importDefault(module, entry) };
}

/** A failure that names the module. Its text starts with a verb. */
export function failure(module: string, problem: string, cause?: unknown): StartFailure {
  return new StartFailure(`CONNECTORS: ${module} ${problem}`, { cause });
}

async function findPackage(module: string, folders: readonly string[]): Promise<string> {
  if (!/^(@[^@/\s\\]+\/)?[^@/\s\\]+$/.test(module)) {
    throw failure(module, 'is neither the name of a package nor a path: a path starts with ./ or /.');
  }
  for (const place of folders.flatMap(listAbove).map((folder) => join(folder, 'node_modules', module))) {
    if (await stat(place).catch(() => undefined)) return place;
  }
  const remedy = `Install it there, or write ./${module} if it is a folder.`;
  throw failure(module, `is not installed in ${folders.join(' or ')}, or above. ${remedy}`);
}

function listAbove(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...listAbove(above)];
}

type Manifest = { version?: unknown; main?: unknown; exports?: unknown };

async function findEntry(module: string, folder: string): Promise<{ entry: string; version: string | null }> {
  const manifest = await readManifest(folder);
  if (!manifest) throw failure(module, `has no package.json that can be read, in ${folder}.`);
  const target = chooseTarget(manifest.exports) ?? (typeof manifest.main === 'string' ? manifest.main : 'index.js');
  return { entry: resolve(folder, target), version: toVersion(manifest) };
}

/** The version of the package that a file belongs to. */
async function describeFile(entry: string): Promise<{ entry: string; version: string | null }> {
  for (const folder of listAbove(dirname(entry))) {
    const manifest = await readManifest(folder);
    if (manifest) return { entry, version: toVersion(manifest) };
  }
  return { entry, version: null };
}

async function readManifest(folder: string): Promise<Manifest | undefined> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    return typeof manifest === 'object' && manifest !== null ? manifest : undefined;
  } catch {
    return undefined;
  }
}

function toVersion({ version }: Manifest): string | null {
  return typeof version === 'string' ? version : null;
}

/** The conditions that Node applies to an `import`. */
const conditions = ['node', 'import', 'module-sync', 'default'];

/** The main entry of a package's `exports`: a path, a path by condition, or either of them at '.'. */
function chooseTarget(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports;
  if (Array.isArray(exports)) return exports.map(chooseTarget).find((target) => target !== undefined);
  if (typeof exports !== 'object' || exports === null) return undefined;
  const entries = Object.entries(exports);
  const main = entries.find(([name]) => name === '.');
  if (main) return chooseTarget(main[1]);
  return entries
    .filter(([name]) => conditions.includes(name))
    .map(([, target]) => chooseTarget(target))
    .find((target) => target !== undefined);
}

async function importDefault(module: string, entry: string): Promise<unknown> {
  try {
    const namespace: { default?: unknown } = await import(/* @vite-ignore */ pathToFileURL(entry).href);
    return namespace.default;
  } catch (error) {
    const [reason] = (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).split('\n');
    throw failure(module, `cannot be loaded from ${entry}. ${reason?.replace(/\.$/, '')}.`, error);
  }
}
