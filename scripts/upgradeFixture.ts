import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { loadConfig } from '../src/catalog/settings/config.ts';
import { version } from '../src/catalog/version.ts';
import { startService } from '../src/main.ts';
import { record_kinds } from '../src/model/records/kinds.ts';
import { connect, type Sql } from '../src/platform/db/database.ts';
import { openEmbedded } from '../src/platform/db/openServer.ts';
import { addEmrApp } from '../src/product/accounts/emrApps.ts';
import type { Context } from '../src/product/context.ts';
import { checkNewApp } from '../src/product/link/registrations.ts';
import type { Sandbox } from '../src/surfaces/sandbox/seedSandbox.ts';

/** The cached lists come from the EMR again, so a few records of each are enough. */
const records_kept = 3;

/**
 * Writes the data of this release to test/upgrade/<version>.ndjson: a small sandbox with an EMR app, a finished and an
 * unfinished job, all of it synthetic. The first line has the migrations, each other line a row. Run it once per release.
 */
const data_dir = await mkdtemp(join(tmpdir(), 'chartwire-fixture-'));
const config = loadConfig({ SANDBOX: 'on', PORT: '0', LARKSPUR_PORT: '0', DATA_DIR: data_dir, LOG_LEVEL: 'silent' });
try {
  const service = await startService(config, { role: 'all', print: () => {} });
  if (!service.sandbox) throw new Error('The sandbox did not start.');
  const { ctx, sandbox } = service;
  await addApp(ctx, sandbox)
    .then(() => createJobs(sandbox))
    .finally(service.close);
  const server = await openEmbedded(config, () => {});
  const owner = connect(server.owner, { max: 1 });
  const lines = await dump(owner)
    .finally(() => owner.end({ timeout_ms: 5_000 }))
    .finally(server.release);
  await writeFile(`test/upgrade/${version}.ndjson`, `${lines.join('\n')}\n`);
} finally {
  await rm(data_dir, { recursive: true, force: true });
}

/** An EMR app, whose secrets are encrypted with the client's data key. */
async function addApp(ctx: Context, { client_id: public_id }: Sandbox): Promise<void> {
  const app = checkNewApp(ctx, {
    name: 'Hillside',
    emr: 'FHIR',
    hosts: ['emr.example.org:8443'],
    headers: { 'x-api-key': 'a synthetic API key' },
    credentials: { way: 'client_secret', client_id: 'chartwire', client_secret: 'a synthetic secret' },
  });
  const [client] = await ctx.db.system<{ id: string }[]>`SELECT id FROM clients WHERE public_id = ${public_id}`;
  if (!client) throw new Error('The sandbox has no client.');
  await ctx.db.tenant(client.id, (tx) => addEmrApp(ctx, tx, { client_id: client.id, ...app }));
}

/** A webhook endpoint, a job that finishes, and one that the EMR keeps rejecting. */
async function createJobs({ base_url, client_id, client_secret, access_token, example, larkspur }: Sandbox) {
  // The fields that are read below.
  type Body = { job_id: number; job: { status: string; timeline: unknown[] } };
  const send = async (url: string, headers: Record<string, string>, body?: unknown): Promise<Body> => {
    const json = { 'content-type': 'application/json' };
    const init = body === undefined ? { headers } : { method: 'POST', headers: { ...headers, ...json } };
    const response = await fetch(url, body === undefined ? init : { ...init, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${url} returned ${response.status}.`);
    return (await response.json()) as Body;
  };
  const own = { client_id, client_secret, access_token };
  await send(`${base_url}/v1/webhook`, own, { webhook_url: 'http://127.0.0.1:9/hooks' });
  const write = async (): Promise<number> => {
    const { patient_mrn, provider_id, location_id, assigned_to_id } = example;
    const body = { patient_mrn, provider_id, location_id, assigned_to_id };
    return (await send(`${base_url}/v1/telephone-encounters`, own, body)).job_id;
  };
  const until = async (job_id: number, condition: (job: Body['job']) => boolean) => {
    while (!condition((await send(`${base_url}/v1/jobs/${job_id}`, own)).job)) await pause(100);
  };
  await until(await write(), ({ status }) => status === 'succeeded');
  const fault = { operation: 'create_telephone_encounter', kind: 'error_429', times: 1_000 };
  await send(`${larkspur.url}/control/faults`, { 'control-token': larkspur.control_token }, fault);
  await until(await write(), ({ timeline }) => timeline.length > 3);
}

async function dump(owner: Sql): Promise<string[]> {
  for (const { name } of record_kinds) {
    await owner`DELETE FROM ${owner(name)} WHERE id NOT IN (
      SELECT id FROM ${owner(name)} ORDER BY ehr_id LIMIT ${records_kept})`;
  }
  await owner`DELETE FROM record_changes WHERE deleted`;
  const migrations = await owner<{ name: string }[]>`SELECT name FROM schema_migrations ORDER BY name`;
  const master_key = await readFile(join(data_dir, 'master.key'), 'utf8');
  const lines = [JSON.stringify({ version, migrations: migrations.map(({ name }) => name), master_key })];
  const tables = await owner<{ name: string }[]>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations' ORDER BY 1`;
  for (const { name } of tables) {
    const rows = await owner<{ row: string }[]>`SELECT to_json(t)::text AS row FROM ${owner(name)} AS t`;
    for (const { row } of rows) lines.push(`{"table":${JSON.stringify(name)},"row":${row}}`);
  }
  return lines;
}
