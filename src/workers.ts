import { hostname } from 'node:os';
import { expireAccount } from './accounts/expireAccount.ts';
import { connectorOf } from './accounts/openAccount.ts';
import { purgeRequests } from './audit/requests.ts';
import { sealAudit } from './audit/sealAudit.ts';
import type { Context } from './context.ts';
import { claimLeases, extendLeases, type LeasedTable } from './db/lease.ts';
import { purgeExpired } from './db/purge.ts';
import { newId } from './ids.ts';
import { purgeExpiredKeys } from './jobs/idempotencyKeys.ts';
import { findExpiredParkedJobs, unparkExpiredJob } from './jobs/park.ts';
import { createLaneRunner, type JobHandler } from './jobs/run.ts';
import { purgeReceived } from './receiver/receivedRequests.ts';
import { requestDueSyncs, sync_type } from './records/requestSync.ts';
import { sync } from './records/sync.ts';
import { deliver } from './webhooks/deliver.ts';
import { purgeEvents } from './webhooks/events.ts';
import { type ScheduledTask, startScheduledTasks } from './worker/scheduledTasks.ts';
import { startWorker, type WorkSource } from './worker/worker.ts';
import { writes } from './writes/writes.ts';

export type Workers = { alive(): boolean; stop(): Promise<void> };

/** The handler of every job type. */
const handlers: ReadonlyMap<string, JobHandler> = new Map([
  [sync_type, sync],
  ...writes.map((write) => [write.type, write.job_handler] as const),
]);

/** A shutdown takes at most 25 s: 20 for running work, 3 to release the rest, 2 for everything else. */
const grace_ms = 20_000;

/** Starts the workers for jobs and webhook deliveries, and the scheduled tasks. */
export async function startWorkers(ctx: Context): Promise<Workers> {
  const owner = `${hostname()}:${process.pid}:${newId().slice(-8)}`;
  const lease_ms = ctx.config.lease_seconds * 1000;
  const onError = (error: unknown) => ctx.log.error({ err: error }, 'worker failed; the work will be retried');
  const runLane = createLaneRunner(handlers, expireAccount);
  const sourceOf = (table: LeasedTable, run: WorkSource['run']): WorkSource => ({
    claim: (count) => claimLeases(ctx.db.system, table, { owner, count, lease_ms }),
    extend: (leases) => extendLeases(ctx.db.system, table, leases, lease_ms),
    run,
  });
  const jobs = startWorker(
    sourceOf('lanes', (lease, signal) => runLane(ctx, lease, signal)),
    { slots: ctx.config.worker_jobs, lease_ms, onError },
  );
  const deliveries = startWorker(
    sourceOf('deliveries', (lease, signal) => deliver(ctx, lease, signal)),
    { slots: ctx.config.worker_deliveries, lease_ms, onError },
  );
  await ctx.notifications.listen('chartwire_jobs', jobs.wake);
  await ctx.notifications.listen('chartwire_deliveries', deliveries.wake);
  const tasks = startScheduledTasks(scheduledTasks(ctx), (name, error) =>
    ctx.log.error({ reason: name, err: error }, 'scheduled task failed'),
  );
  return {
    alive: () => jobs.alive() && deliveries.alive(),
    stop: async () => {
      await Promise.all([jobs.stop(grace_ms), deliveries.stop(grace_ms), tasks.stop(grace_ms)]);
    },
  };
}

const minute_ms = 60_000;

function scheduledTasks(ctx: Context): ScheduledTask[] {
  return [
    { name: 'sync', every_ms: minute_ms / 4, run: () => requestDueSyncs(ctx) },
    { name: 'parked', every_ms: 10 * minute_ms, run: () => unparkExpiredJobs(ctx) },
    // A record cannot be removed unnoticed once it is in the chain, so it is added soon.
    { name: 'audit', every_ms: 1_000, run: () => sealAudit(ctx) },
    { name: 'purge', every_ms: 60 * minute_ms, run: () => purge(ctx) },
  ];
}

async function purge({ db: { system }, config }: Context): Promise<void> {
  await Promise.all([
    purgeExpired(system),
    purgeExpiredKeys(system),
    purgeEvents(system),
    purgeRequests(system, config.requests_days),
    purgeReceived(system),
  ]);
}

/** Returns jobs that were parked for too long to their lanes, where their next attempt fails. */
export async function unparkExpiredJobs(ctx: Context): Promise<void> {
  for (const { id, client_id, connector } of await findExpiredParkedJobs(ctx.db.system, 500)) {
    const { parallel_max } = connectorOf(ctx, connector).limits;
    await ctx.db.tenant(client_id, (tx) => unparkExpiredJob(tx, id, parallel_max));
  }
}
