import { createReadStream, existsSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { removeLeftovers, unfinishedFolder } from '../../platform/db/embedded/cluster.ts';
import { describeError, ensureFolders, type Folders, readErrorCode } from '../../platform/db/embedded/folders.ts';
import { runningPostmaster } from '../../platform/db/embedded/postmaster.ts';
import { isBeforeFirstRelease, migrationNames } from '../../platform/db/migrate.ts';
import { ensureDatabase, openEmbedded } from '../../platform/db/openServer.ts';
import { loadTableCopy } from '../../platform/db/tableCopy.ts';
import {
  type ArchiveEnd,
  type ArchiveFile,
  type ArchiveStart,
  any_platform,
  damaged,
  decrypt,
  own_platform,
  table_folder,
  unpack,
} from './archive.ts';

/**
 * Restores a backup into an empty DATA_DIR. `mark` runs on a temporary one inside it, and everything is moved into
 * place only afterwards: a restore that was interrupted leaves no database that a service could use unmarked.
 */
export async function restoreBackup<T>(
  config: Config,
  options: { from: string; passphrase: string; onProgress: (done: number, total: number) => void },
  mark: (unfinished: Config, end: ArchiveEnd) => Promise<T>,
): Promise<T> {
  const folders = await ensureFolders(config.data_dir);
  await requireEmpty(folders);
  const unfinished = unfinishedFolder(folders.data_dir);
  try {
    await mkdir(unfinished, { mode: 0o700 });
    const target = { ...config, data_dir: unfinished };
    const end = await extractBackup(target, options.from, options.passphrase, options.onProgress);
    const result = await mark(target, end);
    await moveInto(folders, unfinished);
    return result;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function requireEmpty(folders: Folders): Promise<void> {
  const { data_dir } = folders;
  if (await runningPostmaster(folders)) {
    throw new StartFailure(`A server is running on ${data_dir}. Restore into an empty folder.`);
  }
  await removeLeftovers(folders);
  if ((await readdir(data_dir)).length > 0)
    throw new StartFailure(`${data_dir} is not empty. Restore into an empty folder.`);
}

/** The database comes last: without its files, the folder is not one that a service would continue with. */
async function moveInto(folders: Folders, unfinished: string): Promise<void> {
  const names = await readdir(unfinished);
  for (const name of names.filter((each) => join(folders.data_dir, each) !== folders.cluster)) {
    await rename(join(unfinished, name), join(folders.data_dir, name));
  }
  await rename(join(unfinished, 'postgres'), folders.cluster);
}

type OnProgress = (done: number, total: number) => void;

/** Reads a backup to its end: decrypts it and checks every file against its checksum. */
export function checkBackup(from: string, passphrase: string, onProgress: OnProgress = () => {}): Promise<ArchiveEnd> {
  return readBackup(from, passphrase, onProgress, {
    onStart: async () => {},
    onFile: async ({ content }) => {
      for await (const _chunk of content);
    },
  });
}

/** Writes a backup into DATA_DIR, which must be empty. */
export async function extractBackup(
  config: Config,
  from: string,
  passphrase: string,
  onProgress: OnProgress = () => {},
): Promise<ArchiveEnd> {
  try {
    const end = await readBackup(from, passphrase, onProgress, {
      onStart: refuseForeign,
      onFile: (file) => writeArchiveFile(config.data_dir, file),
    });
    await loadRows(config);
    return end;
  } catch (cause) {
    if (readErrorCode(cause) !== 'ENOSPC') throw cause;
    throw new StartFailure('No space is left on the disk. Nothing was restored.', { cause });
  }
}

async function readBackup(
  from: string,
  passphrase: string,
  onProgress: OnProgress,
  handle: Parameters<typeof unpack>[1],
): Promise<ArchiveEnd> {
  const { size } = await stat(from).catch((cause: unknown) => {
    throw new StartFailure(
      `${from} cannot be read: ${readErrorCode(cause) === 'ENOENT' ? 'no such file' : describeError(cause)}.`,
    );
  });
  let end: ArchiveEnd | undefined;
  let done = 0;
  try {
    await pipeline(
      createReadStream(from, { highWaterMark: 262_144 }),
      async function* (source: AsyncIterable<Buffer>) {
        for await (const chunk of source) {
          done += chunk.length;
          onProgress(done, size);
          yield chunk;
        }
      },
      (source: AsyncIterable<Buffer>) => decrypt(passphrase, source),
      createGunzip(),
      async (source: AsyncIterable<Buffer>) => {
        end = await unpack(source, handle);
      },
    );
  } catch (error) {
    // A stream that ends too early is a failure of the decompressor.
    throw readErrorCode(error)?.startsWith('Z_') ? damaged(error) : error;
  }
  if (!end) throw damaged();
  return end;
}

/** Creates the database, if the backup has its rows instead of its files. */
async function loadRows(config: Config): Promise<void> {
  const folder = join(config.data_dir, table_folder);
  if (!existsSync(folder)) return;
  const server = await openEmbedded(config, () => {});
  try {
    await ensureDatabase(server.owner);
    await loadTableCopy(server.owner, folder);
  } finally {
    await server.release();
  }
  await rm(folder, { recursive: true });
}

/** The files of a database fit one kind of machine; an older program does not know what newer migrations changed. */
async function refuseForeign({ version, platform, migrations }: ArchiveStart): Promise<void> {
  if (platform !== own_platform && platform !== any_platform) {
    throw new StartFailure(
      `The backup was made on ${platform} and cannot be restored on ${own_platform}. Create it there with --portable.`,
    );
  }
  if (isBeforeFirstRelease(migrations)) {
    throw new StartFailure(
      'The backup was made by a version before 0.1.0, which cannot be upgraded. Restore it with that version.',
    );
  }
  const own_migrations = await migrationNames();
  if (migrations.every((name) => own_migrations.includes(name))) return;
  throw new StartFailure(
    `The backup was made by a newer version of Chartwire (${version}). Restore it with that version.`,
  );
}

async function writeArchiveFile(folder: string, { path, content }: ArchiveFile): Promise<void> {
  if (normalize(path) !== path || path.startsWith('..') || path.startsWith('/')) throw damaged();
  const target = join(folder, path);
  if (path.endsWith('/')) {
    await mkdir(target, { recursive: true, mode: 0o700 });
    return;
  }
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const file = await open(target, 'wx', 0o600);
  try {
    for await (const chunk of content) await file.writeFile(chunk);
    // The server syncs its own files when it recovers.
    if (!path.includes('/')) await file.sync();
  } finally {
    await file.close();
  }
}
