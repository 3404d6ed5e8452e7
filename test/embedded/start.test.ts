import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connect } from '../../sql/connect.ts';
import { startEmbedded } from '../../src/platform/db/embedded/start.ts';
import { createdDataDir, killed, launcher, newDataDir, processesIn, query, serverPid, start } from './fixture.ts';

describe('the first start', () => {
  test('starts an unprivileged server on a private socket that requires the password, in a folder only for its owner', async () => {
    const data_dir = await newDataDir('inner');
    expect((await stat(join(data_dir, '..', '..'))).mode & 0o777).toBe(0o700);
    const server = await start(data_dir);
    expect(server.adopted).toBe(false);
    const [row] = await query<Record<string, string>>(
      server,
      `select current_setting('listen_addresses') as listens, current_setting('server_encoding') as encoding,
              current_setting('max_connections') as connections, lower('Ä') as lowered`,
    );
    expect(row).toEqual({ listens: '', encoding: 'UTF8', connections: '200', lowered: 'ä' });
    await expect(query({ ...server, password: 'guess' }, 'select 1')).rejects.toThrow('password authentication failed');
    for (const private_path of ['postgres', 'postgres-password', 'postgres.log']) {
      expect((await stat(join(data_dir, private_path))).mode & 0o077).toBe(0);
    }
    const status = await readFile(`/proc/${await serverPid(data_dir)}/status`, 'utf8');
    expect(/^Uid:\t(\d+)/m.exec(status)?.[1]).not.toBe('0');
    expect(/^CapEff:\t(\d+)/m.exec(status)?.[1]).toBe('0000000000000000');
    await server.stop();
  });

  test('works if the path contains spaces, commas and quotes', async () => {
    const server = await start(await newDataDir(`it's a "folder", really`));
    expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }]);
    await server.stop();
  });
});

test('a start turns fsync off only if requested', async () => {
  const server = await startEmbedded({ data_dir: await createdDataDir() });
  expect(await query(server, 'show fsync')).toEqual([{ fsync: 'on' }]);
  await server.stop();
});

test('a start works if the path of the data folder is too long for a socket', async () => {
  const data_dir = await createdDataDir('x'.repeat(120));
  const server = await start(data_dir);
  expect(Buffer.byteLength(join(server.host, `.s.PGSQL.${server.port}`))).toBeLessThanOrEqual(103);
  expect((await stat(server.host)).mode & 0o077).toBe(0);
  const again = await start(data_dir);
  expect(again).toMatchObject({ adopted: true, host: server.host });
  await server.stop();
  await expect(stat(server.host)).rejects.toThrow('ENOENT');
});

test('the second start reuses everything and keeps all rows', async () => {
  const data_dir = await createdDataDir();
  const first = await start(data_dir);
  await query(first, 'create table kept as select generate_series(1, 3) as n');
  await first.stop();
  const versionFile = () => stat(join(data_dir, 'postgres', 'PG_VERSION'));
  const { ino, mtimeMs } = await versionFile();
  const second = await start(data_dir);
  expect(await versionFile()).toMatchObject({ ino, mtimeMs });
  expect(await query(second, 'select count(*)::int as rows from kept')).toEqual([{ rows: 3 }]);
  await second.stop();
});

test('four parallel starts in three processes share one server', async () => {
  const data_dir = await newDataDir();
  const launchers = [launcher(data_dir), launcher(data_dir)];
  const own = [start(data_dir), start(data_dir)];
  const servers = await Promise.all([...own, ...launchers.map(({ report }) => report)]);
  expect(servers.filter((server) => !server.adopted)).toHaveLength(1);
  const starts = await Promise.all(
    servers.map((server) => query<{ started: Date }>(server, 'select pg_postmaster_start_time() as started')),
  );
  expect(new Set(starts.map(([row]) => row?.started.getTime())).size).toBe(1);
  await Promise.all(launchers.map(({ child }) => killed(child)));
  await Promise.all(own.map(async (server) => (await server).stop()));
  // What the killed processes leave behind ends by itself.
  await expect.poll(() => processesIn(data_dir)).toEqual([]);
});

test('stopping leaves no process, even with clients connected', async () => {
  const data_dir = await createdDataDir();
  const server = await start(data_dir);
  const { host, port, user, password } = server;
  const sql = connect({ host, port, user, password, database: 'postgres', ssl: false }, { max: 3 });
  const busy = sql`select pg_sleep(60)`.catch(() => 'cut off');
  await sql`select 1`;
  await server.stop();
  expect(await busy).toBe('cut off');
  await expect.poll(() => processesIn(data_dir)).toEqual([]);
  await server.stop();
  await sql.end({ timeout_ms: 1_000 });
});

test('the log contains no values of failing statements', async () => {
  const data_dir = await createdDataDir();
  const server = await start(data_dir);
  await expect(query(server, `select 'Jane Roe'::date`)).rejects.toThrow('Jane Roe');
  await query(server, 'create table patients (name text unique)');
  const twice = query(server, `insert into patients values ('Jane Roe'), ('Jane Roe')`);
  await expect(twice).rejects.toThrow('duplicate key');
  await server.stop();
  const log = await readFile(join(data_dir, 'postgres.log'), 'utf8');
  expect(log).toContain('ready to accept connections');
  expect(log).not.toContain('Jane Roe');
});
