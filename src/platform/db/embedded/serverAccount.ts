import { execFile } from 'node:child_process';
import { access, chown, constants, lchown, lstat, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StartFailure } from '../../../catalog/errors.ts';
import type { Folders } from './folders.ts';

/**
 * The user that runs the server. PostgreSQL refuses uid 0, so root switches to another user; an ordinary user runs it
 * directly (`switched` is false).
 */
export type ServerAccount = { uid: number; gid: number; switched: boolean };

export type AccountRules = {
  /** False: a server that would run as `nobody` is not started. */
  allow_nobody: boolean;
  /** Whether a server runs on this cluster. Its files then keep their owner. */
  running: boolean;
  log: (line: string) => void;
  /** Root's own user for the server, created if necessary; undefined if it cannot be. Replaced in tests. */
  ownUser?: () => Promise<User | undefined>;
};

export async function serverAccount(folders: Folders, rules: AccountRules): Promise<ServerAccount> {
  const own = { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 };
  const owner = await readOwner(folders.cluster);
  if (own.uid === 0) return { ...(await userForRoot(folders, owner, rules)), switched: true };
  if (owner !== undefined && owner.uid !== own.uid) {
    throw new StartFailure(
      `The database in ${folders.cluster} belongs to another user (uid ${owner.uid}): start as that user, or set DATA_DIR to another folder.`,
    );
  }
  return { ...own, switched: false };
}

/** Spawn options. `cwd` is entered before switching users, see `dataFolderAsSeen`. */
export function runAs(account: ServerAccount): { uid?: number; gid?: number; env: NodeJS.ProcessEnv } {
  // The server gets no secret of the service's environment, and no locale or time zone of the machine.
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
  return account.switched ? { uid: account.uid, gid: account.gid, env } : { env };
}

/**
 * The data folder's path from the server's point of view. Below a 0700 folder (root's home, a mkdtemp folder) another
 * user cannot resolve the path, even to its own folder. But we enter it as root before switching, and Linux lets every
 * process follow /proc/self/cwd without checking the folders above.
 */
export function dataFolderAsSeen(account: ServerAccount, path: string): string {
  return account.switched ? '/proc/self/cwd' : path;
}

/** Whether every user can read `path` and pass through all folders above it. */
export async function reachableByAll(path: string): Promise<boolean> {
  if (((await stat(path)).mode & 0o005) !== 0o005) return false;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

async function readOwner(path: string): Promise<User | undefined> {
  return stat(path).then(
    ({ uid, gid }) => ({ uid, gid }),
    () => undefined,
  );
}

/**
 * A user of its own: `nobody` is shared, and every process of the server's user can become its superuser. An existing
 * cluster keeps its owner, except for one of root (restored or copied) or of `nobody` (an earlier start fell back to it).
 */
async function userForRoot(folders: Folders, owner: User | undefined, rules: AccountRules): Promise<User> {
  if (process.platform !== 'linux') {
    throw new StartFailure('PostgreSQL does not run as root: start as an ordinary user, or set DATABASE_URL.');
  }
  const nobody = await findUser('nobody');
  if (owner !== undefined && owner.uid !== 0 && owner.uid !== nobody?.uid) return owner;
  const own_user = await (rules.ownUser ?? ensureSystemUser)();
  if (own_user !== undefined && !rules.running) {
    if (owner !== undefined) await giveTree(folders.cluster, own_user);
    return own_user;
  }
  const reason = own_user === undefined ? `the user ${account_name} cannot be created` : 'it was started as that user';
  const user = owner?.uid ? owner : nobody;
  if (user === undefined) {
    throw new StartFailure(
      `PostgreSQL does not run as root, ${reason}, and this system has no user "nobody": start as an ordinary user, or set DATABASE_URL.`,
    );
  }
  refuseOrWarn(rules, reason);
  if (owner?.uid === 0) await giveTree(folders.cluster, user);
  return user;
}

function refuseOrWarn({ allow_nobody, running, log }: AccountRules, reason: string): void {
  const risk = `The embedded database runs as "nobody" (${reason}): every process of that user can read and change it.`;
  const remedy = running
    ? 'Stop it, and start again'
    : `Create the user (useradd --system ${account_name}), start as an ordinary user, or set DATABASE_URL`;
  if (!allow_nobody) throw new StartFailure(`${risk} ${remedy}. To accept the risk, add --allow-nobody.`);
  log(`Warning: ${risk} ${remedy}.`);
}

/**
 * Gives a cluster to another user. Its present owner may be hostile, so each folder changes hands before its entries
 * do: they cannot be replaced by links in between. The cluster's folder belongs to root meanwhile, which tells the next
 * start after a crash to repeat this.
 */
async function giveTree(cluster: string, user: User): Promise<void> {
  await chown(cluster, 0, 0);
  await giveEntries(cluster, user);
  await chown(cluster, user.uid, user.gid);
}

async function giveEntries(folder: string, user: User): Promise<void> {
  for (const entry of await readdir(folder)) {
    const path = join(folder, entry);
    const stats = await lstat(path);
    if (stats.isFile() && stats.nlink > 1) {
      throw new StartFailure(`${path} has a second name (hard link) elsewhere: remove it before the database is used.`);
    }
    await lchown(path, user.uid, user.gid);
    if (stats.isDirectory()) await giveEntries(path, user);
  }
}

export type User = { uid: number; gid: number };

/** The user that runs the embedded database if the service is started as root. */
export const account_name = 'chartwire-db';

/** shadow-utils (most systems), then BusyBox (Alpine). No home, no shell, no password. */
const commands: readonly [string, string[]][] = [
  [
    'useradd',
    ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'],
  ],
  ['adduser', ['-S', '-D', '-H', '-h', '/nonexistent', '-s', '/sbin/nologin']],
];
const attempts_max = 20;
const retry_ms = 100;

/** Finds the user, or creates it. Undefined if this system does not allow that (a read-only /etc, missing tools). */
export async function ensureSystemUser(): Promise<User | undefined> {
  // Concurrent starts: useradd locks /etc/passwd, and the second one fails until the first one is done.
  for (let attempt = 1; attempt <= attempts_max; attempt++) {
    const user = await findUser(account_name);
    if (user !== undefined) return user;
    if (!(await isWritable('/etc/passwd')) || !(await createUser())) return undefined;
    if (attempt > 1) await sleep(retry_ms);
  }
  return findUser(account_name);
}

export async function findUser(name: string): Promise<User | undefined> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const fields = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([first]) => first === name);
  const [, , uid, gid] = fields ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** On a read-only file system not even for root. */
async function isWritable(file: string): Promise<boolean> {
  return access(file, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** Whether it is worth looking for the user now: a program created it, or failed because another one was at work. */
async function createUser(): Promise<boolean> {
  for (const [program, args] of commands) {
    try {
      await promisify(execFile)(program, [...args, account_name], {
        timeout: 10_000,
        env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' },
      });
      return true;
    } catch (error) {
      const { code } = error as { code?: unknown };
      // useradd: 1 cannot lock the file, 9 the user exists.
      if (program === 'useradd' && (code === 1 || code === 9)) return true;
    }
  }
  return false;
}
