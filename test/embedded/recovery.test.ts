import { open, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  createdDataDir,
  killed,
  killServer,
  launcher,
  newDataDir,
  processesIn,
  query,
  serverPid,
  start,
  until,
} from './fixture.ts';

test('a server whose service was killed is reused, with all committed rows', async () => {
  const data_dir = await createdDataDir();
  const { child, report } = launcher(data_dir);
  await query(await report, 'create table kept as select 1 as n');
  const pid = await serverPid(data_dir);
  await killed(child);
  const server = await start(data_dir);
  expect(server.adopted).toBe(true);
  expect(await serverPid(data_dir)).toBe(pid);
  expect(await query(server, 'select n from kept')).toEqual([{ n: 1 }]);
  await server.stop();
  await expect.poll(() => processesIn(data_dir)).toEqual([]);
});

test('a killed server is started again and has all committed rows', async () => {
  const data_dir = await createdDataDir();
  const first = await start(data_dir);
  await query(first, 'create table kept as select generate_series(1, 1000) as n');
  await killServer(data_dir, 'SIGKILL');
  const second = await start(data_dir);
  expect(second.adopted).toBe(false);
  expect(await query(second, 'select count(*)::int as rows from kept')).toEqual([{ rows: 1000 }]);
  await second.stop();
});

test('lock files with the process id of another process do not prevent the start', async () => {
  const data_dir = await createdDataDir();
  const first = await start(data_dir);
  await killServer(data_dir, 'SIGKILL');
  for (const lock of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
    const path = join(data_dir, 'postgres', lock);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace(/^\d+/, String(process.pid)), { flag: 'r+' });
  }
  await first.stop();
  const second = await start(data_dir);
  expect(second.adopted).toBe(false);
  await second.stop();
});

// Different states of a partially created database: after 20 ms the first files, after 400 ms nearly complete.
test.each([20, 150, 400])(
  'recovers from a start that was killed %i ms into creating the database',
  async (delay_ms) => {
    const data_dir = await newDataDir();
    const { child, report } = launcher(data_dir);
    await until(async () => (await readdir(data_dir).catch(() => [])).some((name) => name.startsWith('postgres.new-')));
    await new Promise((resolve) => setTimeout(resolve, delay_ms));
    await killed(child);
    await expect(report).rejects.toThrow();
    await start(data_dir).then((server) => server.stop());
    const again = await start(data_dir);
    expect(await query(again, 'select 1 as one')).toEqual([{ one: 1 }]);
    await again.stop();
    await expect.poll(() => processesIn(data_dir)).toEqual([]);
    // The initdb of the killed start may have been writing until a moment ago.
    await start(data_dir).then((server) => server.stop());
    expect((await readdir(data_dir)).sort()).toEqual(['postgres', 'postgres-password', 'postgres.log']);
  },
);

test('a log of more than 10 MB is rotated at the next start', async () => {
  const data_dir = await createdDataDir();
  await start(data_dir).then((server) => server.stop());
  await truncate(join(data_dir, 'postgres.log'), 10_000_001);
  await start(data_dir).then((server) => server.stop());
  const log = await open(join(data_dir, 'postgres.log'));
  expect((await log.stat()).size).toBeLessThan(100_000);
  await log.close();
  expect(await readdir(data_dir)).toContain('postgres.log.1');
});
