import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import type { Job } from './jobs.ts';
import { isRetrying } from './listJobs.ts';

/** Records that the EMR of a job's account did not respond, or not usefully. Every failed attempt in a row counts. */
export async function recordOutage(tx: Tx, { client_id, account_id }: Job): Promise<void> {
  await tx`INSERT INTO emr_outages (account_id, client_id) VALUES (${account_id}, ${client_id})
    ON CONFLICT (account_id) DO UPDATE SET last_failure_at = now()`;
}

/** Ends the outage of an account's EMR, which has responded to an attempt that started during it. */
export async function endOutage(tx: Tx, { account_id }: Job): Promise<void> {
  await tx`DELETE FROM emr_outages WHERE account_id = ${account_id}`;
}

/** More series than this would not help anyone. */
const accounts_max = 100;

/** The accounts of all clients whose EMR does not respond, longest first. */
export function listSilentAccounts({ system }: Pick<Database, 'system'>) {
  return system.pooled<{ emr: string; account: string; seconds: number }[]>`
    SELECT organizations.connector AS emr, accounts.reference_id AS account,
           extract(epoch FROM now() - outage.since)::float8 AS seconds
      FROM emr_outages AS outage JOIN accounts ON accounts.id = outage.account_id
           JOIN organizations ON organizations.id = accounts.organization_id
     WHERE accounts.status = 'active' AND outage.last_failure_at > outage.since
     ORDER BY outage.since, accounts.id LIMIT ${accounts_max}`;
}

/** Since when the EMR of an account has not responded; null if it responds. */
export async function findOutage(tx: Tx, account_id: string): Promise<string | null> {
  const [row] = await tx<{ since: string }[]>`
    SELECT iso(since) AS since FROM emr_outages AS outage WHERE account_id = ${account_id} AND ${isNoticed(tx)}`;
  return row?.since ?? null;
}

/** The EMR of a practice that fails now. */
export type Outage = {
  organization_id: string;
  org_id: string;
  /** The name of its connector. */
  emr: string;
  emr_address: string;
  /** False: it responds to others, but fails for the jobs that are retried. */
  silent: boolean;
  since: string;
  /** Unfinished jobs with a failed attempt, and all unfinished jobs that do not wait for re-linking. */
  retrying: number;
  waiting: number;
  /** Why the latest attempt failed, in the EMR's words, and which job shows more. */
  code: string | null;
  reason: string | null;
  job_id: number | null;
};

/** A restart of an EMR, and a single failure, are no outage yet. By then a job is at its fourth attempt. */
const noticed_s = 10;
/** Jobs that wait for something else than the EMR have alerts of their own. */
const other_codes = ['scanner_unavailable'];

/** The EMRs of a client's practices that fail now, longest first: each until it responds. */
export function listOutages(db: Database, client_id: string): Promise<Outage[]> {
  return db.search<Outage>(
    client_id,
    (sql) => sql`
      WITH silent AS (
        SELECT accounts.organization_id, min(outage.since) AS since
          FROM emr_outages AS outage JOIN accounts ON accounts.id = outage.account_id
         WHERE accounts.status = 'active' AND ${isNoticed(sql)}
         GROUP BY accounts.organization_id
      ), failing AS (
        SELECT organization_id, count(*)::int AS jobs, min(retry_since) AS since, max(id) AS newest
          FROM jobs
         WHERE client_id = ${client_id} AND ${isRetrying(sql)}
           AND coalesce(error ->> 'code', '') <> ALL (${other_codes}::text[])
         GROUP BY organization_id
      )
      SELECT replace(organization.id::text, '-', '') AS organization_id, org_id, connector AS emr, emr_address,
             silent.since IS NOT NULL AS silent, iso(least(silent.since, failing.since)) AS since,
             coalesce(failing.jobs, 0) AS retrying, (SELECT count(*)::int FROM jobs
               WHERE organization_id = organization.id AND state IN ('queued', 'running') AND NOT parked) AS waiting,
             newest.error ->> 'code' AS code, newest.error ->> 'message' AS reason, newest.id AS job_id
        FROM silent FULL JOIN failing USING (organization_id)
        JOIN organizations AS organization ON organization.id = organization_id
        LEFT JOIN jobs AS newest ON newest.id = failing.newest
       WHERE silent.since IS NOT NULL OR failing.since <= now() - make_interval(secs => ${noticed_s})
       ORDER BY least(silent.since, failing.since), org_id`,
  );
}

function isNoticed(sql: Query): Fragment {
  return sql`outage.last_failure_at >= outage.since + make_interval(secs => ${noticed_s})`;
}
