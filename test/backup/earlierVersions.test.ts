import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { StartFailure } from '../../src/catalog/errors.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { migrationNames } from '../../src/platform/db/migrate.ts';
import { any_platform, encrypt, own_platform, pack } from '../../src/product/backup/archive.ts';
import { restoreBackup } from '../../src/product/backup/restoreBackup.ts';

const passphrase = 'a passphrase for tests';

/** The start of a backup, which a restore reads first. */
async function restore(platform: string, migrations: string[]) {
  const folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'earlier-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'backup');
  await pipeline(
    Readable.from(
      pack({ version: '0.1.0', migrations, platform }, (async function* () {})(), () => ({
        backup_at: '2031-03-03T02:00:00.000Z',
        audit_position: 0,
      })),
    ),
    createGzip(),
    (source: AsyncIterable<Buffer>) => encrypt(passphrase, source),
    createWriteStream(file),
  );
  const data_dir = join(folder, 'restored');
  const config = loadConfig({ SANDBOX: 'on', DATA_DIR: data_dir });
  const mark = async () => expect.unreachable('nothing is restored');
  const attempt = restoreBackup(config, { from: file, passphrase, onProgress: () => {} }, mark);
  await expect(attempt).rejects.toBeInstanceOf(StartFailure);
  expect(await readdir(data_dir)).toStrictEqual([]);
  return attempt.catch(({ message }) => message);
}

test.each([own_platform, any_platform])(
  'a backup by a version before 0.1.0 for %s is not restored',
  async (platform) => {
    expect(await restore(platform, ['0001_baseline.sql', '0003_reference_lists.sql'])).toBe(
      'The backup was made by a version before 0.1.0, which cannot be upgraded. Restore it with that version.',
    );
  },
);

test('a backup by a newer version is not restored', async () => {
  expect(await restore(own_platform, [...(await migrationNames()), '9999_later.sql'])).toBe(
    'The backup was made by a newer version of Chartwire (0.1.0). Restore it with that version.',
  );
});
