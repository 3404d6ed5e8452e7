import type { Database, Fragment } from '../db/database.ts';
import { type DashboardKind, dashboard_kinds } from '../model/dashboard/recordKinds.ts';
import type { Scope } from './readRecords.ts';

/** A kind that none of these syncs has read is not supported by the EMR. */
const syncs_checked = 20;

export type RecordCount = { kind: DashboardKind['name']; total: number; synced_at: string | null };

/** How many records an organization has of each kind on the dashboard, and when a sync last read the kind. */
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
    return sql`SELECT shown.kind, shown.total, iso(synced.at) AS synced_at FROM (${rows}) AS shown
      LEFT JOIN (
        SELECT step.name, max(step.at) AS at FROM (
          SELECT id FROM jobs WHERE organization_id = ${organization_id} AND type = 'sync'
           ORDER BY id DESC LIMIT ${syncs_checked}) AS sync
        JOIN job_steps AS step ON step.job_id = sync.id AND step.kind = 'note' GROUP BY step.name) AS synced
      ON synced.name = shown.kind ORDER BY shown.place`;
  });
}
