import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';

/** How many jobs and deliveries are waiting, and for how many seconds the oldest that could run has been ready. */
export type QueueDepth = {
  queued: number;
  parked: number;
  deliveries: number;
  job_lag: number;
  delivery_lag: number;
  /** Seconds since the oldest open transaction of the database started. */
  oldest_transaction: number;
};

export async function readQueueDepth({ system }: Pick<Database, 'system'>): Promise<QueueDepth> {
  const [row] = await system.pooled<QueueDepth[]>`
    SELECT (SELECT count(*) FROM jobs WHERE state IN ('queued', 'running') AND NOT parked) AS queued,
           (SELECT count(*) FROM jobs WHERE parked) AS parked,
           (SELECT count(*) FROM deliveries WHERE ready_at IS NOT NULL) AS deliveries,
           (SELECT coalesce(extract(epoch FROM now() - min(ready_at)), 0)::float8 FROM lanes
             WHERE ready_at <= now() AND (locked_until IS NULL OR locked_until <= now())) AS job_lag,
           (SELECT coalesce(extract(epoch FROM now() - min(ready_at)), 0)::float8 FROM deliveries
             WHERE ready_at <= now() AND (locked_until IS NULL OR locked_until <= now())) AS delivery_lag,
           oldest_transaction_seconds() AS oldest_transaction`;
  if (!row) throw new Error('A query without FROM returned no row.');
  return row;
}

/** Updates the metrics of the queues. Without the database they are removed: old values would look like current ones. */
export async function measureQueues({ db, metrics }: Pick<Context, 'db' | 'metrics'>): Promise<void> {
  try {
    const depth = await readQueueDepth(db);
    metrics.waiting.set({ queue: 'jobs' }, depth.queued);
    metrics.waiting.set({ queue: 'parked' }, depth.parked);
    metrics.waiting.set({ queue: 'deliveries' }, depth.deliveries);
    metrics.lag.set({ queue: 'jobs' }, depth.job_lag);
    metrics.lag.set({ queue: 'deliveries' }, depth.delivery_lag);
    metrics.oldest_transaction.set(depth.oldest_transaction);
  } catch {
    metrics.waiting.reset();
    metrics.lag.reset();
  }
}
