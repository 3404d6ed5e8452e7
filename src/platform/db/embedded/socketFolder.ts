import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartFailure } from '../../../catalog/errors.ts';
import { codeOf, type Folders } from './folders.ts';
import { reachableByAll, type ServerAccount } from './serverAccount.ts';
import { port } from './settings.ts';

/** The limit for socket paths is 103 bytes on macOS and 107 on Linux. */
const path_bytes_max = 103;

/** The cluster's own folder if its path is short enough, else a private folder in the temporary directory. */
export async function socketFolder(folders: Folders, account: ServerAccount): Promise<string> {
  if (fits(folders.cluster)) return folders.cluster;
  const key = createHash('sha256').update(folders.data_dir).digest('hex').slice(0, 16);
  for (const parent of [tmpdir(), '/tmp']) {
    const folder = join(parent, `chartwire-${key}`);
    if (fits(folder) && (!account.switched || (await reachableByAll(parent).catch(() => false)))) {
      await openPrivately(folder, account);
      return folder;
    }
  }
  throw new StartFailure(
    `The path of ${folders.data_dir} is too long for a socket, and so is the path of the temporary folder. Set DATA_DIR or TMPDIR to a shorter path.`,
  );
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, `.s.PGSQL.${port}`)) <= path_bytes_max;
}

/** Another user could create this folder in /tmp to impersonate the server, so its owner is checked. */
async function openPrivately(folder: string, account: ServerAccount): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
  const found = await lstat(folder);
  const ours = found.uid === account.uid || found.uid === process.getuid?.();
  if (!found.isDirectory() || !ours) {
    throw new StartFailure(`${folder} belongs to another user. Remove it, or set TMPDIR to your own folder.`);
  }
  await chmod(folder, 0o700);
  if (account.switched) await chown(folder, account.uid, account.gid);
}
