import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { CommandFailure } from '../exits.ts';

/** Above what the service accepts, so that its own error explains the limit. */
const bytes_max = 6_000_000;

/** A file of the folder that was allowed. A link that leads out of the folder is refused. */
export async function readDocument(folder: string, path: string): Promise<Buffer> {
  const inside = await realpath(folder);
  const real = await realpath(resolve(inside, path)).catch((cause: unknown) => {
    throw new CommandFailure('The file does not exist in the folder that --files allows.', 'error', { cause });
  });
  if (!real.startsWith(inside.endsWith(sep) ? inside : inside + sep)) {
    throw new CommandFailure(
      'The file is not in the folder that --files allows. Move it there, and give its path relative to that folder.',
    );
  }
  // Not a link, because it could have been exchanged since. A pipe would block.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new CommandFailure('The path does not name a file.');
    if (found.size > bytes_max)
      throw new CommandFailure('The file is larger than 5 MB, which the service does not accept.');
    return await file.readFile();
  } finally {
    await file.close();
  }
}
