import type { Database } from '../../platform/db/database.ts';
import { gone_after_s } from '../../platform/db/processes.ts';
import type { Context } from '../context.ts';

/** How many jobs and deliveries are waiting, and for how many seconds the oldest that could run has been ready. */
export type QueueDepth = {
  queued: number;
  /** Those of the queued jobs whose last attempt failed. Their lanes pause. */
  retried: number;
  parked: number;
  deliveries: number;
  job_lag: number;
  /** Seconds since the first failed attempt of the job that has been retried longest. */
  retry_lag: number;
  delivery_lag: number;
  /** Seconds since the oldest open transaction of the database started. */
  oldest_transaction: number;
  /** Processes that run jobs and deliveries. */
  workers: number;
  endpoints_failing: number;
};

export async function readQueueDepth({ system }: Pick<Database, 'system'>): Promise<QueueDepth> {
  const [row] = await system.pooled<QueueDepth[]>`
    SELECT (SELECT count(*) FROM jobs WHERE state IN ('queued', 'running') AND NOT parked) AS queued,
           (SELECT count(*) FROM jobs WHERE state IN ('queued', 'running') AND NOT parked AND retry_since IS NOT NULL)
             AS retried,
           (SELECT coalesce(extract(epoch FROM now() - min(retry_since)), 0)::float8 FROM jobs
             WHERE state IN ('queued', 'running') AND NOT parked) AS retry_lag,
           (SELECT count(*) FROM jobs WHERE parked) AS parked,
           (SELECT count(*) FROM deliveries WHERE ready_at IS NOT NULL) AS deliveries,
           (SELECT coalesce(extract(epoch FROM now() - min(ready_at)), 0)::float8 FROM lanes
             WHERE ready_at <= now() AND (locked_until IS NULL OR locked_until <= now())) AS job_lag,
           (SELECT coalesce(extract(epoch FROM now() - min(ready_at)), 0)::float8 FROM deliveries
             WHERE ready_at <= now() AND (locked_until IS NULL OR locked_until <= now())) AS delivery_lag,
           (SELECT count(*) FROM processes WHERE working AND seen_at > now() - make_interval(secs => ${gone_after_s}))
             AS workers,
           (SELECT count(*) FROM webhook_endpoints WHERE failing_since IS NOT NULL AND status = 'enabled')
             AS endpoints_failing,
           oldest_transaction_seconds() AS oldest_transaction`;
  if (!row) throw new Error('A query without FROM returned no row.');
  return row;
}

/** More series than this would not help anyone. */
const outages_max = 100;

/** Updates the metrics of the queues. Without the database they are removed: old values would look like current ones. */
export async function measureQueues({ db, metrics }: Pick<Context, 'db' | 'metrics'>): Promise<void> {
  try {
    const depth = await readQueueDepth(db);
    metrics.waiting.set({ queue: 'jobs' }, depth.queued);
    metrics.waiting.set({ queue: 'parked' }, depth.parked);
    metrics.waiting.set({ queue: 'deliveries' }, depth.deliveries);
    metrics.lag.set({ queue: 'jobs' }, depth.job_lag);
    metrics.lag.set({ queue: 'deliveries' }, depth.delivery_lag);
    metrics.waiting.set({ queue: 'retried' }, depth.retried);
    metrics.lag.set({ queue: 'retried' }, depth.retry_lag);
    metrics.oldest_transaction.set(depth.oldest_transaction);
    metrics.workers.set(depth.workers);
    metrics.endpoints_failing.set(depth.endpoints_failing);
    metrics.emr_unreachable.reset();
    for (const { emr, account, seconds } of await listOutages(db)) {
      metrics.emr_unreachable.set({ emr, account }, seconds);
    }
  } catch {
    for (const gauge of [metrics.waiting, metrics.lag, metrics.emr_unreachable]) gauge.reset();
    for (const gauge of [metrics.oldest_transaction, metrics.workers, metrics.endpoints_failing]) gauge.remove();
  }
}

/** The accounts whose EMR does not respond, longest first. */
function listOutages({ system }: Pick<Database, 'system'>) {
  return system.pooled<{ emr: string; account: string; seconds: number }[]>`
    SELECT organizations.connector AS emr, accounts.reference_id AS account,
           extract(epoch FROM now() - outage.since)::float8 AS seconds
      FROM emr_outages AS outage JOIN accounts ON accounts.id = outage.account_id
           JOIN organizations ON organizations.id = accounts.organization_id
     WHERE accounts.status = 'active' AND outage.last_failure_at > outage.since ORDER BY outage.since, accounts.id LIMIT ${outages_max}`;
}
