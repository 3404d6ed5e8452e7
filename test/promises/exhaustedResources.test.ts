import { execFile } from 'node:child_process';
import { mkdtemp, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import type { Api, ApiResponse } from '../harness/api.ts';
import { onServer } from '../harness/postgres.ts';
import { newFolder, spawnSandbox, startProcess, type TestProcess } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';

const run = promisify(execFile);
const can_mount = await canMount();

describe('promise 41: a process that runs out of something refuses with 503, loses nothing and recovers', () => {
  let installation: Awaited<ReturnType<typeof spawnSandbox>>;
  let service: TestProcess;
  let api: Api;
  let database: string;
  beforeAll(async () => {
    installation = await spawnSandbox({ small: true, env: { LOG_LEVEL: 'error' } });
    database = parseDatabaseUrl('DATABASE_URL', installation.env.DATABASE_URL ?? '').database;
    service = await startProcess('all', installation.env, 'ulimit -n 256');
    ({ api } = await installation.read());
  });
  afterAll(async () => {
    await service?.stop();
    await installation?.close();
  });

  test('file descriptors, while 400 connections are held open', async () => {
    const port = Number(installation.env.PORT);
    const sockets: Socket[] = [];
    const closeAll = () => {
      for (const socket of sockets) socket.destroy();
    };
    onTestFinished(closeAll);
    for (let n = 0; n < 400; n++) sockets.push(connect(port, '127.0.0.1').on('error', () => {}));
    const refused = await untilRefused(api);
    expect(refused.body.code).toBe('connections_exceeded');
    expect(refused.body.message).toBe('Too many connections are open. Try again in a moment.');
    expect((await api.call('GET', '/healthz')).status).toBe(200);
    await expect.poll(() => service.output()).toContain('too many open connections; raise the limit of open files');
    closeAll();
    await untilWritten(api);
  });

  test('database connections', async () => {
    await untilWritten(api);
    await setConnectionLimit(database, 0);
    onTestFinished(() => setConnectionLimit(database, -1));
    await disconnectAll(database);
    const refused = await untilRefused(api);
    expect(refused.body.code).toBe('database_unavailable');
    expect((await api.call('GET', '/healthz')).status).toBe(200);
    expect((await api.call('GET', '/readyz')).status).toBe(503);
    await until('the log to name the cause', async () => service.output().includes('accepts no more connections'));
    await setConnectionLimit(database, -1);
    await untilWritten(api);
  });

  describe.skipIf(!can_mount)('with the tables on a disk of their own', () => {
    // Only root may mount one. The database server runs as another user.
    const mountDisk = async () => {
      const disk = await mkdtemp(join(tmpdir(), 'chartwire-disk-'));
      const tablespace = `small_${database}`;
      const { uid, gid } = await stat(inject('postgres').host);
      await run('mount', ['-t', 'tmpfs', '-o', `size=200m,uid=${uid},gid=${gid},mode=700`, 'tmpfs', disk]);
      await service.stop();
      await onServer(async (sql) => {
        await sql.unsafe(`CREATE TABLESPACE ${tablespace} LOCATION '${disk}'`);
        await disconnectAll(database);
        await sql.unsafe(`ALTER DATABASE ${database} SET TABLESPACE ${tablespace}`);
      });
      onTestFinished(async () => {
        await service.stop();
        await onServer(async (sql) => {
          await sql.unsafe(`ALTER DATABASE ${database} SET TABLESPACE pg_default`);
          await sql.unsafe(`DROP TABLESPACE ${tablespace}`);
        });
        await run('umount', [disk]);
        await rmdir(disk);
      });
      service = await startProcess('all', installation.env);
      return disk;
    };

    test('disk space of the database', async () => {
      const disk = await mountDisk();
      const accepted = [await untilWritten(api)];
      const ballast = join(disk, 'ballast');
      await writeFile(ballast, Buffer.alloc(200 * 1_048_576)).catch((error) => expect(error.code).toBe('ENOSPC'));
      for (;;) {
        const { status, body } = await write(api);
        if (status === 503) {
          expect(body.code).toBe('database_unavailable');
          break;
        }
        expect(status).toBe(200);
        accepted.push(body.job_id);
      }
      await expect.poll(() => service.output()).toContain('The disk of the database server is full.');
      const readiness = async () => {
        const { status, body } = await api.call('GET', '/readyz');
        return { status, writable: body.checks.writable };
      };
      await expect.poll(readiness).toStrictEqual({ status: 503, writable: false });
      expect((await api.call('GET', '/metrics')).body).toContain('chartwire_database_writable 0');
      await unlink(ballast);
      await expect.poll(readiness).toStrictEqual({ status: 200, writable: true });
      accepted.push(await untilWritten(api));
      await expectAppliedOnce(accepted);
    });

    test('a disk that becomes read-only', async () => {
      const disk = await mountDisk();
      const accepted = [await untilWritten(api)];
      // Mounted a second time at the same place: files that are opened from now on are read-only. It becomes read-only
      // elsewhere first, because that is refused while a file is open.
      const read_only = await mkdtemp(join(tmpdir(), 'chartwire-disk-'));
      await run('mount', ['--bind', disk, read_only]);
      await run('mount', ['-o', 'remount,bind,ro', read_only]);
      await run('mount', ['--bind', read_only, disk]);
      await run('umount', [read_only]);
      await rmdir(read_only);
      let is_read_only = true;
      const unmount = async () => {
        if (is_read_only) await run('umount', ['--lazy', disk]);
        is_read_only = false;
      };
      onTestFinished(unmount);
      await disconnectAll(database);
      await until('the log to name the cause', async () => {
        expect((await untilRefused(api)).body.code).toBe('database_unavailable');
        return service.output().includes('The database server cannot read or write its files.');
      });
      await unmount();
      accepted.push(await untilWritten(api));
      await expectAppliedOnce(accepted);
    });
  });

  async function expectAppliedOnce(accepted: readonly number[]): Promise<void> {
    for (const job_id of accepted) {
      expect((await api.untilEvent(job_id)).event_type).toBe('telephone_encounter.created');
    }
    const applied = (await api.ledger()).filter((entry) => entry.applied).map((entry) => entry.marker);
    expect(new Set(applied).size).toBe(applied.length);
    expect(service.child.exitCode).toBeNull();
  }
});

/** Refuses new connections to the database with 0, allows them with -1. */
async function setConnectionLimit(database: string, limit: 0 | -1): Promise<void> {
  await onServer((sql) => sql.unsafe(`ALTER DATABASE ${database} CONNECTION LIMIT ${limit}`));
}

async function disconnectAll(database: string): Promise<void> {
  await onServer((sql) => sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${database}`);
}

async function write(api: Api): Promise<ApiResponse> {
  return api.callIn({ message: 'A text that needs some space. '.repeat(100) });
}

/** The first response other than success. A connection that is refused or closed is no response. */
async function untilRefused(api: Api): Promise<ApiResponse> {
  let refused: ApiResponse | undefined;
  await until('a refusal', async () => {
    const response = await write(api).catch(() => undefined);
    if (response && response.status !== 200) refused = response;
    return refused !== undefined;
  });
  expect(refused?.status).toBe(503);
  expect(refused?.headers.get('retry-after')).toBe('1');
  return refused as ApiResponse;
}

/** Waits until a write is accepted again, and for its end. Returns its job. */
async function untilWritten(api: Api): Promise<number> {
  let job_id = 0;
  await until('a write to be accepted', async () => {
    const response = await write(api).catch(() => undefined);
    if (response?.status === 200) job_id = response.body.job_id;
    return job_id > 0;
  });
  expect((await api.untilEvent(job_id)).event_type).toBe('telephone_encounter.created');
  return job_id;
}

async function canMount(): Promise<boolean> {
  const folder = await newFolder();
  return run('mount', ['-t', 'tmpfs', 'tmpfs', folder])
    .then(() => run('umount', [folder]))
    .then(
      () => true,
      () => false,
    );
}
