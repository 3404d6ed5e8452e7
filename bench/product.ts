import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../scripts/freePort.ts';
import type { Program } from '../scripts/serviceProcess.ts';
import type { Sandbox } from '../src/surfaces/sandbox/seedSandbox.ts';
import { createApi } from './check/api.ts';
import { measureRate } from './measureRate.ts';
import { memory_mb, startProcess } from './process.ts';
import { median, type Row, report } from './report.ts';

const starts = 3;
const writes = 2_000;
const pages = 3_000;

/** Measures the whole product as `npm start` runs it, in a process of its own: second start and memory. */
export async function measureProduct(): Promise<Row[]> {
  const data_dir = await mkdtemp(join(tmpdir(), 'chartwire-bench-'));
  const env = {
    ...{ DATA_DIR: data_dir, PORT: `${await freePort()}`, LARKSPUR_PORT: `${await freePort()}` },
    ...{ RATE_LIMIT: '1000000', RATE_BURST: '1000000' },
  };
  // The first start creates the database and the practice.
  let service = await startProcess('all', env);
  try {
    const seconds: number[] = [];
    for (let n = 0; n < starts; n++) {
      await service.stop();
      const start = performance.now();
      service = await startProcess('all', env);
      seconds.push((performance.now() - start) / 1000);
    }
    const sandbox: Sandbox = JSON.parse(await readFile(join(data_dir, 'sandbox.json'), 'utf8'));
    return [
      report({
        work: 'second start of the whole product',
        figure: `${median(seconds).toFixed(1)} s`,
        goal: '≤ 3 s',
        detail: 'API, worker, dashboard, Larkspur and embedded PostgreSQL; from the command to “is ready”',
      }),
      await measureMemory(service, sandbox),
    ];
  } finally {
    await service.stop();
    await rm(data_dir, { recursive: true, force: true });
  }
}

/** Reads pages while the worker carries out writes. */
async function measureMemory({ pid }: Program, sandbox: Sandbox): Promise<Row> {
  const after_start_mb = await memory_mb(pid, 'now');
  const { base_url: base, client_id, client_secret, access_token, example } = sandbox;
  const credentials = { client_id, client_secret, access_token };
  const headers = { ...credentials, 'content-type': 'application/json' };
  const { pharmacy_ehr_id: _pharmacy, patient_mrn: _mrn, ...fields } = example;
  const api = createApi(base, credentials);
  const { patients } = await api.call('GET', '/v1/patients');
  // A different patient each time: writes for one patient run one after the other.
  const bodies = patients.map(({ mrn: patient_mrn }: { mrn: string }) =>
    JSON.stringify({ ...fields, patient_mrn, reason: 'bench', caller: 'bench', message: 'm' }),
  );
  const path = '/v1/telephone-encounters';
  await measureRate({ base, path, method: 'POST', headers, bodies, requests: writes });
  await measureRate({ base, path: '/v1/patients', method: 'GET', headers, requests: pages });
  const { job_id } = await api.call('POST', '/v1/sync');
  await api.untilJob(job_id, 'finished_at');
  return report({
    work: 'memory of the whole product, after start and under load',
    figure: `${after_start_mb.toFixed(0)} and ${(await memory_mb(pid, 'peak')).toFixed(0)} MB`,
    goal: '≤ 350 MB',
    detail: `resident, peak of ${writes.toLocaleString('en-US')} writes, ${pages.toLocaleString('en-US')} pages of 100 patients and a sync; without PostgreSQL`,
  });
}
