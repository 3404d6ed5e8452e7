import { parseArgs } from 'node:util';
import { startLarkspur } from '../larkspur/start.ts';
import { connect } from '../src/platform/db/database.ts';
import { openServer } from '../src/platform/db/openServer.ts';
import { createApi } from './check/api.ts';
import { startProcess } from './process.ts';
import { median } from './report.ts';
import { startApi } from './startApi.ts';

/**
 * Compares a sync that announces what staff changed with one that does not, in one run: the rounds alternate, so that
 * other work on the machine affects both. `unchanged`: nothing was changed; `changed`: a tenth of the patients were.
 * `--patients N --rounds N`: how much is measured.
 */
const { values } = parseArgs({
  options: { patients: { type: 'string', default: '20000' }, rounds: { type: 'string', default: '5' } },
});
const synced_patients = Number(values.patients);
const changed_patients = synced_patients / 10;
const rounds = Number(values.rounds);

async function main(): Promise<void> {
  const running = await startApi();
  const server = await openServer(running.config, () => {});
  const owner = connect(server.owner, { max: 2 });
  const emr_database = await server.sibling('larkspur');
  const larkspur = await startLarkspur({ database: emr_database, host: '127.0.0.1', port: 0 });
  const emr_owner = connect(emr_database, { max: 1 });
  await owner`UPDATE organizations SET emr_address = ${larkspur.url}, next_sync_at = now() + interval '1 day'`;
  const worker = await startProcess('worker', { DATA_DIR: running.config.data_dir });
  try {
    await emr_owner`
      INSERT INTO patients (last_name, first_name, birth_date, sex_code, address, last_modified)
      SELECT 'Bench' || n, 'Synthetic', date '1950-01-01' + (n % 20000), 'U', seeded.address, now()
        FROM generate_series(1, ${synced_patients}::integer) AS n, (SELECT address FROM patients LIMIT 1) AS seeded`;
    const { 'content-type': _json, ...credentials } = running.headers;
    const api = createApi(running.service.base_url, credentials);
    const { access_token: _token, ...client_only } = credentials;
    const client = createApi(running.service.base_url, client_only);
    // Paused: deliveries are the work of other processes.
    const webhook = { webhook_url: 'http://127.0.0.1:9/announcing', sync_events: true };
    const { webhook_id } = await client.call('POST', '/v1/webhook', webhook);
    const configure = (sync_events: boolean) =>
      client.call('PATCH', `/v1/webhook/${webhook_id}`, { sync_events, paused: true });
    const syncSeconds = async (): Promise<number> => {
      const { job_id } = await api.call('POST', '/v1/sync');
      await api.untilJob(job_id, 'finished_at');
      const [job] = await owner<{ seconds: number }[]>`
        SELECT extract(epoch FROM finished_at - started_at)::float8 AS seconds FROM jobs WHERE id = ${job_id}`;
      return job?.seconds ?? Number.NaN;
    };
    const change =
      () => emr_owner`UPDATE patients SET home_phone = '518-555-' || lpad((random() * 9999)::int::text, 4, '0')
      WHERE patient_id IN (SELECT patient_id FROM patients WHERE last_name LIKE 'Bench%' LIMIT ${changed_patients})`;
    for (const announces of [false, true]) {
      await configure(announces);
      await syncSeconds();
    }
    for (const [name, prepare] of [
      ['unchanged', async () => {}],
      [`${changed_patients.toLocaleString('en-US')} changed`, change],
    ] as const) {
      const seconds = { with: [] as number[], without: [] as number[] };
      for (let round = 0; round < rounds; round++) {
        for (const kind of round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
          await configure(kind === 'with');
          await prepare();
          seconds[kind].push(await syncSeconds());
        }
      }
      const ratio = median(seconds.with.map((each, n) => each / (seconds.without[n] ?? Number.NaN)));
      process.stdout.write(
        `${name}: ${ratio.toFixed(2)} × (${median(seconds.with).toFixed(2)} s with events, ${median(seconds.without).toFixed(2)} s without)\n`,
      );
    }
    const [events] = await owner<{ n: number }[]>`SELECT count(*)::int AS n FROM events WHERE from_sync`;
    process.stdout.write(`${events?.n} events, of ${synced_patients.toLocaleString('en-US')} patients\n`);
  } finally {
    await worker.stop();
    await emr_owner.end();
    await larkspur.close();
    await owner.end();
    await server.release();
    await running.close();
  }
}

await main();
