/**
 * `npm run check:upgrade -- <folder>`: a rolling upgrade from the version in the folder (a release folder, or a checkout
 * that was built; 0.1.0 or later) to this one. Two API processes and two workers of the earlier version are replaced
 * one after the other while clients write through HAProxy, so that both versions run on the new schema; then the
 * invariants are checked.
 */
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Sql } from '../../sql/connect.ts';
import { isBeforeFirstRelease } from '../../src/platform/db/migrate.ts';
import { freePort } from '../freePort.ts';
import { checkInvariants, requireClean } from './invariants.ts';
import { asSuperuser, createOwner, startPostgres, toUrl } from './postgres.ts';
import { print, RunError, requirePrograms, runMain } from './programs.ts';
import { restartRolling } from './rolling.ts';
import { openInstallation } from './service.ts';

const database = 'chartwire';

await runMain(async () => {
  const earlier = resolve(process.argv[2] ?? '');
  if (process.argv[2] === undefined || !existsSync(join(earlier, 'dist/bin/chartwire.js'))) {
    throw new RunError('Name a folder with an earlier version that was built: npm run check:upgrade -- <folder>');
  }
  if (isBeforeFirstRelease(await readdir(join(earlier, 'dist/src/platform/db/migrations')))) {
    throw new RunError(`${earlier} contains a version before 0.1.0, which cannot be upgraded.`);
  }
  requirePrograms({ postgres: 'postgresql-15', haproxy: 'haproxy', setpriv: 'util-linux' });
  const folder = mkdtempSync(join(tmpdir(), 'chartwire-upgrade-'));
  chmodSync(folder, 0o755);
  const postgres = await startPostgres(join(folder, 'postgres'));
  const env = {
    DATABASE_URL: toUrl(await createOwner(postgres.port, database)),
    LARKSPUR_DATABASE_URL: toUrl(await createOwner(postgres.port, 'larkspur')),
    LARKSPUR_PORT: `${await freePort()}`,
    DRAIN_SECONDS: '5',
  };
  const [before, after] = [openInstallation(folder, env, earlier), openInstallation(folder, env)];
  try {
    // `all` runs Larkspur and stays what it is: an earlier version that works to the end on the new schema.
    await before.start('all');
    const processes = [
      ...[await before.start('api'), await before.start('api')],
      ...[await before.start('worker'), await before.start('worker')],
    ];
    print('the earlier version is ready');
    const rolling = await restartRolling(folder, after, processes, { writers: 6, pause_ms: 300 });
    const check = (sql: Sql) => checkInvariants(sql, before.sandbox(), rolling.acknowledged);
    requireClean(await asSuperuser(postgres.port, check, database));
    if (rolling.failed_requests > 0) throw new RunError(`${rolling.failed_requests} requests failed.`);
    print('ok');
  } finally {
    await after.stop();
    await before.stop();
    await postgres.program.stop('SIGINT');
    rmSync(folder, { recursive: true, force: true });
  }
});
