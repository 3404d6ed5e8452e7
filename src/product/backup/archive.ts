import { createHash } from 'node:crypto';
import { damaged } from './encryptedStream.ts';

/** A file of a backup. A path that ends with a slash is an empty folder. */
export type ArchiveFile = { path: string; bytes: number; content: AsyncIterable<Buffer> };

/** What is known when a backup starts. A reader can refuse the backup before it reads the rest. */
export type ArchiveStart = {
  /** The version of Chartwire, and the migrations of its database. */
  version: string;
  migrations: string[];
  /** The files of a database can only be used on the same kind of machine, its rows on any. */
  platform: string;
};

export const own_platform = `${process.platform}-${process.arch}`;
export const any_platform = 'any';
/** Where a backup for any platform has the rows of the database. */
export const table_folder = 'tables';

/** What is known when a backup is complete. */
export type ArchiveEnd = {
  /** The backup contains everything that was committed before this time. */
  backup_at: string;
  files: number;
  bytes: number;
  /** The end of the audit log at `backup_at`, at least. */
  audit_position: number;
};

type Header = { start: ArchiveStart } | { path: string; bytes: number } | { end: ArchiveEnd };

/**
 * Packs files into one stream: `start`, then each file with a header before and a SHA-256 after its content, then `end`.
 * A header is JSON with its length before it.
 */
export async function* pack(
  start: ArchiveStart,
  files: AsyncIterable<ArchiveFile>,
  end: () => Omit<ArchiveEnd, 'files' | 'bytes'>,
): AsyncGenerator<Buffer> {
  yield headerOf({ start });
  const packed = { files: 0, bytes: 0 };
  for await (const { path, bytes, content } of files) {
    yield headerOf({ path, bytes });
    const digest = createHash('sha256');
    let written = 0;
    for await (const chunk of content) {
      written += chunk.length;
      digest.update(chunk);
      yield chunk;
    }
    if (written !== bytes) throw new Error(`The file ${path} has ${written} bytes instead of ${bytes}.`);
    yield digest.digest();
    packed.files += 1;
    packed.bytes += bytes;
  }
  yield headerOf({ end: { ...end(), ...packed } });
}

/** Reads a stream of `pack`, and checks the digest of every file and the totals. `onFile` must read the content to its end. */
export async function unpack(
  source: AsyncIterable<Buffer>,
  handle: { onStart: (start: ArchiveStart) => Promise<void>; onFile: (file: ArchiveFile) => Promise<void> },
): Promise<ArchiveEnd> {
  const reader = openReader(source);
  const unpacked = { files: 0, bytes: 0 };
  for (;;) {
    const header: Header = JSON.parse((await reader.exactly((await reader.exactly(4)).readUInt32BE())).toString());
    if ('end' in header) {
      if (header.end.files !== unpacked.files || header.end.bytes !== unpacked.bytes) throw damaged();
      await reader.expectEnd();
      return header.end;
    }
    if ('start' in header) {
      await handle.onStart(header.start);
      continue;
    }
    const digest = createHash('sha256');
    const content = reader.upTo(header.bytes, (chunk) => digest.update(chunk));
    await handle.onFile({ ...header, content });
    if (!(await reader.exactly(32)).equals(digest.digest())) throw damaged();
    unpacked.files += 1;
    unpacked.bytes += header.bytes;
  }
}

function headerOf(header: Header): Buffer {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, text]);
}

function openReader(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  /** The next bytes, at most `max`. */
  const next = async (max: number): Promise<Buffer> => {
    while (held.length === 0) {
      const { value, done } = await chunks.next();
      if (done) throw damaged();
      held = value;
    }
    const taken = held.subarray(0, max);
    held = held.subarray(taken.length);
    return taken;
  };
  async function* upTo(bytes: number, onChunk: (chunk: Buffer) => unknown): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0; ) {
      const chunk = await next(left);
      left -= chunk.length;
      onChunk(chunk);
      yield chunk;
    }
  }
  return {
    upTo,
    exactly: async (bytes: number): Promise<Buffer> => {
      const parts: Buffer[] = [];
      for await (const chunk of upTo(bytes, () => {})) parts.push(chunk);
      return Buffer.concat(parts);
    },
    /** Keeps reading, so that the end of the encrypted stream is authenticated too. */
    expectEnd: async (): Promise<void> => {
      if (held.length > 0 || !(await chunks.next()).done) throw damaged();
    },
  };
}
