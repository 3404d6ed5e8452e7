import { open, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { killed, killServer, launcher, newDataDir, processesIn, query, serverPid, start, until } from './place.ts';

test('a server whose service was killed is joined, with all that was committed', async () => {
  const data_dir = await newDataDir();
  const { child, report } = launcher(data_dir);
  await query(await report, 'create table kept as select 1 as n');
  const pid = await serverPid(data_dir);
  await killed(child);
  const server = await start(data_dir);
  expect(server.adopted).toBe(true);
  expect(await serverPid(data_dir)).toBe(pid);
  expect(await query(server, 'select n from kept')).toEqual([{ n: 1 }]);
  await server.stop();
  expect(await processesIn(data_dir)).toEqual([]);
});

test('a killed server is started again at once and has every committed row', async () => {
  const data_dir = await newDataDir();
  const first = await start(data_dir);
  await query(first, 'create table kept as select generate_series(1, 1000) as n');
  await killServer(data_dir, 'SIGKILL');
  const second = await start(data_dir);
  expect(second.adopted).toBe(false);
  expect(await query(second, 'select count(*)::int as rows from kept')).toEqual([{ rows: 1000 }]);
  await second.stop();
});

test('lock files whose number now belongs to another process do not stop the start', async () => {
  const data_dir = await newDataDir();
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

// Each moment is another state of the half-made database: 20 ms is the first files, 400 ms nearly the end.
test.each([20, 150, 400])('a start killed %i ms into the making of the database is made up for', async (delay_ms) => {
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
  await until(async () => (await processesIn(data_dir)).length === 0);
  // The killed start's initdb may have been writing until a moment ago; this start finds its folder dead.
  await start(data_dir).then((server) => server.stop());
  expect((await readdir(data_dir)).sort()).toEqual(['postgres', 'postgres-password', 'postgres.log']);
});

test('a log above ten megabytes is put aside at the next start', async () => {
  const data_dir = await newDataDir();
  await start(data_dir).then((server) => server.stop());
  await truncate(join(data_dir, 'postgres.log'), 10_000_001);
  await start(data_dir).then((server) => server.stop());
  const log = await open(join(data_dir, 'postgres.log'));
  expect((await log.stat()).size).toBeLessThan(100_000);
  await log.close();
  expect(await readdir(data_dir)).toContain('postgres.log.1');
});
