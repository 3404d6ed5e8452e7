import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import { gone_after_s } from '../../platform/db/processes.ts';
import { type CollectorBacklog, readBacklog } from '../audit/collector.ts';
import type { Context } from '../context.ts';
import { listSilentAccounts } from './outages.ts';

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
  /** Seconds since the oldest change that the change feed does not show yet. */
  change_lag: number;
  /** Seconds since the oldest open transaction of the database started. */
  oldest_transaction: number;
  /** Processes that run jobs and deliveries. */
  workers: number;
  endpoints_failing: number;
  /** What the collector of the audit log does not have yet; without one, everything. */
  collector: CollectorBacklog;
};

export async function readQueueDepth({ system }: Pick<Database, 'system'>): Promise<QueueDepth> {
  const [row] = await system.pooled<Omit<QueueDepth, 'collector'>[]>`
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
             WHERE ready_at <= now() AND (locked_until IS NULL OR locked_until <= now())
               AND endpoint_id NOT IN (SELECT id FROM webhook_endpoints WHERE paused_at IS NOT NULL)) AS delivery_lag,
           (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(changed_at)), 0)::float8 FROM record_changes
             WHERE generation = (SELECT max(generation) FROM change_generations)
               AND xid >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint) AS change_lag,
           (SELECT count(*) FROM processes WHERE working AND seen_at > now() - make_interval(secs => ${gone_after_s}))
             AS workers,
           (SELECT count(*) FROM webhook_endpoints WHERE failing_since IS NOT NULL AND status = 'enabled'
               AND paused_at IS NULL)
             AS endpoints_failing,
           oldest_transaction_seconds() AS oldest_transaction`;
  if (!row) throw new Error('A query without FROM returned no row.');
  return { ...row, collector: await readBacklog(system.pooled) };
}

/** Updates the metrics of the queues. Without the database they are removed: old values would look like current ones. */
export async function measureQueues({
  db,
  metrics,
  config,
}: Pick<Context, 'db' | 'metrics' | 'config'>): Promise<void> {
  try {
    const depth = await readQueueDepth(db);
    metrics.waiting.set({ queue: 'jobs' }, depth.queued);
    metrics.waiting.set({ queue: 'parked' }, depth.parked);
    metrics.waiting.set({ queue: 'deliveries' }, depth.deliveries);
    metrics.lag.set({ queue: 'jobs' }, depth.job_lag);
    metrics.lag.set({ queue: 'deliveries' }, depth.delivery_lag);
    metrics.lag.set({ queue: 'changes' }, depth.change_lag);
    metrics.waiting.set({ queue: 'retried' }, depth.retried);
    metrics.lag.set({ queue: 'retried' }, depth.retry_lag);
    if (config.audit_collector_url) {
      metrics.waiting.set({ queue: 'audit_collector' }, depth.collector.waiting);
      metrics.lag.set({ queue: 'audit_collector' }, depth.collector.lag_s);
    }
    metrics.oldest_transaction.set(depth.oldest_transaction);
    metrics.workers.set(depth.workers);
    metrics.endpoints_failing.set(depth.endpoints_failing);
    metrics.emr_unreachable.reset();
    for (const { emr, account, seconds } of await listSilentAccounts(db)) {
      metrics.emr_unreachable.set({ emr, account }, seconds);
    }
    const open = await db.system.pooled<{ code: string; count: number }[]>`
      SELECT code, count(*)::int AS count FROM alerts WHERE resolved_at IS NULL GROUP BY code`;
    metrics.alerts_open.reset();
    for (const { code, count } of open) metrics.alerts_open.set({ code }, count);
  } catch {
    for (const gauge of [metrics.waiting, metrics.lag, metrics.emr_unreachable, metrics.alerts_open]) gauge.reset();
    for (const gauge of [metrics.oldest_transaction, metrics.workers, metrics.endpoints_failing]) gauge.remove();
  }
}

/** The jobs that finished in one period, without canceled ones. `durations` is a histogram: how many took about `duration_base ** power` seconds. */
export type Period = {
  at: Date;
  succeeded: number;
  partial: number;
  failed: number;
  needs_review: number;
  durations: [power: number, jobs: number][];
};

/** Neighboring buckets differ by 10 %, so a percentile read from them is accurate to 5 %. */
export const duration_base = 1.1;
export const period_s = 1800;
/** `finished_at` is set shortly before the commit; no transaction takes longer than this. */
const commit_margin_s = 120;
const stored_days = 7;

/** Computed from the jobs table: for short time spans. */
export function summarizeSince(db: Database, client_id: string, since: Date, width_s: number): Promise<Period[]> {
  return db.search<Period>(client_id, (sql) => summarize(sql, sql`${since}::timestamptz`, sql`now()`, width_s));
}

/**
 * The half-hour periods of the last week. Finished periods are stored once computed; the current one is computed from
 * the jobs. With a million jobs per week this takes 40 to 200 ms instead of 4.5 s.
 */
export async function readPeriods(db: Database, client_id: string): Promise<Period[]> {
  return db.tenant(client_id, async (tx) => {
    const stored_until = await storeFinishedPeriods(tx, client_id);
    const stored = await tx<Period[]>`
      SELECT at, succeeded, partial, failed, needs_review, durations FROM job_periods ORDER BY at`;
    const current = await tx<Period[]>`${summarize(tx, tx`${stored_until}::timestamptz`, tx`now()`, period_s)}`;
    return [...stored, ...current];
  });
}

/** Stores the finished periods that are missing, deletes old ones, and returns where the stored periods end. */
async function storeFinishedPeriods(tx: Tx, client_id: string): Promise<Date> {
  const width = tx`make_interval(secs => ${period_s})`;
  const [span] = await tx<{ since: Date; until: Date }[]>`
    SELECT greatest((SELECT max(at) + ${width} FROM job_periods),
                    date_bin(${width}, now() - make_interval(days => ${stored_days}), 'epoch')) AS since,
           date_bin(${width}, now() - make_interval(secs => ${commit_margin_s}), 'epoch') AS until`;
  if (!span) throw new Error('A query without FROM returned no row.');
  if (span.since < span.until) {
    // A concurrent request may have stored the same periods.
    await tx`INSERT INTO job_periods (client_id, at, succeeded, partial, failed, needs_review, durations)
      SELECT ${client_id}, period.*
        FROM (${summarize(tx, tx`${span.since}::timestamptz`, tx`${span.until}::timestamptz`, period_s)}) AS period
      ON CONFLICT DO NOTHING`;
    await tx`DELETE FROM job_periods WHERE at < now() - make_interval(days => ${stored_days}, secs => ${period_s})`;
  }
  return span.until;
}

/** One row per period, including periods without jobs. */
function summarize(sql: Query, since: Fragment, until: Fragment, width_s: number): Fragment {
  const width = sql`make_interval(secs => ${width_s})`;
  return sql`
    SELECT at, coalesce(sum(n) FILTER (WHERE state = 'succeeded'), 0)::int AS succeeded,
           coalesce(sum(n) FILTER (WHERE state = 'partial'), 0)::int AS partial,
           coalesce(sum(n) FILTER (WHERE state = 'failed'), 0)::int AS failed,
           coalesce(sum(n) FILTER (WHERE state = 'needs_review'), 0)::int AS needs_review,
           coalesce(json_agg(json_build_array(power, n)) FILTER (WHERE n IS NOT NULL), '[]') AS durations
      FROM generate_series(date_bin(${width}, ${since}, 'epoch'), ${until} - interval '1 microsecond', ${width}) AS at
      LEFT JOIN (
        SELECT date_bin(${width}, finished_at, 'epoch') AS at, state, count(*) AS n,
               round(ln(greatest(extract(epoch FROM finished_at - created_at)::float8 - parked_ms / 1000.0, 0.001)) / ln(${duration_base}::float8))::int
                 AS power
          FROM jobs WHERE finished_at >= ${since} AND finished_at < ${until} AND state <> 'cancelled' GROUP BY 1, 2, 4
      ) AS finished USING (at)
     GROUP BY at ORDER BY at`;
}
