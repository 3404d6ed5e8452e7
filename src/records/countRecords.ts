import type { Database, Fragment } from '../db/database.ts';
import { type KindRow, type ShownKind, shown_kinds } from '../model/dashboard/recordKinds.ts';
import type { Scope } from './page.ts';

/** Tables whose totals are kept by triggers; the others are small, or counted over an index. */
const counted: readonly ShownKind[] = ['patients', 'claims', 'insurance_providers', 'referring_providers'];
/** A kind that the last syncs have not brought is one that the EMR does not offer. */
const syncs_looked_at = 20;

/** How many records of each kind an organization has, and when each kind last came in whole. */
export function countRecords(db: Database, { client_id, organization_id }: Scope): Promise<KindRow[]> {
  return db.search<KindRow>(client_id, (sql) => {
    const total = (kind: ShownKind): Fragment =>
      counted.includes(kind)
        ? sql`(SELECT coalesce(sum(total), 0)::int FROM record_counts
                WHERE organization_id = ${organization_id} AND kind = ${kind})`
        : sql`(SELECT count(*)::int FROM ${sql(kind)}
                WHERE client_id = ${client_id} AND organization_id = ${organization_id})`;
    const rows = shown_kinds.flatMap((kind, n) => [
      n === 0 ? sql`` : sql` UNION ALL `,
      sql`SELECT ${n}::int AS place, ${kind}::text AS kind, ${total(kind)} AS total`,
    ]);
    return sql`SELECT shown.kind, shown.total, iso(came.at) AS synced_at FROM (${rows}) AS shown
      LEFT JOIN (
        SELECT step.name, max(step.at) AS at FROM (
          SELECT id FROM jobs WHERE organization_id = ${organization_id} AND type = 'sync'
           ORDER BY id DESC LIMIT ${syncs_looked_at}) AS sync
        JOIN job_steps AS step ON step.job_id = sync.id AND step.kind = 'note' GROUP BY step.name) AS came
      ON came.name = shown.kind ORDER BY shown.place`;
  });
}
