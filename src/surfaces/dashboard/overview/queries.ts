import type { Database, Sql } from '../../../platform/db/database.ts';
import { type ClientScope, inScope } from '../../../platform/db/fragments.ts';
import { listOpenAlerts } from '../../../product/alerts/alerts.ts';
import type { AlertCode } from '../../../product/alerts/catalogue.ts';
import type { Context } from '../../../product/context.ts';
import { unfixed } from '../../../product/jobs/listJobs.ts';
import { duration_base, type Period, period_s, readPeriods, summarizeSince } from '../../../product/jobs/queueDepth.ts';
import { lastProblem } from '../../../product/webhooks/endpoints.ts';
import { describeAlert } from '../installation/queries.ts';
import { type Attention, type ClientLoad, type HistoryBin, type Range, type Restore, ranges } from './schema.ts';

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

/** The jobs of the last 24 hours that failed and were not run again. */
export async function countFailedDay(db: Database, client_id: string): Promise<number> {
  const [row] = await db.search<{ jobs: number }>(
    client_id,
    (sql) => sql`
      SELECT count(*)::int AS jobs FROM jobs
       WHERE client_id = ${client_id} AND ${unfixed(sql)} AND created_at >= now() - interval '24 hours'`,
  );
  return row?.jobs ?? 0;
}

/** Only the newest are read, so that a week of failures does not slow down the overview. */
const failed_jobs_max = 10_000;
/** Older failures are no longer worth acting on; the jobs page still lists them. */
const failure_days = 7;

/** Failed jobs that were not run again, by failure code, most frequent first. */
export function listFailureGroups(db: Database, client_id: string): Promise<Attention['failures']> {
  return db.search<Attention['failures'][number]>(
    client_id,
    (sql) => sql`
      SELECT found.code, found.jobs, json_build_object('job_id', job.id, 'type', job.type, 'org_id', organization.org_id,
             'finished_at', iso(job.finished_at)) AS example
        FROM (SELECT code, count(*)::int AS jobs, max(id) AS newest
                FROM (SELECT id, coalesce(error ->> 'code', 'internal') AS code FROM jobs
                       WHERE client_id = ${client_id} AND ${unfixed(sql)}
                         AND created_at >= now() - make_interval(days => ${failure_days})
                       ORDER BY created_at DESC, id DESC LIMIT ${failed_jobs_max}::integer) AS failed
               GROUP BY code) AS found
        JOIN jobs AS job ON job.id = found.newest
        JOIN organizations AS organization ON organization.id = job.organization_id
       ORDER BY found.jobs DESC, found.code`,
  );
}

/** A client's accounts that must be re-linked, and why. */
export function listLoginRequired(db: Database, client_id: string): Promise<Attention['accounts']> {
  return db.search<Attention['accounts'][number]>(
    client_id,
    (sql) => sql`SELECT accounts.id, user_id, org_id, status_reason AS reason
      FROM accounts JOIN organizations ON organizations.id = organization_id
     WHERE status = 'login_required' ORDER BY org_id, user_id`,
  );
}

/**
 * A client's failing endpoints, since when, and why: the error of the last attempt at the next due delivery, or the
 * reason for disabling it.
 */
export function listFailing(db: Database, client_id: string): Promise<Attention['endpoints']> {
  return db.search<Attention['endpoints'][number]>(
    client_id,
    (sql) => sql`
      SELECT id, url, status, iso(failing_since) AS since, coalesce(disabled_reason, ${lastProblem(sql)},
             'Deliveries are failing.') AS reason
        FROM webhook_endpoints AS endpoint
       WHERE failing_since IS NOT NULL ORDER BY failing_since, id`,
  );
}

/** The jobs page lists the rest. */
const reviews_shown = 10;

/** The newest jobs that have to be checked in the EMR. */
export function listOpenReviews(db: Database, client_id: string): Promise<Attention['reviews']> {
  return db.search<Attention['reviews'][number]>(
    client_id,
    (sql) => sql`SELECT id AS job_id, type, iso(finished_at) AS finished_at FROM jobs
      WHERE state = 'needs_review' AND review_outcome IS NULL ORDER BY id DESC LIMIT ${reviews_shown}`,
  );
}

/** Alerts about accounts, endpoints and reviews, which the overview lists with details and actions. */
const listed_otherwise: readonly AlertCode[] = ['account_login_required', 'endpoint_failing', 'jobs_need_review'];

/** The other open alerts of a client and of the installation. */
export async function listOtherAlerts(db: Database, client_id: string): Promise<Attention['alerts']> {
  const alerts = await listOpenAlerts(db.system, client_id);
  return alerts.filter(({ code }) => !listed_otherwise.includes(code)).map(describeAlert);
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
