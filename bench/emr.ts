import diagnostics_channel from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type Larkspur, startLarkspur } from '../larkspur/start.ts';
import type { Program } from '../scripts/serviceProcess.ts';
import { connect, type Sql } from '../src/platform/db/database.ts';
import { openServer } from '../src/platform/db/openServer.ts';
import { createApi } from './check/api.ts';
import { measureRate } from './measureRate.ts';
import { memory_mb, startProcess } from './process.ts';
import { median, type Row, report } from './report.ts';
import { type RunningApi, startApi } from './startApi.ts';

type Bench = RunningApi & { owner: Sql; emr_owner: Sql; larkspur: Larkspur; workers: Program[] };

/** Enough for most of them to run after the code of a worker has been compiled. */
const writes = 2_500;
const worker_counts = [1, 2, 3];
const rounds = 3;
const synced_patients = 100_000;
/** How many jobs of the account run at the same time. */
const parallel = 32;

/** Measures jobs and a sync with an EMR: separate worker processes; API, EMR and client in this one. */
export async function measureEmr(): Promise<Row[]> {
  const api = await startApi();
  const server = await openServer(api.config, () => {});
  const owner = connect(server.owner, { max: 2 });
  const emr_database = await server.sibling('larkspur');
  const larkspur = await startLarkspur({ database: emr_database, host: '127.0.0.1', port: 0 });
  const emr_owner = connect(emr_database, { max: 1 });
  const workers: Program[] = [];
  try {
    await owner`UPDATE organizations SET emr_address = ${larkspur.url}, next_sync_at = now() + interval '1 day'`;
    const bench = { ...api, owner, emr_owner, larkspur, workers };
    const jobs = await measureJobs(bench);
    await startWorker(bench);
    return [...jobs, await measureSync(bench)];
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await emr_owner.end();
    await larkspur.close();
    await owner.end();
    await server.release();
    await api.close();
  }
}

async function startWorker({ config, workers }: Bench): Promise<void> {
  workers.push(await startProcess('worker', { DATA_DIR: config.data_dir }));
}

/**
 * Telephone encounters for different patients: each opens the account, stores an intent, calls the EMR and ends. The
 * rates of one, two and three workers are compared with each other: on two cores more workers cannot do more, but must
 * not do less.
 */
async function measureJobs(bench: Bench): Promise<Row[]> {
  const { owner } = bench;
  // The EMR copes with as many as all workers send.
  await owner`INSERT INTO write_limits (account_id, client_id, parallel, creates, reason)
    SELECT id, client_id, ${parallel}::integer, 0, 'setting' FROM accounts`;
  const rates = new Map<number, number[]>(worker_counts.map((count) => [count, []]));
  // The first round compiles the code of the EMR.
  for (let round = 0; round <= rounds; round++) {
    for (const count of worker_counts) {
      const rate = await jobRate(bench, count);
      if (round > 0) rates.get(count)?.push(rate);
    }
  }
  const [alone = []] = rates.values();
  return worker_counts.map((count) => {
    const of_count = rates.get(count) ?? [];
    const ratio = median(of_count.map((rate, n) => rate / (alone[n] ?? Number.NaN)));
    return report({
      work: `EMR jobs with ${count} worker${count > 1 ? 's' : ''}`,
      figure: count > 1 ? `${ratio.toFixed(2)} × one worker` : `${median(alone).toFixed(0)}/s`,
      goal: count > 1 ? '≥ 1' : 'shown only',
      detail: `${median(of_count).toFixed(0)}/s; each job with intent, EMR call, event and audit record; workers, EMR and database share the machine`,
    });
  });
}

/** Accepts writes, then starts workers, and returns how many jobs they did per second. */
async function jobRate(bench: Bench, count: number): Promise<number> {
  const { owner, service, headers, example, workers } = bench;
  const patients = await owner<{ mrn: string }[]>`SELECT mrn FROM patients WHERE mrn IS NOT NULL`;
  const { pharmacy_ehr_id: _pharmacy, patient_mrn: _mrn, ...fields } = example;
  const bodies = patients.map(({ mrn: patient_mrn }) =>
    JSON.stringify({ ...fields, patient_mrn, reason: 'bench', caller: 'bench', message: 'm' }),
  );
  const [last] = await owner<{ id: number }[]>`SELECT coalesce(max(id), 0) AS id FROM jobs`;
  await measureRate({
    ...{ base: service.base_url, path: '/v1/telephone-encounters', method: 'POST', headers, bodies },
    requests: writes,
  });
  await owner.unsafe('ANALYZE');
  await Promise.all(Array.from({ length: count }, () => startWorker(bench)));
  const [result] = await untilDone(owner, last?.id ?? 0);
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  if (result?.failed) throw new Error(`${result.failed} jobs failed.`);
  return writes / (result?.seconds ?? Number.NaN);
}

async function untilDone(owner: Sql, after: number): Promise<{ seconds: number; failed: number }[]> {
  for (;;) {
    const [left] = await owner<{ n: number }[]>`SELECT count(*) AS n FROM jobs WHERE finished_at IS NULL`;
    if (left?.n === 0) break;
    await pause(200);
  }
  return owner<{ seconds: number; failed: number }[]>`
    SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 AS seconds,
           count(*) FILTER (WHERE state <> 'succeeded') AS failed
      FROM jobs WHERE id > ${after} AND type <> 'sync'`;
}

/** A full sync of a large practice. The memory is the most that a worker process ever used. */
async function measureSync(bench: Bench): Promise<Row> {
  const { owner, emr_owner, service, headers, larkspur, workers } = bench;
  await emr_owner`
    INSERT INTO patients (last_name, first_name, birth_date, sex_code, address, last_modified)
    SELECT 'Bench' || n, 'Synthetic', date '1950-01-01' + (n % 20000), 'U', seeded.address, now()
      FROM generate_series(1, ${synced_patients}::integer) AS n, (SELECT address FROM patients LIMIT 1) AS seeded`;
  const { 'content-type': _json, ...credentials } = headers;
  let requests = 0;
  const count = (message: unknown) => {
    const { request } = message as { request: IncomingMessage };
    if (request.socket.localPort === larkspur.port) requests += 1;
  };
  diagnostics_channel.subscribe('http.server.request.start', count);
  const start = performance.now();
  const api = createApi(service.base_url, credentials);
  const { job_id } = await api.call('POST', '/v1/sync');
  await api.untilJob(job_id, 'finished_at');
  const seconds = (performance.now() - start) / 1000;
  diagnostics_channel.unsubscribe('http.server.request.start', count);
  const peaks = await Promise.all(workers.map(({ pid = 0 }) => memory_mb(pid, 'peak')));
  const [stored] = await owner<{ n: number }[]>`SELECT count(*) AS n FROM patients`;
  return report({
    work: 'sync of 100,000 patients',
    figure: `${Math.max(...peaks).toFixed(0)} MB`,
    goal: '≤ 300 MB',
    detail: `${seconds.toFixed(0)} s, ${requests} requests to the EMR, ${stored?.n ?? 0} patients stored; peak of the worker process`,
  });
}
