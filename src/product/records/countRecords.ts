import {
  type DashboardKind,
  dashboard_kinds,
  type KindRow,
  type LatestSync,
} from '../../model/dashboard/recordKinds.ts';
import type { Database, Fragment } from '../../platform/db/database.ts';
import { isFirstSyncPending } from './firstSync.ts';
import type { Scope } from './readRecords.ts';

/** A kind that none of these syncs has read is not supported by the EMR. */
const syncs_checked = 20;

export type RecordCount = Pick<KindRow, 'kind' | 'total' | 'synced_at' | 'first_sync_pending' | 'refused_in'>;

/** How many records an organization has of each kind on the dashboard, when a sync last read the kind, or why none has. */
export function countRecords(db: Database, { client_id, organization_id }: Scope): Promise<RecordCount[]> {
  return db.search<RecordCount>(client_id, (sql) => {
    const total = ({ name, counted }: DashboardKind): Fragment =>
      counted
        ? sql`(SELECT coalesce(sum(total), 0)::int FROM record_counts
                WHERE organization_id = ${organization_id} AND kind = ${name})`
        : sql`(SELECT count(*)::int FROM ${sql(name)}
                WHERE client_id = ${client_id} AND organization_id = ${organization_id})`;
    const rows = dashboard_kinds.flatMap((kind, n) => [
      n === 0 ? sql`` : sql` UNION ALL `,
      sql`SELECT ${n}::int AS place, ${kind.name}::text AS kind, ${total(kind)} AS total`,
    ]);
    return sql`WITH notes AS (
        SELECT step.name, step.job_id, step.at, step.detail->>'refused' IS NOT NULL AS refused FROM (
          SELECT id FROM jobs WHERE organization_id = ${organization_id} AND type = 'sync'
           ORDER BY id DESC LIMIT ${syncs_checked}) AS sync
        JOIN job_steps AS step ON step.job_id = sync.id AND step.kind = 'note')
      SELECT shown.kind, shown.total,
        (SELECT iso(max(at)) FROM notes WHERE notes.name = shown.kind AND NOT refused) AS synced_at,
        (SELECT CASE WHEN refused THEN job_id END FROM notes WHERE notes.name = shown.kind
          ORDER BY at DESC LIMIT 1) AS refused_in,
        ${isFirstSyncPending(sql, organization_id, sql`shown.kind`)} AS first_sync_pending
      FROM (${rows}) AS shown ORDER BY shown.place`;
  });
}

/** The newest sync of an organization, whether or not it has finished. */
export async function latestSync(db: Database, { client_id, organization_id }: Scope): Promise<LatestSync | null> {
  const [sync = null] = await db.read<LatestSync>(
    client_id,
    (
      sql,
    ) => sql`SELECT id AS job_id, CASE WHEN parked THEN 'parked' ELSE state END AS state, error->>'code' AS error_code,
        iso(coalesce(finished_at, started_at, created_at)) AS at
      FROM jobs WHERE organization_id = ${organization_id} AND type = 'sync' ORDER BY id DESC LIMIT 1`,
  );
  return sync;
}
