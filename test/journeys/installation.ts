import { expect } from 'vitest';
import { startLarkspur } from '../../larkspur/start.ts';
import { freePort } from '../../scripts/freePort.ts';
import { connect, type Sql } from '../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import { type Api, createApi } from '../harness/api.ts';
import { spawnSandbox, type TestProcess } from '../harness/sandbox.ts';
import { appliedMarkers, createMarker, patient, until, untilFinished } from './support.ts';

/** An installation of several processes: an API, any number of workers, and an EMR that outlives them. */
export type Installation = {
  sandbox: Sandbox;
  api: Api;
  owner: Sql;
  /** The same for the EMR's database. */
  emr_owner: Sql;
  startWorker(env?: Record<string, string>): Promise<TestProcess>;
  /** Starts another API process on a port of its own. */
  startApi(): Promise<Api>;
  close(): Promise<void>;
};

export const lease = { LEASE_SECONDS: '2' };

export async function install(): Promise<Installation> {
  const spawned = await spawnSandbox({ small: true, sync_after_link: false, env: { ...lease, DATABASE_POOL: '4' } });
  const { env, owner } = spawned;
  const address = parseDatabaseUrl('DATABASE_URL', env.DATABASE_URL ?? '');
  const database = { ...address, database: `${address.database}_larkspur` };
  const larkspur = await startLarkspur({ database, host: '127.0.0.1', port: Number(env.LARKSPUR_PORT) });
  const emr_owner = connect(database, { max: 1 });
  await owner`UPDATE organizations SET emr_address = ${larkspur.url}`;
  await spawned.start('api');
  const seeded = (await spawned.read()).sandbox;
  const sandbox: Sandbox = {
    ...seeded,
    base_url: `http://127.0.0.1:${env.PORT}`,
    larkspur: { ...seeded.larkspur, url: larkspur.url },
  };
  return {
    sandbox,
    api: createApi(sandbox),
    owner,
    emr_owner,
    startWorker: (env) => spawned.start('worker', env),
    startApi: async () => {
      const port = String(await freePort());
      await spawned.start('api', { PORT: port });
      return createApi({ ...sandbox, base_url: `http://127.0.0.1:${port}` });
    },
    close: async () => {
      await emr_owner.end();
      await larkspur.close();
      await spawned.close();
    },
  };
}

/** Waits until the job has stored the intent of its first write. */
export async function untilIntent(owner: Sql, job_id: number): Promise<void> {
  await until(`job ${job_id} to store its intent`, async () => {
    const [row] = await owner`SELECT FROM job_steps WHERE job_id = ${job_id} AND kind = 'intent'`;
    return row;
  });
}

export type Accepted = { job_id: number; telephone_encounter_id: string; mrn: string };

/** Checks that every job finished once and every write was applied once, in the order of acceptance per patient. */
export async function expectNothingLostOrDoubled(fixture: Pick<Installation, 'api' | 'owner'>, accepted: Accepted[]) {
  const job_ids = accepted.map(({ job_id }) => job_id);
  await untilFinished(fixture.owner, job_ids);
  expect(await countEvents(fixture.owner, job_ids)).toStrictEqual({ events: job_ids.length, jobs: job_ids.length });
  const states = await fixture.owner`SELECT state, count(*) AS n FROM jobs WHERE id = ANY (${job_ids}) GROUP BY state`;
  expect([...states]).toStrictEqual([{ state: 'succeeded', n: job_ids.length }]);
  const markers = await appliedMarkers(fixture.api);
  for (const mrn of new Set(accepted.map((one) => one.mrn))) {
    const own = accepted.filter((one) => one.mrn === mrn).map((one) => createMarker(one.telephone_encounter_id));
    expect(markers.filter((marker) => own.includes(marker))).toStrictEqual(own);
  }
  const refills = await appliedMarkers(fixture.api, 'add_refill');
  expect(new Set(refills).size).toBe(refills.length);
}

export async function expectNothingLocked(fixture: Pick<Installation, 'owner'>) {
  expect([...(await fixture.owner`SELECT id, owner FROM lanes WHERE locked_until IS NOT NULL`)]).toStrictEqual([]);
}

export async function accept(
  fixture: Pick<Installation, 'api'>,
  n = 1,
  fields: Record<string, unknown> = {},
): Promise<Accepted> {
  const { mrn } = patient(n);
  const response = await fixture.api.callIn({ patient_mrn: mrn, ...fields });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return { ...response.body, mrn };
}

async function countEvents(owner: Sql, job_ids: number[]): Promise<{ events: number; jobs: number }> {
  const [row] = await owner<{ events: number; jobs: number }[]>`
    SELECT count(*) AS events, count(DISTINCT job_id) AS jobs FROM events WHERE job_id = ANY (${job_ids})`;
  return row ?? { events: 0, jobs: 0 };
}
