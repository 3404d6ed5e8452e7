import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, link, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartFailure } from '../../../catalog/errors.ts';
import { describeError, type Folders, readErrorCode } from './folders.ts';
import { dataFolderAsSeen, runAs, type ServerAccount } from './serverAccount.ts';
import { superuser } from './settings.ts';

type ClusterOptions = {
  folders: Folders;
  account: ServerAccount;
  binaries: string;
  log: (line: string) => void;
  /** Whether the new database must survive a power failure right after. */
  sync: boolean;
};

/**
 * Creates the cluster on the first start and returns its superuser's password. Everything is created in a temporary
 * folder and renamed, so that neither a kill nor a concurrent start leaves an incomplete cluster.
 */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const { folders, log } = options;
  const exists = await clusterExists(folders);
  const password = await readPassword(folders);
  if (exists && password === undefined) {
    throw new StartFailure(
      `The database in ${folders.cluster} is missing its password file ${folders.password_file}: restore it from a backup.`,
    );
  }
  await removeLeftovers(folders);
  if (exists && password !== undefined) return password;
  log('Creating the database.');
  const agreed = password ?? (await agreeOnPassword(folders));
  await createCluster(options, agreed);
  return agreed;
}

const leftover = /^postgres\.new-(\d+)-/;

/** A folder for an unfinished cluster. The next start removes it if this process is gone. */
export function unfinishedFolder(data_dir: string): string {
  return join(data_dir, `postgres.new-${process.pid}-${randomBytes(4).toString('hex')}`);
}

export async function clusterExists(folders: Folders): Promise<boolean> {
  return stat(join(folders.cluster, 'PG_VERSION')).then(
    () => true,
    () => false,
  );
}

async function readPassword(folders: Folders): Promise<string | undefined> {
  const text = await readFile(folders.password_file, 'utf8').catch(() => '');
  return text.trim() || undefined;
}

/** Of two concurrent starts the first to link its file wins, and both use that password. */
async function agreeOnPassword(folders: Folders): Promise<string> {
  const fresh = `${folders.password_file}.${process.pid}-${randomBytes(4).toString('hex')}`;
  const file = await open(fresh, 'wx', 0o600);
  try {
    await file.writeFile(`${randomBytes(24).toString('base64url')}\n`);
    await file.sync();
    await link(fresh, folders.password_file);
  } catch (error) {
    if (readErrorCode(error) !== 'EEXIST') throw error;
  } finally {
    await file.close();
    await rm(fresh, { force: true });
  }
  const password = await readPassword(folders);
  if (password === undefined) throw new StartFailure(`The password file ${folders.password_file} is empty.`);
  return password;
}

/** Removes folders of killed starts: the process in the folder's name is gone, or was an earlier one with our pid. */
export async function removeLeftovers(folders: Folders): Promise<void> {
  for (const name of await readdir(folders.data_dir)) {
    const pid = Number(leftover.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid) || (pid !== process.pid && processExists(pid))) continue;
    const path = join(folders.data_dir, name);
    const { birthtimeMs } = await stat(path).catch(() => ({ birthtimeMs: 0 }));
    if (pid === process.pid && birthtimeMs > Date.now() - process.uptime() * 1000) continue;
    // The killed start's initdb may still be writing; then the next start removes the folder.
    await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return readErrorCode(error) === 'EPERM';
  }
}

async function createCluster(options: ClusterOptions, password: string): Promise<void> {
  const { folders, account } = options;
  const fresh = unfinishedFolder(folders.data_dir);
  const cluster = join(fresh, 'cluster');
  const password_file = join(fresh, 'password');
  try {
    await mkdir(fresh, { mode: 0o700 });
    await mkdir(cluster, { mode: 0o700 });
    await writeFile(password_file, password, { mode: 0o600 });
    if (account.switched) {
      for (const path of [password_file, cluster, fresh]) await chown(path, account.uid, account.gid);
    }
    await initdb(options, cluster);
    await rename(cluster, folders.cluster);
    if (options.sync) await syncFolder(folders.data_dir);
  } catch (error) {
    // A concurrent start was faster: its cluster is in place.
    if (await clusterExists(folders)) return;
    if (error instanceof StartFailure) throw error;
    throw new StartFailure(`The database could not be created in ${folders.cluster}: ${describeError(error)}.`, {
      cause: error,
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function initdb(options: ClusterOptions, cluster: string): Promise<void> {
  const { account, binaries, folders } = options;
  const program = join(binaries, 'bin', 'initdb');
  const args = [
    `--pgdata=${dataFolderAsSeen(account, cluster)}`,
    `--username=${superuser}`,
    '--pwfile=../password',
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // Unicode rules without the machine's locales: the same sort order everywhere.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(options.sync ? [] : ['--no-sync']),
  ];
  const child = spawn(program, args, { ...runAs(account), cwd: cluster, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const end = await new Promise<string | number | null>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', resolve);
  });
  if (end === 0) return;
  await writeFile(folders.log_file, errors, { flag: 'a', mode: 0o600 }).catch(() => {});
  const reason = typeof end === 'string' ? end : lastError(errors);
  throw new StartFailure(`The database could not be created (${reason}); see ${folders.log_file}.`);
}

function lastError(errors: string): string {
  const lines = errors.split('\n').filter((line) => line.trim() !== '' && !/hint:|warning:/.test(line));
  const line = lines.findLast((text) => /FATAL|PANIC|error:/.test(text)) ?? lines.at(-1);
  return line?.replace(/^.*?(error|FATAL|PANIC|initdb):\s*/, '') ?? 'initdb gave no reason';
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}
