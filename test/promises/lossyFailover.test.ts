import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import type { EmbeddedServer } from '../../src/platform/db/embedded/start.ts';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import { killServer, newDataDir, start } from '../embedded/fixture.ts';
import { type Api, type ApiResponse, createApi } from '../harness/api.ts';
import { startProcess, type TestProcess } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';

type Service = { process: TestProcess; api: Api };

/** Starts the service with the database of this folder, or with the server that runs there already. */
async function startService(data_dir: string): Promise<Service> {
  const ports = { PORT: `${await freePort()}`, LARKSPUR_PORT: `${await freePort()}` };
  const process = await startProcess('all', { ...ports, DATA_DIR: data_dir, LOG_LEVEL: 'silent' });
  onTestFinished(() => process.stop('SIGKILL'));
  const sandbox: Sandbox = JSON.parse(await readFile(join(data_dir, 'sandbox.json'), 'utf8'));
  return { process, api: createApi(sandbox) };
}

const read = ({ api }: Service, cursor: string): Promise<ApiResponse> =>
  api.call('GET', `/v1/changes?limit=1000&cursor=${cursor}`);

async function readAll(service: Service, cursor = ''): Promise<{ ids: string[]; cursor: string }> {
  const ids: string[] = [];
  for (;;) {
    const { status, body } = await read(service, cursor);
    expect(status, JSON.stringify(body)).toBe(200);
    ids.push(...body.changes.map((change: { id: string }) => change.id));
    cursor = body.next_cursor;
    if (!body.has_more) return { ids, cursor };
  }
}

/** Reads on until the feed shows this record: transactions in progress, such as those of a sync, delay it. */
async function readUntil(service: Service, cursor: string, id: string): Promise<{ ids: string[]; cursor: string }> {
  const ids: string[] = [];
  let last = cursor;
  await until(`the feed to show ${id}`, async () => {
    const page = await readAll(service, last);
    ids.push(...page.ids);
    last = page.cursor;
    return ids.includes(id);
  });
  return { ids, cursor: last };
}

async function changePatient({ api }: Service, n: number): Promise<string> {
  const { patients } = (await api.call('GET', `/v1/patients?mrn=LK10001${n}`)).body;
  const body = { email: `failover-${n}@example.test` };
  const { job_id } = (await api.call('PATCH', `/v1/patients/${patients[0].id}`, { body })).body;
  expect((await api.untilEvent(job_id)).event_type).toBe('patient.updated');
  return patients[0].id;
}

/** Our own connections refuse a standby. */
async function promote({ host, port, user, password }: EmbeddedServer): Promise<void> {
  const client = new pg.Client({ host, port, user, password, database: 'postgres' });
  await client.connect();
  const { rows } = await client.query('SELECT pg_promote() AS promoted');
  expect(rows).toStrictEqual([{ promoted: true }]);
  await client.end();
}

test('after a failover that lost changes, cursors of lost changes are 410 and earlier ones go on', async () => {
  const [data_dir, standby] = [await newDataDir(), await newDataDir()];
  const first = await startService(data_dir);
  await until('the first sync', async () => (await readAll(first)).ids.length > 200);
  const kept = await readUntil(first, '', await changePatient(first, 1));
  await first.process.stop('SIGTERM');
  // What a standby has received.
  await promisify(execFile)('cp', ['-a', data_dir, standby]);

  const primary = await startService(data_dir);
  const lost_id = await changePatient(primary, 2);
  const lost = await readUntil(primary, kept.cursor, lost_id);
  await primary.process.stop('SIGKILL');
  await killServer(data_dir, 'SIGQUIT').catch(() => {});

  await writeFile(join(standby, 'postgres/standby.signal'), '');
  await promote(await start(standby));
  const next = await startService(standby);
  expect(await read(next, lost.cursor)).toMatchObject({ status: 410, body: { code: 'cursor_expired' } });
  const changed_id = await changePatient(next, 3);
  const { ids, cursor } = await readUntil(next, kept.cursor, changed_id);
  expect(ids).not.toContain(lost_id);
  expect((await read(next, cursor)).status).toBe(200);
  await next.process.stop('SIGTERM');
}, 300_000);
