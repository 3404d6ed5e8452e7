import { execFile, spawn } from 'node:child_process';
import { open, readFile, rename, rmdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StartFailure } from '../../../catalog/errors.ts';
import { type Folders, readErrorCode } from './folders.ts';
import { dataFolderAsSeen, runAs, type ServerAccount } from './serverAccount.ts';
import { port, server_settings } from './settings.ts';

export type RunningServer = {
  pid: number;
  /** The socket folder it was started with (TMPDIR may have changed since); unknown while it starts. */
  socket_folder: string | undefined;
};

export type Postmaster = {
  pid: number | undefined;
  ended(): boolean;
  /** Why it exited: a message, or `taken` if another server uses this cluster and waiting helps. */
  finalReason(): Promise<string>;
};

const log_bytes_max = 10_000_000;
const fast_stop_ms = 10_000;
const immediate_stop_ms = 5_000;
/** Above the highest pid of every system, so no process has it. */
const no_pid = 99_999_999;

/** The server that runs on this cluster, whichever process started it. */
export async function runningPostmaster(folders: Folders): Promise<RunningServer | undefined> {
  const lines = (await readFile(join(folders.cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !(await isPostmaster(pid, folders))) return undefined;
  const listens_at = lines[4]?.trim();
  return { pid, socket_folder: listens_at ? resolve(folders.cluster, listens_at) : undefined };
}

export async function spawnPostmaster(launch: {
  folders: Folders;
  account: ServerAccount;
  binaries: string;
  host: string;
  settings: Record<string, string>;
}): Promise<Postmaster> {
  const { folders, account, binaries, host } = launch;
  await disownStaleLocks([join(folders.cluster, 'postmaster.pid'), join(host, `.s.PGSQL.${port}.lock`)], folders);
  const settings = {
    ...server_settings,
    // A list, so that paths are quoted. The cluster itself is `.`, because the server may be unable to resolve its path.
    unix_socket_directories: host === folders.cluster ? '.' : `"${host}"`,
    ...launch.settings,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  args.push('-c', toMarker(folders));
  const log = await openLog(folders);
  const log_start = (await log.stat()).size;
  // Detached: Ctrl-C in the terminal is for the service, which stops the database last.
  const child = spawn(join(binaries, 'bin', 'postgres'), ['-D', dataFolderAsSeen(account, folders.cluster), ...args], {
    ...runAs(account),
    cwd: folders.cluster,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  child.unref();
  await log.close();
  return {
    pid: child.pid,
    ended: () => failure !== undefined || child.exitCode !== null || child.signalCode !== null,
    finalReason: async () => failure?.message ?? fatalErrorIn((await readFile(folders.log_file)).subarray(log_start)),
  };
}

/** Stops the server, whichever process started it: rolls back open transactions and disconnects clients. */
export async function stopPostmaster(folders: Folders, socket_folder: string): Promise<void> {
  for (const [signal, patience_ms] of [
    ['SIGINT', fast_stop_ms],
    ['SIGQUIT', immediate_stop_ms],
  ] as const) {
    const running = await runningPostmaster(folders);
    if (running === undefined) return;
    signalTo(running.pid, signal);
    const deadline = Date.now() + patience_ms;
    while (Date.now() < deadline) {
      if (!(await isPostmaster(running.pid, folders))) return removeSocketFolder(folders, socket_folder);
      await sleep(20);
    }
  }
  throw new Error(`The database in ${folders.cluster} did not stop.`);
}

/** Removes the socket folder if it is a temporary one. */
async function removeSocketFolder(folders: Folders, socket_folder: string): Promise<void> {
  if (socket_folder !== folders.cluster) await rmdir(socket_folder).catch(() => {});
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (readErrorCode(error) !== 'ESRCH') throw error;
  }
}

/** The last argument of our server's command line, which identifies it. */
function toMarker(folders: Folders): string {
  return `chartwire.data_dir=${folders.data_dir}`;
}

/**
 * The pid in an old file may belong to any process by now, even to another cluster's server, so the command line must
 * have our marker. (The working folder is no alternative: root in a container may be unable to read another user's.)
 */
async function isPostmaster(pid: number, folders: Folders): Promise<boolean> {
  const command = await readCommandLine(pid).catch(() => '');
  return command.endsWith(toMarker(folders));
}

/** Empty for a zombie process. */
async function readCommandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replace(/\0$/, '');
  return (await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout.trimEnd();
}

/**
 * Lock files remain after a kill -9. PostgreSQL detects stale ones unless their pid has been reused by another process of
 * this user. They must not be removed: postmaster.pid also names the shared memory by which PostgreSQL detects that
 * backends of the killed server still write. So only the pid is replaced, by one that no process has.
 */
async function disownStaleLocks(paths: string[], folders: Folders): Promise<void> {
  for (const path of paths) {
    const file = await open(path, 'r+').catch(() => undefined);
    if (file === undefined) continue;
    try {
      const text = await file.readFile('utf8');
      const pid = Number(text.split('\n')[0]);
      if (!Number.isInteger(pid) || pid <= 0 || (await isPostmaster(pid, folders))) continue;
      // Through the same handle: the new file of a server that starts right now is not affected.
      await file.write(text.replace(/^.*/, String(no_pid)), 0);
    } finally {
      await file.close();
    }
  }
}

async function openLog(folders: Folders) {
  const { size } = await stat(folders.log_file).catch(() => ({ size: 0 }));
  try {
    if (size > log_bytes_max) await rename(folders.log_file, `${folders.log_file}.1`);
    return await open(folders.log_file, 'a', 0o600);
  } catch (cause) {
    throw new StartFailure(`Cannot write the database log file ${folders.log_file}.`, { cause });
  }
}

function fatalErrorIn(log: Buffer): string {
  const text = log.toString('utf8');
  if (/lock file ".*" already exists|pre-existing shared memory block/.test(text)) return 'taken';
  return [...text.matchAll(/(?:FATAL|PANIC):\s*(.*)/g)].at(-1)?.[1] ?? 'unknown reason';
}
