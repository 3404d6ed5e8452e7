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
