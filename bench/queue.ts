import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { newId } from '../src/catalog/ids.ts';
import { connect, type DatabaseAddress, type Sql } from '../src/platform/db/database.ts';
import { claimLeases, createClaimer, extendLeases, type LeasedTable } from '../src/platform/db/lease.ts';
import { openServer } from '../src/platform/db/openServer.ts';
import { startWorker, type WorkSource } from '../src/platform/worker/worker.ts';
import { describe, enqueueAll } from '../src/product/jobs/enqueue.ts';
import { createLaneRunner } from '../src/product/jobs/run.ts';
import { deliver } from '../src/product/webhooks/deliver.ts';
import { emitEvent } from '../src/product/webhooks/events.ts';
import { addEndpoint } from '../src/product/webhooks/registration.ts';
import { median, type Row, report } from './report.ts';
import { type RunningApi, startApi } from './startApi.ts';

type Bench = RunningApi & { owner: Sql; system: DatabaseAddress; pool: pg.Pool; account: Account };
type Account = { client_id: string; organization_id: string; account_id: string };

const jobs = 2_000;
const patients = 100;
/** The default of WORKER_JOBS is 32, of which one client gets half. */
const slots = { lanes: 32, deliveries: 64 };
const parallel = 16;
const lease_ms = 60_000;

/** Measures the queue with jobs that do nothing: the whole path from the claim to the event, without an EMR. */
export async function measureQueue(rounds = 3): Promise<Row[]> {
  const api = await startApi();
  const server = await openServer(api.config, () => {});
  const owner = connect(server.owner, { max: 16 });
  const { host, port, user, password, database } = server.owner;
  const pool = new pg.Pool({ host, port, user, password, database, max: parallel + 2 });
  // graphile-worker asks for these listeners.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  try {
    const [account] = await owner<Account[]>`SELECT client_id, organization_id, id AS account_id FROM accounts LIMIT 1`;
    if (!account) throw new Error('The sandbox has no account.');
    // The sandbox may have queued a sync, for which the workers below have no handler.
    await owner`DELETE FROM lanes`;
    const bench = { ...api, owner, system: server.roles.system, pool, account };
    return [await compareJobs(bench, rounds), ...(await measureClaims(bench)), await measureDeliveries(bench, rounds)];
  } finally {
    await pool.end();
    await owner.end();
    await server.release();
    await api.close();
  }
}

async function compareJobs(bench: Bench, rounds: number): Promise<Row> {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const own = await jobRate(bench);
    const graphile = await graphileRate(bench);
    // The first round prepares statements and opens connections.
    if (round === 0) continue;
    ours.push(own);
    theirs.push(graphile);
  }
  const ratio = median(ours.map((rate, n) => rate / (theirs[n] ?? Number.NaN)));
  return report({
    work: 'jobs through the queue, order kept, one worker',
    figure: `${ratio.toFixed(2)} × graphile-worker 0.17.3 without order`,
    goal: '≥ 1',
    detail: `${median(ours).toFixed(0)}/s and ${median(theirs).toFixed(0)}/s; ours start, finish, emit an event and write an audit record`,
  });
}

async function queueJobs({ service, account, owner }: Bench, lanes: number, parallel_max: number): Promise<void> {
  const described = Array.from({ length: jobs }, (_, n) =>
    describe({
      ...account,
      operation: { id: newId(), type: 'bench', input: {}, reference: null },
      lane: `bench:${n % lanes}`,
      parallel_max,
    }),
  );
  await enqueueAll(service.ctx.db.service.pooled, account.client_id, described, { wait: '5s' });
  // As autovacuum does in the first minute: before, the planner knows nothing about the tables.
  await owner.unsafe('ANALYZE');
}

async function jobRate(bench: Bench): Promise<number> {
  const { ctx } = bench.service;
  await queueJobs(bench, patients, parallel);
  let left = jobs;
  const data = { action_id: '', emr_appointment_id: '', text: '' };
  const succeeded = {
    state: 'succeeded',
    error: null,
    event: { type: 'telephone_encounter_action.created', data },
  } as const;
  const handler = { run: async () => succeeded, onFailure: () => succeeded };
  const runLane = createLaneRunner(new Map([['bench', handler]]), async () => false);
  return drain(bench, 'lanes', (lease, signal, done) =>
    runLane(ctx, lease, signal).then(() => {
      left -= 1;
      if (left === 0) done();
    }),
  );
}

/** Runs a worker until `done` is called, and returns the number of jobs per second. */
async function drain(
  { service: { ctx } }: Bench,
  table: LeasedTable,
  run: (...args: [...Parameters<WorkSource['run']>, () => void]) => Promise<void>,
): Promise<number> {
  let done = () => {};
  const finished = new Promise<void>((resolve) => {
    done = resolve;
  });
  const start = performance.now();
  const source: WorkSource = {
    claim: createClaimer(ctx.db.system, table, { owner: 'bench', lease_ms }),
    extend: (leases) => extendLeases(ctx.db.system, table, leases, lease_ms),
    run: (lease, signal) => run(lease, signal, () => done()),
  };
  const worker = startWorker(source, {
    slots: slots[table],
    lease_ms,
    onError: (error) => process.stderr.write(`${error}\n`),
  });
  await finished;
  const seconds = (performance.now() - start) / 1000;
  await worker.stop(5_000);
  return jobs / seconds;
}

async function graphileRate({ pool }: Bench): Promise<number> {
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  await utils.migrate();
  await utils.addJobs(Array.from({ length: jobs }, () => ({ identifier: 'bench', payload: {} })));
  let left = jobs;
  let done = () => {};
  const finished = new Promise<void>((resolve) => {
    done = resolve;
  });
  const bench = async () => {
    left -= 1;
    if (left === 0) done();
  };
  const start = performance.now();
  const runner = await run({ pgPool: pool, logger, concurrency: parallel, noHandleSignals: true, taskList: { bench } });
  await finished;
  const seconds = (performance.now() - start) / 1000;
  await runner.stop();
  await utils.release();
  return jobs / seconds;
}

/** How many lanes per second some workers claim, each with a connection of its own, ten at a time. */
async function measureClaims(bench: Bench): Promise<Row[]> {
  const rates: string[] = [];
  for (const workers of [1, 4, 16]) {
    await queueJobs(bench, jobs, jobs);
    const connections = Array.from({ length: workers }, () => connect(bench.system, { max: 1 }));
    await Promise.all(connections.map((sql) => sql`SELECT 1`));
    const start = performance.now();
    const claimAll = async (sql: Sql, n: number) => {
      let claimed = 0;
      for (;;) {
        const leases = await claimLeases(sql, 'lanes', { owner: `bench-${n}`, count: 10, lease_ms });
        if (leases.length === 0) return claimed;
        claimed += leases.length;
        // As if their jobs had run: a worker holds a few lanes at a time.
        await bench.owner`DELETE FROM lanes WHERE id = ANY (${leases.map(({ id }) => id)}::uuid[])`;
      }
    };
    const claimed = await Promise.all(connections.map(claimAll));
    const seconds = (performance.now() - start) / 1000;
    rates.push(`${(claimed.reduce((sum, each) => sum + each) / seconds).toFixed(0)}/s`);
    await Promise.all(connections.map((sql) => sql.end()));
    await bench.owner`DELETE FROM jobs WHERE type = 'bench' AND state = 'queued'`;
  }
  const detail = 'ten lanes per claim; the claim and the deletion of its lanes are a commit each';
  return [
    report({ work: 'lanes claimed by 1, 4 and 16 workers', figure: rates.join(', '), goal: 'rises up to 4', detail }),
  ];
}

async function measureDeliveries(bench: Bench, rounds: number): Promise<Row> {
  const receiver = createServer((incoming, outgoing) => incoming.resume().on('end', () => outgoing.end()));
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const rates: number[] = [];
    // The first round prepares statements and opens connections.
    for (let round = 0; round <= rounds; round++) rates.push(await deliveryRate(bench, url));
    return report({
      work: 'webhook deliveries to one endpoint',
      figure: `${median(rates.slice(1)).toFixed(0)}/s`,
      goal: '≥ 1,000/s',
      detail: '20 at a time; the receiver responds at once',
    });
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
}

async function deliveryRate(bench: Bench, url: string): Promise<number> {
  const { ctx } = bench.service;
  const { client_id, account_id } = bench.account;
  await ctx.db.tenant(client_id, async (tx) => {
    await tx`DELETE FROM deliveries`;
    await tx`DELETE FROM webhook_endpoints`;
    await addEndpoint(ctx, tx, client_id, { url });
    const event = {
      type: 'telephone_encounter_action.created',
      data: { action_id: '', emr_appointment_id: '', text: '' },
    } as const;
    for (let n = 0; n < jobs; n++) await emitEvent(tx, { client_id, account_id, job_id: null, event });
  });
  await bench.owner.unsafe('ANALYZE');
  let left = jobs;
  return drain(bench, 'deliveries', (lease, signal, done) =>
    deliver(ctx, lease, signal).then(() => {
      left -= 1;
      if (left === 0) done();
    }),
  );
}
