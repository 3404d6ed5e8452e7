import { type FileHandle, open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { StartFailure } from '../../../catalog/errors.ts';
import type { DatabaseAddress } from '../database.ts';
import { readErrorCode } from './folders.ts';

/** A file of the cluster. A path that ends with a slash is a folder. */
export type ClusterFile = { path: string; bytes: number; content: AsyncIterable<Buffer> };

/** An online copy of a running cluster, as PostgreSQL's documentation describes it under "low level API". */
export type BaseBackup = {
  /** The size of all files, as far as it is known now. */
  bytes: number;
  /** The files, which change while they are read: the copy can only be used with the label and the WAL. */
  files(): AsyncGenerator<ClusterFile>;
  /** Ends the copy. It contains everything that was committed before `stopped_at`. */
  stop(): Promise<{ stopped_at: Date; files(): AsyncGenerator<ClusterFile> }>;
  /** Also ends a backup that was not stopped, so that the server can remove old WAL again. */
  close(): Promise<void>;
};

/** Their content is useless in a copy or is created at the start; the folders themselves are needed. */
const emptied_folders = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);
const skipped_files =
  /^(postmaster\.(pid|opts)|backup_label|tablespace_map|\.s\.PGSQL\..*)$|(^|\/)(pg_internal\.init|pgsql_tmp)/;
const control_file = 'global/pg_control';
const read_bytes = 262_144;

export async function startBaseBackup(cluster: string, address: DatabaseAddress): Promise<BaseBackup> {
  // One session: the backup and the slot end with it, also if this process is killed.
  const session = new pg.Client({ ...address, ssl: false });
  session.on('error', () => {});
  await session.connect();
  try {
    // The slot keeps the WAL that the copy needs.
    await session.query(
      `SELECT pg_create_physical_replication_slot('chartwire_backup_' || pg_backend_pid(), true, true)`,
    );
    const started = await session.query<{ name: string }>(
      `SELECT pg_walfile_name(pg_backup_start('chartwire', fast => true)) AS name`,
    );
    const entries = await list(cluster);
    return {
      bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
      files: () => readAll(cluster, entries),
      stop: async () => {
        const clock = await session.query<{ at: Date }>('SELECT clock_timestamp() AS at');
        const { rows } = await session.query<{ wal: string; label: string; tablespaces: string }>(`
          SELECT pg_walfile_name(lsn) AS wal, labelfile AS label, coalesce(spcmapfile, '') AS tablespaces
            FROM pg_backup_stop(wait_for_archive => false)`);
        const [stopped] = rows;
        const [first, stopped_at] = [started.rows[0]?.name, clock.rows[0]?.at];
        if (!stopped || !first || !stopped_at) throw new Error('PostgreSQL did not finish the backup.');
        if (stopped.tablespaces !== '')
          throw new StartFailure('The database has tablespaces, which cannot be backed up.');
        return { stopped_at, files: () => endOfCopy(cluster, stopped.label, { first, last: stopped.wal }) };
      },
      close: () => session.end(),
    };
  } catch (error) {
    await session.end();
    throw error;
  }
}

type Entry = { path: string; bytes: number };

/** All files and folders, folders first. pg_control comes last: it must not be newer than what is copied after it. */
async function list(cluster: string): Promise<Entry[]> {
  const entries = await readdir(cluster, { recursive: true, withFileTypes: true });
  const folders: Entry[] = [];
  const files: Entry[] = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name).slice(cluster.length + 1);
    const top = path.split('/')[0] ?? '';
    if (entry.isDirectory() && (!emptied_folders.has(top) || top === 'pg_wal' || path === top)) {
      folders.push({ path: `${path}/`, bytes: 0 });
    } else if (entry.isFile() && !emptied_folders.has(top) && !skipped_files.test(path) && path !== control_file) {
      const { size } = await stat(join(cluster, path)).catch(() => ({ size: 0 }));
      files.push({ path, bytes: size });
    }
  }
  return [...folders, ...files, { path: control_file, bytes: 8_192 }];
}

async function* readAll(cluster: string, entries: readonly Entry[]): AsyncGenerator<ClusterFile> {
  for (const { path } of entries) {
    if (path.endsWith('/')) yield { path, bytes: 0, content: pieces([]) };
    else if (path === control_file) yield toClusterFile(path, await readStable(join(cluster, path)));
    else {
      const handle = await open(join(cluster, path)).catch((error: unknown) => {
        // Dropped since it was listed. The WAL says so too.
        if (readErrorCode(error) === 'ENOENT') return undefined;
        throw error;
      });
      if (handle === undefined) continue;
      try {
        const { size } = await handle.stat();
        yield { path, bytes: size, content: readContent(handle, size) };
      } finally {
        await handle.close();
      }
    }
  }
}

/** The label without which PostgreSQL would start at the wrong place, and the WAL from the start to the end of the copy. */
async function* endOfCopy(
  cluster: string,
  label: string,
  { first, last }: { first: string; last: string },
): AsyncGenerator<ClusterFile> {
  yield toClusterFile('backup_label', Buffer.from(label));
  const names = (await readdir(join(cluster, 'pg_wal'))).filter((name) => /^[0-9A-F]{24}$/.test(name));
  const needed = names.filter((name) => name >= first && name <= last).sort();
  if (needed[0] !== first || needed.at(-1) !== last) throw new Error('WAL that the backup needs is missing.');
  const entries = needed.map((name) => ({ path: `pg_wal/${name}`, bytes: 0 }));
  yield* readAll(cluster, entries);
}

/** Exactly `bytes` bytes. A file that is truncated meanwhile is filled up with zeros, which the WAL corrects. */
async function* readContent(handle: FileHandle, bytes: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < bytes; ) {
    const wanted = Math.min(read_bytes, bytes - position);
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(wanted), 0, wanted, position);
    const chunk = bytesRead === 0 ? buffer : buffer.subarray(0, bytesRead);
    position += chunk.length;
    yield chunk;
  }
}

/** pg_control is not protected by WAL, so it is read until two readings agree: none was taken during a write. */
async function readStable(path: string): Promise<Buffer> {
  let before = await readFile(path);
  for (;;) {
    const now = await readFile(path);
    if (now.equals(before)) return now;
    before = now;
  }
}

function toClusterFile(path: string, content: Buffer): ClusterFile {
  return { path, bytes: content.length, content: pieces([content]) };
}

async function* pieces(content: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* content;
}
