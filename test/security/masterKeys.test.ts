import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StartFailure } from '../../src/errors.ts';
import { loadMasterKeys } from '../../src/security/masterKeys.ts';

let data_dir: string;
beforeEach(async () => {
  data_dir = await mkdtemp(join(tmpdir(), 'chartwire-keys-'));
});
afterEach(() => rm(data_dir, { recursive: true, force: true }));

test('the keys of the settings are used, named by their hash, and no file is made', async () => {
  const [master_key, master_key_previous] = [randomBytes(32), randomBytes(32)];
  const keys = await loadMasterKeys({ master_key, master_key_previous, data_dir });
  const id = `mk_${createHash('sha256').update(master_key).digest('hex').slice(0, 8)}`;
  expect(keys).toMatchObject({ current: { id, key: master_key }, previous: { key: master_key_previous } });
  expect(keys.generated).toBe(false);
  expect(await readdir(data_dir)).toEqual([]);
});

test('a previous key that is the current one is none', async () => {
  const master_key = randomBytes(32);
  const keys = await loadMasterKeys({ master_key, master_key_previous: Buffer.from(master_key), data_dir });
  expect(keys.previous).toBeUndefined();
});

test('without settings a key is generated once, for its owner only, also into a folder that is not there yet', async () => {
  const folder = join(data_dir, 'new', 'folder');
  const first = await loadMasterKeys({ data_dir: folder });
  const second = await loadMasterKeys({ data_dir: folder });
  expect(first.generated).toBe(true);
  expect(second).toEqual({ ...first, generated: false });
  expect(await readdir(folder)).toEqual(['master.key']);
  expect((await stat(join(folder, 'master.key'))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(folder, 'master.key'), 'utf8')).toBe(`${first.current.key.toString('hex')}\n`);
});

test('twenty starts at once agree on one key, and one of them made it', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => loadMasterKeys({ data_dir })));
  expect(new Set(all.map((keys) => keys.current.id)).size).toBe(1);
  expect(all.filter((keys) => keys.generated)).toHaveLength(1);
  expect(await readdir(data_dir)).toEqual(['master.key']);
});

test.each(['', 'abc', 'z'.repeat(64), 'a'.repeat(65), 'a'.repeat(128)])(
  'the file content %j is a StartFailure that does not repeat it',
  async (text) => {
    await writeFile(join(data_dir, 'master.key'), text, { mode: 0o600 });
    const failure = await loadMasterKeys({ data_dir }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StartFailure);
    expect(String(failure)).toMatch(/master\.key must contain exactly 64 hexadecimal digits\.$/);
  },
);

test('a file that cannot be read is a StartFailure, one that others can read a warning', async () => {
  await mkdir(join(data_dir, 'a', 'master.key'), { recursive: true });
  await expect(loadMasterKeys({ data_dir: join(data_dir, 'a') })).rejects.toThrow(/cannot be read/);

  await loadMasterKeys({ data_dir });
  await chmod(join(data_dir, 'master.key'), 0o644);
  const warnings: string[] = [];
  await loadMasterKeys({ data_dir, log: { warn: (text) => warnings.push(text) } });
  expect(warnings).toEqual([expect.stringContaining('chmod 600')]);
});
