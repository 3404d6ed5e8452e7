import { type FileHandle, link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { version } from '../../catalog/version.ts';
import { connect, type DatabaseAddress, openDatabase, type Sql } from '../../platform/db/database.ts';
import { startBaseBackup } from '../../platform/db/embedded/baseBackup.ts';
import { clusterExists } from '../../platform/db/embedded/cluster.ts';
import { describeError, ensureFolders, type Folders, readErrorCode } from '../../platform/db/embedded/folders.ts';
import { rewriteErasedTables } from '../../platform/db/erasedTables.ts';
import { appliedMigrations } from '../../platform/db/migrate.ts';
import { openEmbedded } from '../../platform/db/openServer.ts';
import { roleAddresses } from '../../platform/db/roles.ts';
import { startTableCopy } from '../../platform/db/tableCopy.ts';
import { isKeyProvided } from '../../platform/security/keyCommand.ts';
import { rotationLock } from '../../platform/security/keys.ts';
import { key_files } from '../../platform/security/masterKeys.ts';
import { localAnchorFile } from '../audit/anchors.ts';
import {
  type ArchiveEnd,
  type ArchiveFile,
  any_platform,
  encrypt,
  own_platform,
  pack,
  table_folder,
} from './archive.ts';
import { checkBackup } from './restoreBackup.ts';

export type BackupProgress = (what: 'rewrite' | 'copy' | 'check', done: number, total: number) => void;

/** The files of the database are stored below this folder, as in DATA_DIR. */
const cluster_folder = 'postgres';
const compression = 1;

/**
 * Writes an encrypted backup of the embedded database and the files of DATA_DIR that belong to it, while the service
 * runs. The file gets its name only after it was read back and checked; before, and after a crash, it is `<to>.partial`.
 */
export async function createBackup(
  config: Config,
  options: { to: string; passphrase: string; portable: boolean; onProgress: BackupProgress },
): Promise<ArchiveEnd> {
  const { to, passphrase, portable, onProgress } = options;
  const folders = await ensureFolders(config.data_dir);
  if (!(await clusterExists(folders))) {
    throw new StartFailure(`There is no embedded database in ${folders.data_dir}. Set DATA_DIR to its folder.`);
  }
  await checkIsNew(to);
  const server = await openEmbedded(config, () => {});
  try {
    // A portable backup contains rows, not files. The copy of the files starts with a checkpoint and a new WAL segment, so
    // that the WAL of the time before is not part of it.
    if (!portable) {
      await rewriteErasedTables(server.owner, { onProgress: (done, total) => onProgress('rewrite', done, total) });
    }
    return await writeFinishedFile(to, async (file, partial) => {
      // A key file that MASTER_KEY has replaced does not belong to the database anymore.
      const keys = isKeyProvided(config) ? [] : key_files;
      await writeFromDatabase(folders, server.owner, { file, passphrase, portable, keys, onProgress });
      return checkBackup(partial, passphrase, (done, total) => onProgress('check', done, total));
    });
  } finally {
    await server.release();
  }
}

type Target = {
  file: FileHandle;
  passphrase: string;
  portable: boolean;
  /** The files in DATA_DIR with the master keys. */
  keys: readonly string[];
  onProgress: BackupProgress;
};

async function writeFromDatabase(folders: Folders, owner: DatabaseAddress, target: Target): Promise<void> {
  const { file, passphrase, portable } = target;
  const db = openDatabase(roleAddresses(owner), 2);
  const as_owner = connect(owner, { max: 1 });
  try {
    const platform = portable ? any_platform : own_platform;
    const start = { version, platform, migrations: await appliedMigrations(as_owner) };
    const copy = (portable ? copyOfRows : copyOfFiles)(folders, owner, db.system, target);
    await pipeline(
      Readable.from(pack(start, copy.files(), copy.end)),
      createGzip({ level: compression }),
      (source: AsyncIterable<Buffer>) => encrypt(passphrase, source),
      file.createWriteStream({ flush: true }),
    );
  } finally {
    await db.close();
    await as_owner.end({ timeout_ms: 5_000 });
  }
}

/** The files of a backup in the order in which they are read, and what is known after the last one. */
type Copy = { files(): AsyncGenerator<ArchiveFile>; end(): Omit<ArchiveEnd, 'files' | 'bytes'> };

function copyOfFiles(folders: Folders, owner: DatabaseAddress, system: Sql, target: Target): Copy {
  const { onProgress } = target;
  let ended: ReturnType<Copy['end']> | undefined;
  async function* files(): AsyncGenerator<ArchiveFile> {
    // The anchor is read first: it must not be newer than the log.
    yield* await readFiles(folders.data_dir, [localAnchorFile(''), 'postgres-password', 'sandbox.json']);
    const audit_position = await auditPosition(system);
    const base = await startBaseBackup(folders.cluster, owner);
    try {
      let done = 0;
      for await (const file of base.files()) {
        yield below(file);
        done += file.bytes;
        onProgress('copy', Math.min(done, base.bytes), base.bytes);
      }
      // No master key is replaced in between: the keys must be those of the copy.
      const { stopped, keys } = await rotationLock(system)(async () => ({
        stopped: await base.stop(),
        keys: await readFiles(folders.data_dir, target.keys),
      }));
      for await (const file of stopped.files()) yield below(file);
      yield* keys;
      ended = { backup_at: stopped.stopped_at.toISOString(), audit_position };
    } finally {
      await base.close();
    }
  }
  return { files, end: () => required(ended) };
}

/** Without the password of the database: it gets a new one. */
function copyOfRows(folders: Folders, owner: DatabaseAddress, system: Sql, target: Target): Copy {
  const { onProgress } = target;
  let ended: ReturnType<Copy['end']> | undefined;
  async function* files(): AsyncGenerator<ArchiveFile> {
    // The anchor is read first: it must not be newer than the log.
    yield* await readFiles(folders.data_dir, [localAnchorFile(''), 'sandbox.json']);
    const { copy, keys } = await rotationLock(system)(async () => ({
      copy: await startTableCopy(owner),
      keys: await readFiles(folders.data_dir, target.keys),
    }));
    try {
      yield* keys;
      let done = 0;
      for await (const part of copy.parts()) {
        yield { ...part, path: `${table_folder}/${part.path}` };
        done += part.bytes;
        onProgress('copy', Math.min(done, copy.bytes), copy.bytes);
      }
      onProgress('copy', copy.bytes, copy.bytes);
      ended = { backup_at: copy.taken_at.toISOString(), audit_position: copy.audit_position };
    } finally {
      await copy.close();
    }
  }
  return { files, end: () => required(ended) };
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The copy has not ended.');
  return value;
}

function below(file: ArchiveFile): ArchiveFile {
  return { ...file, path: `${cluster_folder}/${file.path}` };
}

async function readFiles(folder: string, names: readonly string[]): Promise<ArchiveFile[]> {
  const files: ArchiveFile[] = [];
  for (const path of names) {
    const content = await readFile(join(folder, path)).catch((error: unknown) => {
      if (readErrorCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (content) files.push({ path, bytes: content.length, content: Readable.from([content]) });
  }
  return files;
}

async function auditPosition(system: Sql): Promise<number> {
  const [row] = await system<{ position: number }[]>`SELECT position FROM audit_head`;
  return row?.position ?? 0;
}

/**
 * Writes a file that exists under its name only when it is complete: before, and after a crash, it is `<to>.partial`.
 * Only its owner can read it. An existing file is replaced with `overwrite`, else it is an error.
 */
export async function writeFinishedFile<T>(
  to: string,
  write: (file: FileHandle, partial: string) => Promise<T>,
  { overwrite = false } = {},
): Promise<T> {
  const partial = `${to}.partial`;
  const file = await open(partial, 'wx', 0o600).catch((cause: unknown) => {
    throw readErrorCode(cause) === 'EEXIST'
      ? new StartFailure(
          `${partial} exists: another process is writing ${to}, or was interrupted. If it was interrupted, remove the file.`,
        )
      : new StartFailure(`${to} cannot be written: ${describeError(cause)}.`, { cause });
  });
  try {
    const result = await write(file, partial);
    if (overwrite) await rename(partial, to);
    else await linkNew(partial, to);
    return result;
  } catch (cause) {
    if (readErrorCode(cause) !== 'ENOSPC') throw cause;
    throw new StartFailure(`No space is left on the disk of ${to}. The file was not written.`, { cause });
  } finally {
    await file.close();
    await rm(partial, { force: true });
    await syncFolder(dirname(to));
  }
}

/** Fails early, before the work starts. `writeFinishedFile` checks again when it gives the file its name. */
export async function checkIsNew(to: string, remedy = ''): Promise<void> {
  const exists = await stat(to).then(
    () => true,
    () => false,
  );
  if (exists) throw alreadyExists(to, remedy);
}

/** Unlike a rename, a link never replaces a file that was created meanwhile. */
async function linkNew(partial: string, to: string): Promise<void> {
  await link(partial, to).catch((cause: unknown) => {
    throw readErrorCode(cause) === 'EEXIST' ? alreadyExists(to) : cause;
  });
}

function alreadyExists(to: string, remedy = ''): StartFailure {
  return new StartFailure(`${to} already exists and will not be overwritten.${remedy}`);
}

/** The new name must survive a power failure like the file's content. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}
