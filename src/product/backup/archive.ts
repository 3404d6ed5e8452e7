import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { StartFailure } from '../../catalog/errors.ts';

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
  yield encodeHeader({ start });
  const packed = { files: 0, bytes: 0 };
  for await (const { path, bytes, content } of files) {
    yield encodeHeader({ path, bytes });
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
  yield encodeHeader({ end: { ...end(), ...packed } });
}

/** Reads a stream of `pack`, and checks the digest of every file and the totals. `onFile` must read the content to its end. */
export async function unpack(
  source: AsyncIterable<Buffer>,
  handle: { onStart: (start: ArchiveStart) => Promise<void>; onFile: (file: ArchiveFile) => Promise<void> },
): Promise<ArchiveEnd> {
  const reader = createReader(source);
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

function encodeHeader(header: Header): Buffer {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, text]);
}

function createReader(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let buffered: Buffer = Buffer.alloc(0);
  /** The next bytes, at most `max`. */
  const next = async (max: number): Promise<Buffer> => {
    while (buffered.length === 0) {
      const { value, done } = await chunks.next();
      if (done) throw damaged();
      buffered = value;
    }
    const taken = buffered.subarray(0, max);
    buffered = buffered.subarray(taken.length);
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
      if (buffered.length > 0 || !(await chunks.next()).done) throw damaged();
    },
  };
}

/** The first bytes of a backup; the last one is the version of the format. */
const magic = Buffer.from('CWBACKUP\x01', 'latin1');
const salt_bytes = 16;
const nonce_prefix_bytes = 7;
const header_bytes = magic.length + salt_bytes + nonce_prefix_bytes;
const frame_bytes = 65_536;
const tag_bytes = 16;
const algorithm = 'aes-256-gcm';
/** 128 MB of memory and 0.3 s per guess. */
const scrypt_cost = { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 };

/**
 * Encrypts a stream under a passphrase: a header, then frames of 64 KiB, each with its own tag. The nonce of a frame is a
 * random prefix, the number of the frame and whether it is the last one, so that frames can be neither reordered, left
 * out nor cut off at the end unnoticed. The header is authenticated with every frame.
 */
export async function* encrypt(passphrase: string, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const header = Buffer.concat([magic, randomBytes(salt_bytes), randomBytes(nonce_prefix_bytes)]);
  const key = await deriveKey(passphrase, header);
  yield header;
  let n = 0;
  for await (const { piece, last } of inPieces(source, frame_bytes)) {
    const cipher = createCipheriv(algorithm, key, composeNonce(header, n++, last));
    cipher.setAAD(header);
    yield Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
  }
}

/** Decrypts what `encrypt` wrote. Yields nothing that was not authenticated, but the end is known to be genuine only at the end. */
export async function* decrypt(passphrase: string, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let header: Buffer | undefined;
  let key: Buffer = Buffer.alloc(0);
  let n = 0;
  const body = afterHeader(source, (read_header) => {
    header = read_header;
  });
  for await (const { piece, last } of inPieces(body, frame_bytes + tag_bytes)) {
    if (header === undefined) throw new StartFailure('This file is not a backup of Chartwire.');
    if (n === 0) key = await deriveKey(passphrase, header);
    if (piece.length < tag_bytes) throw damaged();
    const decipher = createDecipheriv(algorithm, key, composeNonce(header, n, last));
    decipher.setAAD(header);
    decipher.setAuthTag(piece.subarray(-tag_bytes));
    const content = decipher.update(piece.subarray(0, -tag_bytes));
    try {
      decipher.final();
    } catch (cause) {
      if (n > 0) throw damaged(cause);
      throw new StartFailure('The passphrase is wrong, or the beginning of the backup was changed.', { cause });
    }
    yield content;
    n += 1;
  }
}

export function damaged(cause?: unknown): StartFailure {
  return new StartFailure('The backup is incomplete or was changed. Use another one.', { cause });
}

async function deriveKey(passphrase: string, header: Buffer): Promise<Buffer> {
  const salt = header.subarray(magic.length, magic.length + salt_bytes);
  const derive = promisify<string, Buffer, number, typeof scrypt_cost, Buffer>(scrypt);
  return derive(passphrase.normalize('NFC'), salt, 32, scrypt_cost);
}

function composeNonce(header: Buffer, n: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  header.copy(nonce, 0, header_bytes - nonce_prefix_bytes);
  // Throws after 2^32 frames, which are 256 TiB.
  nonce.writeUInt32BE(n, nonce_prefix_bytes);
  nonce.writeUInt8(last ? 1 : 0, 11);
  return nonce;
}

/** Cuts a stream into pieces of `size` bytes. Only the last one may be shorter. */
async function* inPieces(
  source: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<{ piece: Buffer; last: boolean }> {
  let buffered: Buffer = Buffer.alloc(0);
  for await (const chunk of source) {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    let start = 0;
    // One piece is always held back: it may be the last.
    for (; buffered.length - start > size; start += size)
      yield { piece: buffered.subarray(start, start + size), last: false };
    buffered = buffered.subarray(start);
  }
  yield { piece: buffered, last: true };
}

async function* afterHeader(source: AsyncIterable<Buffer>, onHeader: (header: Buffer) => void): AsyncGenerator<Buffer> {
  let buffered: Buffer = Buffer.alloc(0);
  let past_header = false;
  for await (const chunk of source) {
    if (past_header) {
      yield chunk;
      continue;
    }
    buffered = Buffer.concat([buffered, chunk]);
    if (buffered.length < header_bytes) continue;
    if (!buffered.subarray(0, magic.length).equals(magic)) return;
    past_header = true;
    onHeader(buffered.subarray(0, header_bytes));
    yield buffered.subarray(header_bytes);
  }
}
