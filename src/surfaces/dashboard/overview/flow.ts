import { firstIdAt } from '../../../catalog/ids.ts';
import type { Database, Fragment, Query } from '../../../platform/db/database.ts';
import { requireConnector } from '../../../product/accounts/connectAccount.ts';
import type { Context } from '../../../product/context.ts';
import type { Outage } from '../../../product/jobs/outages.ts';
import type { Flow } from './schema.ts';

/** As many EMRs and endpoints as fit next to each other without scrolling. */
const shown_max = 6;
/** Above this, the exact number of the last hour does not matter, and counting it would take longer than the rest. */
const counted_max = 10_000;

/**
 * What passes through the service now and in the last hour, from the application to the EMRs and on to the webhooks.
 * Those in trouble come first.
 */
export async function describeFlow(
  ctx: Pick<Context, 'db' | 'connectors'>,
  client_id: string,
  outages: readonly Outage[],
): Promise<Flow> {
  const [requests, writes, emrs, endpoints] = await Promise.all([
    countRequests(ctx.db, client_id),
    countWrites(ctx.db, client_id),
    readEmrs(ctx.db, client_id),
    readEndpoints(ctx.db, client_id),
  ]);
  const practices = emrs
    .map(({ emr, ...practice }) => {
      const outage = outages.find(({ organization_id }) => organization_id === practice.id);
      const failing = outage ? { since: outage.since, silent: outage.silent } : null;
      return { ...practice, emr_name: requireConnector(ctx, emr).display_name, failing };
    })
    .sort((a, b) => rankPractice(b) - rankPractice(a) || b.waiting - a.waiting);
  return {
    requests,
    writes,
    practices: practices.slice(0, shown_max),
    practices_hidden: describeHidden(practices, (each) => rankPractice(each) > 0),
    endpoints: endpoints.slice(0, shown_max),
    endpoints_hidden: describeHidden(endpoints, ({ since }) => since !== null),
  };
}

function rankPractice({ failing, relink }: Pick<Flow['practices'][number], 'failing' | 'relink'>): number {
  return failing ? 2 : relink > 0 ? 1 : 0;
}

function describeHidden<Row>(rows: readonly Row[], inTrouble: (row: Row) => boolean) {
  const hidden = rows.slice(shown_max);
  return { count: hidden.length, troubled: hidden.filter(inTrouble).length };
}

/** Requests to the API in the last hour. */
async function countRequests(db: Database, client_id: string): Promise<Flow['requests']> {
  const [row] = await db.search<Flow['requests']>(
    client_id,
    (sql) => sql`
      SELECT count(*)::int AS total, count(*) FILTER (WHERE status >= 400)::int AS failed, count(*) > ${counted_max} AS more
        FROM (SELECT status FROM requests WHERE client_id = ${client_id} AND id >= ${firstIdAt(hourAgo())}
               ORDER BY id DESC LIMIT ${counted_max + 1}::integer) AS request`,
  );
  return row ?? { total: 0, failed: 0, more: false };
}

/** Writes accepted in the last hour. */
async function countWrites(db: Database, client_id: string): Promise<Flow['writes']> {
  const [row] = await db.search<Flow['writes']>(
    client_id,
    (sql) => sql`
      SELECT count(*)::int AS total, count(*) > ${counted_max} AS more
        FROM (SELECT type FROM jobs WHERE client_id = ${client_id} AND created_at >= ${hourAgo()}
               ORDER BY created_at DESC LIMIT ${counted_max + 1}::integer) AS job WHERE type <> 'sync'`,
  );
  return row ?? { total: 0, more: false };
}

type PracticeRow = Omit<Flow['practices'][number], 'emr_name' | 'failing'> & { emr: string };

/** Practices with linked accounts, and their jobs. */
function readEmrs(db: Database, client_id: string): Promise<PracticeRow[]> {
  return db.search<PracticeRow>(
    client_id,
    (sql) => sql`
      WITH waiting AS (
        SELECT organization_id, count(*) FILTER (WHERE NOT parked AND state = 'queued' AND retry_since IS NULL)::int AS queued,
               count(*) FILTER (WHERE NOT parked AND state = 'running' AND retry_since IS NULL)::int AS running,
               count(*) FILTER (WHERE NOT parked AND retry_since IS NOT NULL)::int AS retrying,
               count(*) FILTER (WHERE parked)::int AS parked,
               iso(min(created_at) FILTER (WHERE NOT parked)) AS oldest_at
          FROM jobs WHERE client_id = ${client_id} AND state IN ('queued', 'running') GROUP BY organization_id
      ), finished AS (${selectFinished(sql, client_id)})
      SELECT replace(organization.id::text, '-', '') AS id, org_id, connector AS emr,
             coalesce(queued + running + retrying, 0) AS waiting, coalesce(running, 0) AS running,
             coalesce(retrying, 0) AS retrying, coalesce(parked, 0) AS parked, oldest_at,
             coalesce(finished.succeeded, 0) AS succeeded, coalesce(finished.failed, 0) AS failed, account.relink
        FROM organizations AS organization LEFT JOIN waiting ON waiting.organization_id = organization.id
        LEFT JOIN finished ON finished.organization_id = organization.id
        CROSS JOIN LATERAL (
          SELECT count(*) FILTER (WHERE status = 'login_required')::int AS relink, count(*) AS linked
            FROM accounts WHERE accounts.organization_id = organization.id AND status <> 'revoked') AS account
       WHERE account.linked > 0 ORDER BY organization.org_id`,
  );
}

/** Jobs of the last hour by practice. */
function selectFinished(sql: Query, client_id: string): Fragment {
  return sql`SELECT organization_id, count(*) FILTER (WHERE state = 'succeeded')::int AS succeeded,
         count(*) FILTER (WHERE state IN ('failed', 'partial', 'needs_review'))::int AS failed
    FROM (SELECT organization_id, state FROM jobs WHERE client_id = ${client_id} AND finished_at >= ${hourAgo()}
           ORDER BY finished_at DESC LIMIT ${counted_max}::integer) AS job GROUP BY organization_id`;
}

/** The webhook endpoints, failing ones first. */
function readEndpoints(db: Database, client_id: string): Promise<Flow['endpoints']> {
  return db.search<Flow['endpoints'][number]>(
    client_id,
    (sql) => sql`
      SELECT id, url, status, paused_at IS NOT NULL AS paused, iso(failing_since) AS since,
             (SELECT count(*)::int FROM deliveries WHERE endpoint_id = endpoint.id AND ready_at IS NOT NULL) AS pending,
             (SELECT count(*)::int FROM (SELECT FROM deliveries WHERE endpoint_id = endpoint.id AND status = 'success'
                 AND finished_at >= ${hourAgo()} ORDER BY finished_at DESC LIMIT ${counted_max}::integer) AS done) AS delivered
        FROM webhook_endpoints AS endpoint ORDER BY failing_since NULLS LAST, created_at, id`,
  );
}

function hourAgo(): Date {
  return new Date(Date.now() - 3_600_000);
}
