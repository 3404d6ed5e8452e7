import type { Database, Query } from '../../platform/db/database.ts';

/** A practice whose records are no longer kept up to date. */
export type StalledSync = {
  organization_id: string;
  org_id: string;
  job_id: number;
  /** False: it is still running. */
  failed: boolean;
  /** The record kind that it reads or could not read. */
  kind: string | null;
  code: string | null;
  reason: string | null;
  /** When it failed, or made its last progress. */
  since: string | null;
  /** When all records were last read. */
  synced_at: string | null;
};

/** A list that is still read after this time has made no progress that anybody waits for. */
const stalled_minutes = 30;

/**
 * Practices whose last sync failed, or whose running one has read nothing for half an hour. Without those that wait for
 * re-linking, or whose EMR does not respond.
 */
export function listStalledSyncs(db: Database, client_id: string): Promise<StalledSync[]> {
  return db.search<StalledSync>(
    client_id,
    (sql) => sql`
      SELECT organization.id AS organization_id, organization.org_id, sync.id AS job_id, sync.state = 'failed' AS failed,
             sync.error ->> 'code' AS code, sync.error ->> 'message' AS reason,
             iso(organization.synced_at) AS synced_at, iso(coalesce(sync.finished_at, progress.at)) AS since,
             (SELECT kind FROM sync_passes AS pass
               WHERE pass.organization_id = organization.id AND pass.run = sync.id AND NOT pass.done
               ORDER BY started_at DESC LIMIT 1) AS kind
        FROM organizations AS organization
        CROSS JOIN LATERAL (
          SELECT * FROM jobs WHERE jobs.organization_id = organization.id AND type = 'sync'
             -- The next attempt does not hide that the last one failed.
             AND NOT (state IN ('queued', 'running') AND created_at > now() - make_interval(mins => ${stalled_minutes}))
           ORDER BY id DESC LIMIT 1) AS sync
        LEFT JOIN LATERAL (SELECT max(step.at) AS at FROM job_steps AS step WHERE step.job_id = sync.id) AS progress ON true
        LEFT JOIN lanes AS lane ON lane.organization_id = organization.id AND lane.key = sync.lane
       WHERE EXISTS (SELECT FROM accounts
                      WHERE accounts.organization_id = organization.id AND accounts.status = 'active')
         AND NOT sync.parked AND sync.retry_since IS NULL
         AND (sync.state = 'failed' OR sync.state IN ('queued', 'running')
              AND progress.at < now() - make_interval(mins => ${stalled_minutes})
              -- One that has sent its requests of this hour continues in the next.
              AND (lane.ready_at IS NULL OR lane.ready_at <= now()))
       ORDER BY organization.org_id`,
  );
}

/** The same for all clients. `system`: the caller's transaction, because waiting for another connection could deadlock. */
export async function listAllStalledSyncs(
  system: Query,
  db: Database,
): Promise<(StalledSync & { client_id: string; public_id: string })[]> {
  // What the system role may read shows which clients must be checked: mostly none.
  const clients = await system<{ client_id: string; public_id: string }[]>`
    SELECT DISTINCT clients.id AS client_id, public_id
      FROM organizations CROSS JOIN LATERAL (
        SELECT state FROM jobs WHERE jobs.organization_id = organizations.id AND type = 'sync'
           AND NOT (state IN ('queued', 'running') AND created_at > now() - make_interval(mins => ${stalled_minutes}))
         ORDER BY id DESC LIMIT 1) AS sync
      JOIN clients ON clients.id = organizations.client_id
     WHERE sync.state IN ('failed', 'queued', 'running') ORDER BY clients.id`;
  const stalled = [];
  for (const client of clients) {
    for (const sync of await listStalledSyncs(db, client.client_id)) stalled.push({ ...sync, ...client });
  }
  return stalled;
}
