import { hostname } from 'node:os';
import { expireAccount } from './accounts/expireAccount.ts';
import { connectorOf } from './accounts/openAccount.ts';
import { purgeRequests } from './audit/requests.ts';
import { sealAudit } from './audit/sealAudit.ts';
import type { Context } from './context.ts';
import { claimLeases, extendLeases, type LeasedTable } from './db/lease.ts';
import { purgeExpired } from './db/purge.ts';
import { newId } from './ids.ts';
import { findExpired, wakeExpired } from './jobs/park.ts';
import { type JobKind, laneRunner } from './jobs/run.ts';
import { purgeReceived } from './receiver/receivedRequests.ts';
import { requestDueSyncs, sync_type } from './records/requestSync.ts';
import { sync } from './records/sync.ts';
import { deliver } from './webhooks/deliver.ts';
import { purgeEvents } from './webhooks/events.ts';
import { type Chore, startChores } from './worker/chores.ts';
import { startWorker, type WaitingWork } from './worker/worker.ts';
import { performWrite } from './writes/performWrite.ts';
import { writes } from './writes/writes.ts';

export type Workers = { alive(): boolean; stop(): Promise<void> };

/** All job types. */
const kinds: ReadonlyMap<string, JobKind> = new Map([
  [sync_type, sync],
  ...writes.map((write) => [write.type, performWrite(write)] as const),
]);

/** A shutdown takes at most 25 s: 20 for running work, 3 to release the rest, 2 for everything else. */
const grace_ms = 20_000;

/** Starts the workers for jobs and deliveries, and the scheduled tasks. */
export async function startWorkers(ctx: Context): Promise<Workers> {
  const owner = `${hostname()}:${process.pid}:${newId().slice(-8)}`;
  const lease_ms = ctx.config.lease_seconds * 1000;
  const failed = (error: unknown) => ctx.log.error({ err: error }, 'worker failed; the work will be retried');
  const runLane = laneRunner(kinds, expireAccount);
  const waiting = (table: LeasedTable, perform: WaitingWork['perform']): WaitingWork => ({
    claim: (count) => claimLeases(ctx.db.system, table, { owner, count, lease_ms }),
    extend: (leases) => extendLeases(ctx.db.system, table, leases, lease_ms),
    perform,
  });
  const jobs = startWorker(
    waiting('lanes', (lease, signal) => runLane(ctx, lease, signal)),
    { slots: ctx.config.worker_jobs, lease_ms, failed },
  );
  const deliveries = startWorker(
    waiting('deliveries', (lease, signal) => deliver(ctx, lease, signal)),
    { slots: ctx.config.worker_deliveries, lease_ms, failed },
  );
  await ctx.bell.hear('chartwire_jobs', jobs.wake);
  await ctx.bell.hear('chartwire_deliveries', deliveries.wake);
  const chores = startChores(choresOf(ctx), (name, error) =>
    ctx.log.error({ reason: name, err: error }, 'a chore failed'),
  );
  return {
    alive: () => jobs.alive() && deliveries.alive(),
    stop: async () => {
      await Promise.all([jobs.stop(grace_ms), deliveries.stop(grace_ms), chores.stop(grace_ms)]);
    },
  };
}

const minute_ms = 60_000;

function choresOf(ctx: Context): Chore[] {
  return [
    { name: 'sync', every_ms: minute_ms / 4, run: () => requestDueSyncs(ctx) },
    { name: 'parked', every_ms: 10 * minute_ms, run: () => wakeLongParked(ctx) },
    // A record cannot be removed unnoticed once it is in the chain, so it is added soon.
    { name: 'audit', every_ms: 1_000, run: () => sealAudit(ctx) },
    { name: 'purge', every_ms: 60 * minute_ms, run: () => purge(ctx) },
  ];
}

async function purge({ db: { system }, config }: Context): Promise<void> {
  await Promise.all([
    purgeExpired(system),
    purgeEvents(system),
    purgeRequests(system, config.requests_days),
    purgeReceived(system),
  ]);
}

/** Wakes jobs that have been parked too long. Their next attempt fails them. */
export async function wakeLongParked(ctx: Context): Promise<void> {
  for (const { id, client_id, connector } of await findExpired(ctx.db.system, 500)) {
    const { parallel_max } = connectorOf(ctx, connector).limits;
    await ctx.db.tenant(client_id, (tx) => wakeExpired(tx, id, parallel_max));
  }
}
