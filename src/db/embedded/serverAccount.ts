import { chown, lchown, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartFailure } from '../../errors.ts';
import type { Folders } from './folders.ts';

/**
 * The user that runs the server. PostgreSQL refuses uid 0, so root switches to another user; an ordinary user runs it
 * directly (`switched` is false).
 */
export type ServerAccount = { uid: number; gid: number; switched: boolean };

export async function serverAccount(folders: Folders): Promise<ServerAccount> {
  const own = { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 };
  const owner = await ownerOf(folders.cluster);
  if (own.uid === 0) return accountForRoot(folders, owner);
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

type Owner = { uid: number; gid: number };

async function ownerOf(path: string): Promise<Owner | undefined> {
  return stat(path).then(
    ({ uid, gid }) => ({ uid, gid }),
    () => undefined,
  );
}

/** An existing cluster keeps its owner; one that root restored or copied is given to `nobody`. */
async function accountForRoot(folders: Folders, owner: Owner | undefined): Promise<ServerAccount> {
  if (process.platform !== 'linux') {
    throw new StartFailure('PostgreSQL does not run as root: start as an ordinary user, or set DATABASE_URL.');
  }
  if (owner !== undefined && owner.uid !== 0) return { ...owner, switched: true };
  const nobody = await findNobody();
  if (owner !== undefined) await giveTree(folders.cluster, nobody);
  return { ...nobody, switched: true };
}

async function findNobody(): Promise<Owner> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(passwd) ?? [];
  if (uid === undefined || gid === undefined) {
    throw new StartFailure(
      'PostgreSQL does not run as root and this system has no user "nobody": start as an ordinary user, or set DATABASE_URL.',
    );
  }
  return { uid: Number(uid), gid: Number(gid) };
}

async function giveTree(folder: string, owner: Owner): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true })) {
    await lchown(join(folder, entry), owner.uid, owner.gid);
  }
  // The folder itself last: its owner tells the next start that this step is complete.
  await chown(folder, owner.uid, owner.gid);
}
