import { execFile, spawn } from 'node:child_process';
import { open, readFile, rename, rmdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StartFailure } from '../../errors.ts';
import { codeOf, type Folders } from './folders.ts';
import { dataFolderAsSeen, runAs, type ServerAccount } from './serverAccount.ts';
import { port, server_settings } from './settings.ts';

export type RunningServer = {
  pid: number;
  /** Where it listens, as it was reported at its start (TMPDIR may have changed since); unknown in its first moments. */
  socket_folder: string | undefined;
};

export type Postmaster = {
  pid: number | undefined;
  ended(): boolean;
  /** Why it ended: a reason in words, or `taken` when another server holds this database and waiting helps. */
  finalReason(): Promise<string>;
};

const log_bytes_max = 10_000_000;
const fast_stop_ms = 10_000;
const immediate_stop_ms = 5_000;
/** Above every system's highest process number: no process has it, and none ever will. */
const no_pid = 99_999_999;

/** The server that runs on this cluster, whoever started it. */
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
    // A list, so that a path is quoted. The cluster itself is `.`: its path may be one the server cannot follow.
    unix_socket_directories: host === folders.cluster ? '.' : `"${host}"`,
    ...launch.settings,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  args.push('-c', signOf(folders));
  const log = await openLog(folders);
  const log_start = (await log.stat()).size;
  // Its own session (detached): a Ctrl-C in the terminal is for the service, which ends the database last.
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
    finalReason: async () => failure?.message ?? complaintIn((await readFile(folders.log_file)).subarray(log_start)),
  };
}

/** Ends the server whoever started it: open transactions are rolled back, clients cut off, everything is written. */
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
      if (!(await isPostmaster(running.pid, folders))) return leaveNoFolder(folders, socket_folder);
      await sleep(20);
    }
  }
  throw new Error(`The database in ${folders.cluster} did not stop.`);
}

/** A socket folder among the temporary files is empty now. */
async function leaveNoFolder(folders: Folders, socket_folder: string): Promise<void> {
  if (socket_folder !== folders.cluster) await rmdir(socket_folder).catch(() => {});
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

/** The last word of our server's command line: it says to people and to us whose server this is. */
function signOf(folders: Folders): string {
  return `chartwire.data_dir=${folders.data_dir}`;
}

/**
 * A number in a file of yesterday may by now be any process, even another cluster's server: only one that bears our
 * sign counts. (Its working folder would tell too, but root in a container may not see that of another user.)
 */
async function isPostmaster(pid: number, folders: Folders): Promise<boolean> {
  const command = await commandOf(pid).catch(() => '');
  return command.endsWith(signOf(folders));
}

/** Empty for a process that has ended and that its parent has not yet taken note of. */
async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replace(/\0$/, '');
  return (await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout.trimEnd();
}

/**
 * After a kill -9 the lock files stay. PostgreSQL sees through them unless their number has been given to some other
 * process of this user. They are not removed: postmaster.pid also names the shared memory by which PostgreSQL notices
 * that backends of the killed server still write. Only the number is replaced, by one nobody has.
 */
async function disownStaleLocks(paths: string[], folders: Folders): Promise<void> {
  for (const path of paths) {
    const file = await open(path, 'r+').catch(() => undefined);
    if (file === undefined) continue;
    try {
      const text = await file.readFile('utf8');
      const pid = Number(text.split('\n')[0]);
      if (!Number.isInteger(pid) || pid <= 0 || (await isPostmaster(pid, folders))) continue;
      // Through the same handle: a server that starts right now has put a new file here, which this does not touch.
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
    throw new StartFailure(`Cannot write the log of the database, ${folders.log_file}.`, { cause });
  }
}

function complaintIn(log: Buffer): string {
  const text = log.toString('utf8');
  if (/lock file ".*" already exists|pre-existing shared memory block/.test(text)) return 'taken';
  return [...text.matchAll(/(?:FATAL|PANIC):\s*(.*)/g)].at(-1)?.[1] ?? 'it gave no reason';
}
