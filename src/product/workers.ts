import { hostname } from 'node:os';
import { newId } from '../catalog/ids.ts';
import { boundLeases, createClaimer, extendLeases, type LeasedTable } from '../platform/db/lease.ts';
import { createCircuits } from '../platform/worker/backoff.ts';
import { type ScheduledTask, startScheduledTasks } from '../platform/worker/scheduledTasks.ts';
import { startWorker, type WorkSource } from '../platform/worker/worker.ts';
import { purgeReplacedTokens } from './accounts/accessTokens.ts';
import { expireAccount } from './accounts/accounts.ts';
import { requireConnector } from './accounts/connectAccount.ts';
import { signOutAccounts } from './accounts/signOutAccounts.ts';
import { type AuditAnchor, openAnchor } from './audit/anchors.ts';
import { openForwarding } from './audit/collector.ts';
import { sealAudit } from './audit/seals.ts';
import { verifyIfDue } from './audit/verification.ts';
import type { Context } from './context.ts';
import { refreshDirectory } from './directory/refreshDirectory.ts';
import { collectDisclosures, purgePatientReads } from './disclosures/disclosures.ts';
import { purgeExpired } from './erasure/retention.ts';
import { purgeExpiredKeys } from './jobs/idempotencyKeys.ts';
import { boundLanePauses } from './jobs/lanes.ts';
import { findExpiredParkedJobs, findStrandedJobs, repairStrandedJob, unparkExpiredJob } from './jobs/park.ts';
import { createLaneRunner } from './jobs/run.ts';
import { purgeLinkTokens } from './link/linkTokens.ts';
import { purgePracticeSessions } from './link/practiceSessions.ts';
import { purgePublicTokens } from './link/publicTokens.ts';
import { purgeReviews } from './operators/accessReviews.ts';
import { expireApprovals, purgeApprovals } from './operators/approvals.ts';
import { disableInactiveOperators } from './operators/inactivity.ts';
import { purgeInvitations } from './operators/operatorInvitations.ts';
import { purgeNetworks } from './operators/operatorNetworks.ts';
import { purgeSessions } from './operators/operatorSessions.ts';
import { purgeAttempts, purgeDevices } from './operators/signIn.ts';
import { noticeTimeline, purgeChanges } from './records/changes.ts';
import { requestDueSyncs } from './records/syncPasses.ts';
import { deliver } from './webhooks/deliver.ts';
import { boundDeliveryPauses } from './webhooks/deliveries.ts';
import { purgeReceived } from './webhooks/receiver/receivers.ts';
import { job_handlers } from './writes/jobHandlers.ts';

export type Workers = { alive(): boolean; stop(): Promise<void> };

/** A shutdown takes at most 25 s: 20 for running work, 3 to release the rest, 2 for everything else. */
const grace_ms = 20_000;

/** Starts the workers for jobs and webhook deliveries, and the scheduled tasks. */
export async function startWorkers(ctx: Context): Promise<Workers> {
  const owner = `${hostname()}:${process.pid}:${newId().slice(-8)}`;
  const lease_ms = ctx.config.lease_seconds * 1000;
  const onError = (error: unknown) => ctx.log.error({ err: error }, 'worker failed; the work will be retried');
  const runLane = createLaneRunner(job_handlers, expireAccount, createCircuits());
  const endpoint_circuits = createCircuits();
  const createSource = (table: LeasedTable, run: WorkSource['run']): WorkSource => ({
    claim: createClaimer(ctx.db.system, table, { owner, lease_ms }),
    extend: (leases) => extendLeases(ctx.db.system, table, leases, lease_ms),
    run,
  });
  const jobs = startWorker(
    createSource('lanes', (lease, signal) => runLane(ctx, lease, signal)),
    { slots: ctx.config.worker_jobs, lease_ms, onError },
  );
  const deliveries = startWorker(
    createSource('deliveries', (lease, signal) => deliver(ctx, lease, signal, { circuits: endpoint_circuits })),
    { slots: ctx.config.worker_deliveries, lease_ms, onError },
  );
  const forwarding = await openForwarding(ctx, { owner, lease_ms });
  const forwarder = forwarding && startWorker(forwarding, { slots: 1, lease_ms, onError });
  await ctx.notifications.listen('chartwire_jobs', jobs.wake);
  await ctx.notifications.listen('chartwire_deliveries', deliveries.wake);
  const anchor = await openAnchor(ctx);
  const tasks = startScheduledTasks(scheduledTasks(ctx, anchor, forwarder?.wake), (name, error) =>
    ctx.log.error({ reason: name, err: error }, 'scheduled task failed'),
  );
  return {
    alive: () => jobs.alive() && deliveries.alive(),
    stop: async () => {
      await Promise.all([jobs.stop(grace_ms), deliveries.stop(grace_ms), tasks.stop(grace_ms), forwarder?.stop(0)]);
      await Promise.all([anchor.close(), forwarding?.close()]);
    },
  };
}

const minute_ms = 60_000;

/** `onSealed` is called when records may have joined the chain. */
function scheduledTasks(ctx: Context, anchor: AuditAnchor, onSealed: () => void = () => {}): ScheduledTask[] {
  return [
    { name: 'sync', every_ms: minute_ms / 4, run: () => requestDueSyncs(ctx) },
    { name: 'parked', every_ms: 10 * minute_ms, run: () => unparkExpiredJobs(ctx) },
    { name: 'stranded jobs', every_ms: minute_ms, run: () => repairStrandedJobs(ctx) },
    { name: 'future times', every_ms: minute_ms / 4, run: () => boundFutureTimes(ctx) },
    // A removed record is only noticed once it is in the chain, so records are added soon.
    { name: 'audit', every_ms: 1_000, run: () => sealAudit(ctx).finally(anchor.advance).finally(onSealed) },
    // Later than the records: those of a client that polls a list are then counted together.
    { name: 'disclosures', every_ms: minute_ms / 4, run: async () => void (await collectDisclosures(ctx)) },
    { name: 'audit_verification', every_ms: 60 * minute_ms, run: () => verifyIfDue(ctx) },
    { name: 'sign_out', every_ms: 5_000, run: () => signOutAccounts(ctx) },
    // While the server still knows where it took over.
    { name: 'timeline', every_ms: 5_000, run: async () => void (await noticeTimeline(ctx.db.system)) },
    { name: 'directory', every_ms: 10 * minute_ms, run: () => refreshDirectory(ctx) },
    {
      name: 'inactive operators',
      every_ms: 5 * minute_ms,
      run: async () => void (await disableInactiveOperators(ctx)),
    },
    { name: 'approvals', every_ms: 5 * minute_ms, run: () => expireApprovals(ctx) },
    { name: 'purge', every_ms: 60 * minute_ms, run: () => purge(ctx) },
  ];
}

async function purge(ctx: Context): Promise<void> {
  const { system } = ctx.db;
  await Promise.all([
    purgePublicTokens(system),
    purgeReplacedTokens(system),
    purgeLinkTokens(system),
    purgePracticeSessions(system),
    purgeSessions(system),
    purgeNetworks(system),
    purgeInvitations(system),
    purgeReviews(system),
    purgeApprovals(system),
    purgeDevices(system),
    purgeAttempts(system),
    purgeExpiredKeys(system),
    purgeChanges(system),
    purgeExpired(ctx),
    purgeReceived(system),
    purgePatientReads(ctx),
  ]);
}

/**
 * Makes work due that waits for a time which only a clock that is ahead can have set: that of the database server before
 * a failover.
 */
export async function boundFutureTimes({ db: { system }, config, log, notifications }: Context): Promise<void> {
  const lease_ms = config.lease_seconds * 1000;
  const leases = (await boundLeases(system, 'lanes', lease_ms)) + (await boundLeases(system, 'deliveries', lease_ms));
  const lanes = await boundLanePauses(system);
  const deliveries = await boundDeliveryPauses(system);
  if (leases + lanes + deliveries === 0) return;
  const reason = `${leases} leases, ${lanes} lanes, ${deliveries} deliveries`;
  log.warn({ reason }, 'work that waited for a time too far in the future is due: the clock of the database went back');
  if (lanes > 0) notifications.notify('chartwire_jobs', '');
  if (deliveries > 0) notifications.notify('chartwire_deliveries', '');
}

/** Returns unfinished jobs that have neither a lane nor a re-link to wait for to their lanes. */
export async function repairStrandedJobs(ctx: Context): Promise<void> {
  for (const { id, client_id, connector } of await findStrandedJobs(ctx.db.system)) {
    const { parallel_max } = requireConnector(ctx, connector).limits;
    await ctx.db.tenant(client_id, (tx) => repairStrandedJob(tx, id, parallel_max));
    ctx.metrics.jobs_repaired.inc();
    ctx.log.error({ job_id: id }, 'job had no lane and was returned to the queue; please report this as a bug');
    ctx.notifications.notify('chartwire_jobs', client_id);
  }
}

/** Returns jobs that were parked for too long to their lanes, where their next attempt fails. */
export async function unparkExpiredJobs(ctx: Context): Promise<void> {
  for (const { id, client_id, connector } of await findExpiredParkedJobs(ctx.db.system, 500)) {
    const { parallel_max } = requireConnector(ctx, connector).limits;
    await ctx.db.tenant(client_id, (tx) => unparkExpiredJob(tx, id, parallel_max));
  }
}
