import type { Database, Sql } from '../../../platform/db/database.ts';
import { type ClientScope, inScope } from '../../../platform/db/fragments.ts';
import type { Context } from '../../../product/context.ts';
import { unfixed } from '../../../product/jobs/listJobs.ts';
import { duration_base, type Period, period_s, readPeriods, summarizeSince } from '../../../product/jobs/queueDepth.ts';
import { type ClientLoad, type FirstSteps, type HistoryBin, type Range, type Restore, ranges } from './schema.ts';

/** The queue of each client in the scope, and how many of its accounts have to be re-linked. */
export async function readClientLoads(ctx: Pick<Context, 'db'>, scope: ClientScope): Promise<ClientLoad[]> {
  const sql = ctx.db.system.pooled;
  return sql<ClientLoad[]>`
    WITH waiting AS (
      SELECT client_id, count(*) FILTER (WHERE state = 'queued' AND NOT parked) AS queued,
             count(*) FILTER (WHERE state = 'running') AS running, count(*) FILTER (WHERE parked) AS parked,
             iso(min(created_at) FILTER (WHERE state = 'queued' AND NOT parked)) AS oldest_queued_at
        FROM jobs WHERE state IN ('queued', 'running') GROUP BY client_id
    ), review AS (
      SELECT client_id, count(*) AS n FROM jobs
       WHERE state = 'needs_review' AND review_outcome IS NULL GROUP BY client_id
    ), relink AS (
      SELECT client_id, count(*) AS n FROM accounts WHERE status = 'login_required' GROUP BY client_id
    )
    SELECT public_id AS client_id, name, coalesce(queued, 0)::int AS queued,
           coalesce(running, 0)::int AS running, coalesce(parked, 0)::int AS parked,
           coalesce(review.n, 0)::int AS needs_review, oldest_queued_at, coalesce(relink.n, 0)::int AS relink
      FROM clients LEFT JOIN waiting ON waiting.client_id = clients.id LEFT JOIN review ON review.client_id = clients.id
           LEFT JOIN relink ON relink.client_id = clients.id
     WHERE ${inScope(sql, sql`clients.id`, scope)}
     ORDER BY clients.created_at, clients.id`;
}

/** The jobs of the last 24 hours that failed, or failed in part, and were not run again. */
export async function countFailedDay(db: Database, client_id: string): Promise<{ failed: number; partial: number }> {
  const [row] = await db.search<{ failed: number; partial: number }>(
    client_id,
    (sql) => sql`
      SELECT count(*) FILTER (WHERE state = 'failed')::int AS failed,
             count(*) FILTER (WHERE state = 'partial')::int AS partial FROM jobs
       WHERE client_id = ${client_id} AND ${unfixed(sql)} AND created_at >= now() - interval '24 hours'`,
  );
  return row ?? { failed: 0, partial: 0 };
}

/** Whoever has used the service for longer no longer needs the first steps. */
const first_steps_hours = 24;
/** The first that succeeded is shown, or the first if none of so many did. */
const first_writes_max = 20;

/**
 * How far a new client has got. `started_at`: when its first write was accepted. Null for a client that has written for
 * longer than a day.
 */
export async function readFirstSteps(db: Database, client_id: string): Promise<FirstSteps | null> {
  const [row] = await db.search<FirstSteps>(
    client_id,
    (sql) => sql`
      WITH early AS MATERIALIZED (
        SELECT id, state, created_at, finished_at FROM jobs WHERE client_id = ${client_id} AND type <> 'sync'
         ORDER BY created_at, id LIMIT ${first_writes_max}::integer
      ), shown AS (
        SELECT * FROM early ORDER BY state = 'succeeded' DESC, id LIMIT 1
      )
      SELECT (SELECT iso(min(created_at)) FROM early) AS started_at,
             (SELECT json_build_object('job_id', id, 'state', state, 'finished_at', iso(finished_at)) FROM shown) AS write,
             EXISTS (SELECT FROM client_secrets WHERE revoked_at IS NULL) AS has_secret,
             EXISTS (SELECT FROM accounts WHERE status = 'active') AS has_account,
             EXISTS (SELECT FROM webhook_endpoints WHERE status = 'enabled') AS has_endpoint,
             (SELECT json_build_object('id', replace(event.id::text, '-', ''), 'type', event.type, 'delivered_at',
                 (SELECT iso(min(finished_at)) FROM deliveries WHERE event_id = event.id AND status = 'success'))
                FROM events AS event WHERE event.job_id = (SELECT id FROM shown)) AS event`,
  );
  if (!row) throw new Error('A query without FROM returned no row.');
  const age_ms = row.started_at === null ? 0 : Date.now() - Date.parse(row.started_at);
  return age_ms > first_steps_hours * 3_600_000 ? null : row;
}

/** How long a restore is shown. */
const restore_days = 14;

/** The newest restore. Null if there is none, or none that still matters. */
export async function findRecentRestore(system: Sql): Promise<Restore | null> {
  const [restore] = await system<Restore[]>`
    SELECT iso(restored_at) AS restored_at, iso(backup_at) AS backup_at, unfinished_jobs FROM restores
     WHERE restored_at > now() - make_interval(days => ${restore_days}) ORDER BY id DESC LIMIT 1`;
  return restore ?? null;
}

/**
 * A client's finished jobs over time: how many per final state, and how long they took from acceptance to finish,
 * without the time they waited for their account to be re-linked.
 */
export async function readJobHistory(db: Database, client_id: string, range: Range): Promise<HistoryBin[]> {
  const { bins, bin_s } = ranges[range];
  const start_s = Math.floor(Date.now() / 1000 / bin_s) * bin_s - (bins - 1) * bin_s;
  const periods =
    bin_s < period_s
      ? await summarizeSince(db, client_id, new Date(start_s * 1000), bin_s)
      : await readPeriods(db, client_id);
  return Array.from({ length: bins }, (_, n) => {
    const from_ms = (start_s + n * bin_s) * 1000;
    const in_bin = periods.filter(({ at }) => at.getTime() >= from_ms && at.getTime() < from_ms + bin_s * 1000);
    return { at: new Date(from_ms).toISOString(), ...mergePeriods(in_bin) };
  });
}

function mergePeriods(periods: readonly Period[]): Omit<HistoryBin, 'at'> {
  const sum = (state: 'succeeded' | 'partial' | 'failed' | 'needs_review') =>
    periods.reduce((total, period) => total + period[state], 0);
  const durations = periods.flatMap((period) => period.durations).sort(([a], [b]) => a - b);
  return {
    succeeded: sum('succeeded'),
    partial: sum('partial'),
    failed: sum('failed'),
    needs_review: sum('needs_review'),
    p50_s: percentile(durations, 0.5),
    p95_s: percentile(durations, 0.95),
  };
}

/** In seconds, rounded to two significant digits. */
function percentile(durations: Period['durations'], fraction: number): number | null {
  const wanted = durations.reduce((total, [, jobs]) => total + jobs, 0) * fraction;
  let counted = 0;
  for (const [power, jobs] of durations) {
    counted += jobs;
    if (counted >= wanted) return Number((duration_base ** power).toPrecision(2));
  }
  return null;
}
