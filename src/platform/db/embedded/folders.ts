import { randomBytes } from 'node:crypto';
import { mkdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { StartFailure } from '../../../catalog/errors.ts';

export type Folders = {
  /** The real path, so that two spellings of one folder mean the same server. */
  data_dir: string;
  cluster: string;
  password_file: string;
  log_file: string;
};

export async function ensureFolders(path: string): Promise<Folders> {
  try {
    await makeFolder(resolve(path));
    const data_dir = await realpath(path);
    const probe = join(data_dir, `.write-test-${randomBytes(6).toString('hex')}`);
    await writeFile(probe, '');
    await rm(probe, { force: true });
    return {
      data_dir,
      cluster: join(data_dir, 'postgres'),
      password_file: join(data_dir, 'postgres-password'),
      log_file: join(data_dir, 'postgres.log'),
    };
  } catch (cause) {
    throw new StartFailure(
      `Cannot write to the data folder ${resolve(path)}: ${describeError(cause)}. Set DATA_DIR to a writable folder.`,
      { cause },
    );
  }
}

export function readErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export function describeError(error: unknown): string {
  return reasons[readErrorCode(error) ?? ''] ?? (error instanceof Error ? error.message : String(error));
}

/** Not mkdir's `recursive` option, which never returns in Node if a parent exists but accepts no folder, as in /proc. */
async function makeFolder(path: string): Promise<void> {
  if (!(await exists(dirname(path)))) await makeFolder(dirname(path));
  await mkdir(path, { mode: 0o700 }).catch((error) => {
    if (readErrorCode(error) !== 'EEXIST') throw error;
  });
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

const reasons: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left',
  ENOENT: 'no folder can be created there',
  EEXIST: 'it is not a folder',
  ENOTDIR: 'it is not a folder',
};
