import { lookUpFailure } from '../../../catalog/failures.ts';
import type { Database, Fragment, Query } from '../../../platform/db/database.ts';
import { listOpenAlerts } from '../../../product/alerts/alerts.ts';
import type { AlertCode } from '../../../product/alerts/catalogue.ts';
import { laterRuns, reasonKey, unfixed } from '../../../product/jobs/listJobs.ts';
import { listStalledSyncs } from '../../../product/records/stalledSyncs.ts';
import { lastProblem } from '../../../product/webhooks/endpoints.ts';
import { writes } from '../../../product/writes/writes.ts';
import { describeAlert } from '../installation/queries.ts';
import type { Attention } from './schema.ts';

/** Only the newest are read, so that a week of failures does not slow down the overview. */
const failed_jobs_max = 10_000;
/** The requests of so many jobs per group are read: as many as can be run again at once. */
const compared_max = 1_000;
/** Older failures are no longer worth acting on; the jobs page still lists them. */
const failure_days = 7;

/**
 * Failed jobs that were not run again, by failure code and reason, most frequent first, with what they have in common.
 * Failed syncs are listed apart.
 */
export async function listFailureGroups(db: Database, client_id: string): Promise<Attention['failures']> {
  const groups = await db.search<Attention['failures'][number]>(
    client_id,
    (sql) => sql`
      WITH failed AS MATERIALIZED (${selectFailed(sql, client_id)}),
      ranked AS (SELECT *, row_number() OVER (PARTITION BY code, reason ORDER BY id DESC) AS n FROM failed),
      shared AS (
        SELECT code, reason, count(DISTINCT operation.patient_mrn)::int AS patients,
               count(operation.patient_mrn) = count(*) AS names_patients,
               CASE WHEN count(provider.ehr_id) = count(*) AND count(DISTINCT provider.ehr_id) = 1
                 THEN min(provider.doc ->> 'name') END AS provider,
               count(*) FILTER (WHERE ${canSucceed(sql)})::int AS can_run,
               count(*) FILTER (WHERE account.status = 'login_required' AND ${isRepeatable(sql)})::int AS after_relink
          FROM ranked AS job JOIN operations AS operation ON operation.id = job.operation_id
          JOIN accounts AS account ON account.id = job.account_id
          LEFT JOIN providers AS provider ON provider.organization_id = job.organization_id
            AND provider.ehr_id = coalesce(operation.input ->> 'provider_id', operation.input ->> 'provider')
         WHERE n <= ${compared_max} GROUP BY code, reason
      )
      SELECT code, reason, jobs, types, org_ids, accounts, first_at, last_at,
             CASE WHEN shared.names_patients THEN shared.patients END AS patients, shared.provider, shared.can_run,
             shared.after_relink,
             json_build_object('job_id', job.id, 'type', job.type, 'state', job.state, 'org_id', organization.org_id,
               'finished_at', iso(job.finished_at)) AS example
        FROM (SELECT code, reason, count(*)::int AS jobs, max(id) AS newest, array_agg(DISTINCT type) AS types,
                     array_agg(DISTINCT organization_id) AS organization_ids,
                     count(DISTINCT account_id)::int AS accounts,
                     iso(min(finished_at)) AS first_at, iso(max(finished_at)) AS last_at
                FROM failed GROUP BY code, reason) AS found
        JOIN shared USING (code, reason)
        JOIN jobs AS job ON job.id = found.newest
        JOIN organizations AS organization ON organization.id = job.organization_id
        CROSS JOIN LATERAL (SELECT array_agg(org_id ORDER BY org_id) AS org_ids FROM organizations
                             WHERE organizations.id = ANY (found.organization_ids)) AS practices
       ORDER BY found.jobs DESC, found.newest DESC`,
  );
  return groups.map((group) => (mayHelp(group.code) ? group : { ...group, can_run: 0, after_relink: 0 }));
}

/** The jobs of a group that can succeed if they are run again, in the order in which they were accepted. */
export async function listRepeatable(
  db: Database,
  client_id: string,
  { code, reason }: { code: string; reason: string },
): Promise<number[]> {
  if (!mayHelp(code)) return [];
  const rows = await db.search<{ id: number }>(
    client_id,
    (sql) => sql`
      SELECT job.id FROM (${selectFailed(sql, client_id)}) AS job
        JOIN operations AS operation ON operation.id = job.operation_id
        JOIN accounts AS account ON account.id = job.account_id
       WHERE code = ${code} AND reason = ${reason} AND ${canSucceed(sql)}
       ORDER BY job.id DESC LIMIT ${compared_max}::integer`,
  );
  return rows.map(({ id }) => id).reverse();
}

function selectFailed(sql: Query, client_id: string): Fragment {
  return sql`SELECT id, type, client_id, organization_id, account_id, operation_id, lane, finished_at,
       coalesce(error ->> 'code', 'internal') AS code, ${reasonKey(sql)} AS reason
  FROM jobs WHERE client_id = ${client_id} AND ${unfixed(sql)} AND type <> 'sync'
   AND created_at >= now() - make_interval(days => ${failure_days})
 ORDER BY created_at DESC, id DESC LIMIT ${failed_jobs_max}::integer`;
}

/** Another run sends the same values, so the cause must be something else. */
function mayHelp(code: string): boolean {
  return (lookUpFailure(code)?.send_again ?? 'unchanged') === 'unchanged';
}

// A file is deleted when its job ends, and a change that a later one overwrites would undo that one.
const types_with_files = writes
  .filter(({ file_field, embedded_files }) => file_field !== undefined || embedded_files !== undefined)
  .map(({ type }) => type);
const overwriting_types = writes.filter(({ overwrites }) => overwrites).map(({ type }) => type);

/** Whether another run of `job` is possible and safe; `findRerunBlocker` decides when it is requested. */
function canSucceed(sql: Query): Fragment {
  return sql`account.status = 'active' AND ${isRepeatable(sql)}`;
}

/** The same, whatever the state of its account. */
function isRepeatable(sql: Query): Fragment {
  return sql`operation.input_deleted_at IS NULL
    -- One that was canceled can be run again itself.
    AND NOT EXISTS (SELECT FROM operations AS copy WHERE copy.edited_from_job_id = job.id)
    AND (job.type <> ALL (${types_with_files}::text[])
         OR EXISTS (SELECT FROM uploads WHERE uploads.operation_id = job.operation_id))
    -- For many jobs whose patient has no MRN, finding later changes takes too long.
    AND (job.type <> ALL (${overwriting_types}::text[])
         OR (operation.patient_mrn IS NOT NULL AND NOT EXISTS (${laterRuns(sql)})))`;
}

/** A client's accounts that must be re-linked, why, and how many jobs wait for it. */
export function listLoginRequired(db: Database, client_id: string): Promise<Attention['accounts']> {
  return db.search<Attention['accounts'][number]>(
    client_id,
    (sql) => sql`SELECT accounts.id, user_id, org_id, status_reason AS reason,
             (SELECT count(*)::int FROM jobs WHERE jobs.account_id = accounts.id AND jobs.parked) AS parked
        FROM accounts JOIN organizations ON organizations.id = organization_id
       WHERE status = 'login_required' ORDER BY org_id, user_id`,
  );
}

/**
 * A client's failing endpoints, since when, and why: the error of the last attempt at the next due delivery, or the
 * reason for disabling it. `pending`: events that wait for it.
 */
export function listFailing(db: Database, client_id: string): Promise<Attention['endpoints']> {
  return db.search<Attention['endpoints'][number]>(
    client_id,
    (sql) => sql`
      SELECT id, url, status, iso(failing_since) AS since, coalesce(disabled_reason, ${lastProblem(sql)},
             'Deliveries are failing.') AS reason,
             (SELECT count(*)::int FROM deliveries WHERE endpoint_id = endpoint.id AND ready_at IS NOT NULL) AS pending
        FROM webhook_endpoints AS endpoint
       WHERE failing_since IS NOT NULL ORDER BY failing_since, id`,
  );
}

/** Practices whose records are no longer kept up to date. */
export async function listSyncProblems(db: Database, client_id: string): Promise<Attention['syncs']> {
  const stalled = await listStalledSyncs(db, client_id);
  return stalled.map(({ organization_id: _internal, ...sync }) => sync);
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

/** Alerts about EMRs, accounts, links, endpoints, syncs and reviews, which the overview lists with details and actions. */
const listed_otherwise: readonly AlertCode[] = [
  'emr_unreachable',
  'account_login_required',
  'link_failing',
  'endpoint_failing',
  'sync_failing',
  'jobs_need_review',
];

/** The other open alerts of a client and of the installation. */
export async function listOtherAlerts(db: Database, client_id: string): Promise<Attention['alerts']> {
  const alerts = await listOpenAlerts(db.system, client_id);
  return alerts.filter(({ code }) => !listed_otherwise.includes(code)).map(describeAlert);
}
