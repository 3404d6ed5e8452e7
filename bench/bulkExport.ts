import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exchangePublicToken } from '../scripts/linkAccount.ts';
import { type Program, startProgram } from '../scripts/serviceProcess.ts';
import { connect } from '../src/platform/db/database.ts';
import { openServer } from '../src/platform/db/openServer.ts';
import { createApi } from './check/api.ts';
import { memory_mb, startProcess } from './process.ts';
import { report } from './report.ts';
import { startApi } from './startApi.ts';

/**
 * Measures the memory of a worker that reads a practice by bulk export: everything twice, so that the second time all
 * records are stored already. `--patients N`: how many there are. Exit code 1 if the goal is missed.
 */
const { values } = parseArgs({ options: { patients: { type: 'string', default: '100000' } } });
const patients = Number(values.patients);
const memory_mb_max = 300;

async function main(): Promise<void> {
  const emr = startProgram(
    [process.execPath, fileURLToPath(new URL('./bulkServer.js', import.meta.url)), `${patients}`],
    {
      env: { PATH: process.env.PATH ?? '' },
    },
  );
  const running = await startApi();
  const database = await openServer(running.config, () => {});
  const owner = connect(database.owner, { max: 1 });
  // The sandbox's own practice is not synced meanwhile.
  await owner`UPDATE organizations SET next_sync_at = now() + interval '1 day'`;
  const worker = await startProcess('worker', { DATA_DIR: running.config.data_dir });
  try {
    const idle_mb = await memory_mb(worker.pid, 'now');
    const api = await linkExport(running, await readAddress(emr));
    await owner`UPDATE organizations SET next_sync_at = now() + interval '1 day'`;
    for (const which of ['first', 'second'] as const) {
      const { job_id } = await api.call('POST', '/v1/sync');
      const { created_ms, at_ms } = await api.untilJob(job_id, 'finished_at');
      const seconds = (at_ms - created_ms) / 1000;
      const peak_mb = await memory_mb(worker.pid, 'peak');
      const { pagination } = await api.call('GET', '/v1/patients?page_size=1');
      report({
        work: `${which} export of ${patients.toLocaleString('en-US')} patients`,
        figure: `${Math.round(peak_mb)} MB, ${seconds.toFixed(0)} s`,
        goal: `at most ${memory_mb_max} MB`,
        detail: `peak resident memory of the worker so far (${Math.round(idle_mb)} MB after start), the EMR in a process of its own; ${pagination.total_count.toLocaleString('en-US')} patients stored`,
      });
      if (pagination.total_count !== patients || peak_mb > memory_mb_max) process.exitCode = 1;
    }
    const [left] = await owner<{ parts: number }[]>`SELECT count(*)::int AS parts FROM bulk_export_chunks`;
    if (left?.parts !== 0) throw new Error('Parts of the export were left behind.');
  } finally {
    await worker.stop();
    await emr.stop();
    await owner.end();
    await database.release();
    await running.close();
  }
}

async function readAddress(emr: Program): Promise<string> {
  for (let waited = 0; waited < 200; waited++) {
    const [, address] = /(\S+) is ready/.exec(emr.output()) ?? [];
    if (address !== undefined) return address;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error('The FHIR server did not start.');
}

async function linkExport({ service, headers }: Awaited<ReturnType<typeof startApi>>, emr_instance_domain: string) {
  const { 'content-type': _json, access_token: _token, ...client } = headers;
  const { call } = createApi(service.base_url, client);
  const user = { user_id: 'bulk', org_id: 'bulk', emr_name: 'fhir', emr_instance_domain };
  const { token: link_token } = await call('POST', '/link/token/create', user);
  const credentials = { way: 'client_secret', client_id: 'bench', client_secret: 'synthetic-secret' };
  const { public_token } = await call('POST', '/sandbox/public_token/create', { link_token, credentials });
  return createApi(service.base_url, { ...client, access_token: await exchangePublicToken(call, public_token) });
}

await main();
