import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { type ArchiveFile, decrypt, encrypt, pack, unpack } from '../../src/product/backup/archive.ts';

async function* chunks(...all: Buffer[]): AsyncGenerator<Buffer> {
  yield* all;
}
const sealed = (content: Buffer) => buffer(encrypt('passphrase', chunks(content)));
const opened = (content: Buffer, passphrase = 'passphrase') => buffer(decrypt(passphrase, chunks(content)));

describe('an encrypted stream', () => {
  test.each([0, 65_536, 200_000])('an encrypted stream of %d bytes is decrypted to the same bytes', async (bytes) => {
    const content = randomBytes(bytes);
    const encrypted = await sealed(content);
    expect((await opened(encrypted)).equals(content)).toBe(true);
    // Whatever the sizes in which it is read.
    const pieces = Array.from({ length: Math.ceil(encrypted.length / 10_007) }, (_, n) =>
      encrypted.subarray(n * 10_007, (n + 1) * 10_007),
    );
    expect((await buffer(decrypt('passphrase', chunks(...pieces)))).equals(content)).toBe(true);
  });

  test('is not decrypted with another passphrase', async () => {
    await expect(opened(await sealed(Buffer.from('x')), 'another')).rejects.toThrow('The passphrase is wrong');
  });

  test('an encrypted stream that was cut off anywhere, also between two frames, is rejected', async () => {
    const encrypted = await sealed(randomBytes(3 * 65_536));
    for (const end of [32 + 2 * 65_552, encrypted.length - 1]) {
      await expect(opened(encrypted.subarray(0, end))).rejects.toThrow(/incomplete or was changed|passphrase is wrong/);
    }
  });

  test('an encrypted stream whose frames were swapped or changed, or whose header was changed, is rejected', async () => {
    const encrypted = await sealed(randomBytes(3 * 65_536));
    const frame = (n: number) => encrypted.subarray(32 + n * 65_552, 32 + (n + 1) * 65_552);
    const swapped = Buffer.concat([encrypted.subarray(0, 32), frame(0), frame(2), frame(1)]);
    await expect(opened(swapped)).rejects.toThrow('incomplete or was changed');
    for (const position of [30, encrypted.length - 1]) {
      const changed = Buffer.from(encrypted);
      changed[position] = (changed[position] ?? 0) ^ 1;
      await expect(opened(changed)).rejects.toThrow(/incomplete or was changed|passphrase is wrong/);
    }
  });

  test('an encrypted stream of another program is rejected', async () => {
    await expect(opened(Buffer.from('PK\x03\x04'.padEnd(100)))).rejects.toThrow('not a backup of Chartwire');
    await expect(opened(Buffer.alloc(0))).rejects.toThrow('not a backup of Chartwire');
  });
});

describe('an archive', () => {
  const start = { version: '1', migrations: [], platform: 'linux-x64' };
  const end = () => ({ backup_at: '2031-03-03T02:00:00.000Z', audit_position: 7 });
  const contents = { 'a/': Buffer.alloc(0), 'a/b': randomBytes(1_000), c: Buffer.alloc(0) };
  async function* files(): AsyncGenerator<ArchiveFile> {
    for (const [path, content] of Object.entries(contents)) {
      yield { path, bytes: content.length, content: chunks(content) };
    }
  }
  const read = async (packed: Buffer) => {
    const contents_read: Record<string, Buffer> = {};
    const end_read = await unpack(chunks(packed), {
      onStart: async (read_start) => expect(read_start).toStrictEqual(start),
      onFile: async ({ path, content }) => {
        contents_read[path] = await buffer(content);
      },
    });
    return { contents_read, end_read };
  };

  test('is unpacked to the same files', async () => {
    const { contents_read, end_read } = await read(await buffer(pack(start, files(), end)));
    expect(contents_read).toStrictEqual(contents);
    expect(end_read).toStrictEqual({ ...end(), files: 3, bytes: 1_000 });
  });

  test('an archive with a changed byte of a file, without its end, or with more after it, is rejected', async () => {
    const packed = await buffer(pack(start, files(), end));
    const changed = Buffer.from(packed);
    const position = packed.indexOf(contents['a/b']) + 500;
    changed[position] = (changed[position] ?? 0) ^ 1;
    await expect(read(changed)).rejects.toThrow('incomplete or was changed');
    await expect(read(packed.subarray(0, -1))).rejects.toThrow('incomplete or was changed');
    await expect(read(Buffer.concat([packed, Buffer.from('x')]))).rejects.toThrow('incomplete or was changed');
  });
});
