import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { removeLeftovers, unfinishedFolder } from '../../platform/db/embedded/cluster.ts';
import { type Folders, openFolders } from '../../platform/db/embedded/folders.ts';
import { runningPostmaster } from '../../platform/db/embedded/postmaster.ts';
import type { ArchiveEnd } from './archive.ts';
import { extractBackup } from './readBackup.ts';

/**
 * Restores a backup into an empty DATA_DIR. `mark` runs on a temporary one inside it, and everything is moved into
 * place only afterwards: a restore that was interrupted leaves no database that a service could use unmarked.
 */
export async function restoreBackup<T>(
  config: Config,
  options: { from: string; passphrase: string; onProgress: (done: number, total: number) => void },
  mark: (unfinished: Config, end: ArchiveEnd) => Promise<T>,
): Promise<T> {
  const folders = await openFolders(config.data_dir);
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
