import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StartFailure } from '../../catalog/errors.ts';
import { codeOf, messageOf } from '../../platform/db/embedded/folders.ts';

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
    throw codeOf(cause) === 'EEXIST'
      ? new StartFailure(
          `${partial} exists: another process is writing ${to}, or was interrupted. If it was interrupted, remove the file.`,
        )
      : new StartFailure(`${to} cannot be written: ${messageOf(cause)}.`, { cause });
  });
  try {
    const result = await write(file, partial);
    if (overwrite) await rename(partial, to);
    else await linkNew(partial, to);
    return result;
  } catch (cause) {
    if (codeOf(cause) !== 'ENOSPC') throw cause;
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
    throw codeOf(cause) === 'EEXIST' ? alreadyExists(to) : cause;
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
