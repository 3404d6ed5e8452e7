import type { RecordKind, WithheldFields } from '../../model/records/recordKind.ts';
import { unseen } from '../../platform/db/database.ts';
import { first_id, walkIds } from '../../platform/db/walk.ts';
import { formatCursor, readPosition } from '../../platform/security/cursors.ts';
import type { Context } from '../context.ts';
import {
  buildFilters,
  checkDays,
  type Filters,
  isFirstSyncPending,
  listActiveFilters,
  matching,
  type RecordsJson,
  type Scope,
  unseenScope,
} from './readRecords.ts';

/** A page of a list by cursor. An empty cursor starts a walk. */
export type Walk = {
  filters?: Filters;
  cursor: string;
  page_size?: number | undefined;
  /** Return the records without the fields that the list withholds. */
  withheld?: WithheldFields | undefined;
};

type PageRow = { docs: string; mrns: string[]; next: string | null; pending: boolean };

/**
 * A page of a kind in the order of ids. An id does not change, so a walk shows every record that existed and matched
 * during the whole walk, whatever happens to others.
 */
export async function walkRecords(
  ctx: { db: Pick<Context['db'], 'read'>; system_keys: Pick<Context['system_keys'], 'key'> },
  scope: Scope,
  kind: RecordKind,
  { filters = {}, cursor, page_size = 100, withheld }: Walk,
): Promise<RecordsJson> {
  checkDays(filters);
  const place = ['list', kind.name, scope.organization_id, Object.fromEntries(chosenValues(kind, filters))] as const;
  const after = readPosition(ctx.system_keys, place, cursor) ?? first_id;
  const { mrn_column } = kind;
  const [row] = await ctx.db.read<PageRow>(scope.client_id, (sql) => {
    const within = unseenScope(sql, scope);
    const { conditions, ids, named } = buildFilters(sql, within, kind, filters);
    const size = unseen(sql, page_size, 'int');
    const page = walkIds(sql, {
      table: kind.name,
      within: matching(sql, within, []),
      conditions,
      matches:
        ids ??
        (named &&
          sql`SELECT id FROM ${sql(kind.name)} AS listed
        WHERE ${matching(sql, within, [...conditions, named])}`),
      after: unseen(sql, after, 'uuid'),
      page_size,
    });
    const shown = sql`FILTER (WHERE n <= ${size})`;
    return sql`
      SELECT coalesce(json_agg(doc ORDER BY n) ${shown}, '[]')::text AS docs,
             coalesce(json_agg(mrn) FILTER (WHERE n <= ${size} AND mrn IS NOT NULL), '[]') AS mrns,
             CASE WHEN count(*) > ${size} THEN (array_agg(id ORDER BY n))[${size}] END AS next,
             ${isFirstSyncPending(sql, within.organization_id, kind.name)} AS pending
        FROM (SELECT page.id, row_number() OVER (ORDER BY page.id) AS n, wide.doc, wide.mrn FROM (${page}) AS page
               CROSS JOIN LATERAL (SELECT ${withheld ? sql`coalesce(${sql(withheld.column)}, doc)` : sql`doc`} AS doc,
                 ${mrn_column ? sql`${sql(mrn_column)}` : sql`NULL`} AS mrn
                 FROM ${sql(kind.name)} WHERE id = page.id OFFSET 0) AS wide) AS numbered`;
  });
  if (!row) throw new Error('A page query returned no row.');
  const next_cursor = row.next && formatCursor(ctx.system_keys, place, row.next);
  const pending = row.pending ? ',"sync":{"state":"pending"}' : '';
  const body = `{"success":true,"${kind.name}":${row.docs},"pagination":${JSON.stringify({ page_size, next_cursor })}${pending}}`;
  return { body, mrns: row.mrns };
}

function chosenValues(kind: RecordKind, filters: Filters): [string, unknown][] {
  const matching_all = new Set(Object.keys(kind.filters));
  for (const [name] of listActiveFilters(kind, filters)) matching_all.delete(name);
  return Object.entries(filters).filter(([name]) => !matching_all.has(name));
}
