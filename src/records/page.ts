import type { Database, Fragment, Query } from '../db/database.ts';

export type Scope = { client_id: string; organization_id: string };
export type Paging = { page?: number; page_size?: number };

/** A list that is read by pages. Its table is counted by triggers, and what it is searched by has an index of its own. */
export type Paged<Filters> = {
  table: 'patients' | 'claims' | 'insurance_providers' | 'referring_providers' | 'appointments' | 'orders';
  /** No trigger counts the table: its total is counted each time. */
  uncounted?: true;
  /** One condition per filter, undefined where it was not asked for (see `when`). */
  conditions: (sql: Query, filters: Filters) => (Fragment | undefined)[];
  order: (sql: Query) => Fragment;
  /** The column that names the patient of a record, where it is about one. */
  mrn?: 'mrn' | 'patient_mrn';
};

/** An answer that PostgreSQL has put into words, and whom it shows. (The driver reads a null in a list as a text.) */
export type Shown = { body: string; mrns: string[] };

/**
 * A page of cached records as the text of the answer: PostgreSQL assembles it, nothing here takes it apart. Ids are
 * found over a narrow index, documents fetched for the page alone. Only the filters that were asked for stand in the
 * statement, so each combination gets the plan of its own index; the client is named although the wall does so too,
 * because the planner, before the tenant is set, takes the wall to let nothing through. Whom the page shows stands
 * beside it, for the audit trail.
 */
export async function readPage<Filters extends object>(
  db: Database,
  scope: Scope,
  list: Paged<Filters>,
  { page = 1, page_size = 100, ...filters }: Filters & Paging,
): Promise<Shown> {
  const rows = await db.read<Shown>(scope.client_id, (sql) => {
    const table = sql(list.table);
    // What is left without the two paging parameters are the filters.
    const asked = list.conditions(sql, filters as unknown as Filters).filter((each) => each !== undefined);
    const matches = asked.reduce(
      (all, each) => sql`${all} AND ${each}`,
      sql`client_id = ${scope.client_id} AND organization_id = ${scope.organization_id}`,
    );
    const total =
      asked.length > 0 || list.uncounted
        ? sql`SELECT count(*) AS n FROM ${table} WHERE ${matches}`
        : sql`SELECT coalesce(sum(total), 0) AS n FROM record_counts
               WHERE organization_id = ${scope.organization_id} AND kind = ${list.table}`;
    return sql`
      SELECT json_build_object('success', true,
        ${list.table}::text, found.docs,
        'pagination', json_build_object('page', ${page}::int, 'current_page', ${page}::int,
          'page_size', ${page_size}::int, 'total_count', total.n,
          'total_pages', ceil(total.n::numeric / ${page_size}::int)))::text AS body, found.mrns
        FROM (${total}) AS total, (
          -- By the primary key one at a time: as a join, without statistics yet, it was planned as 100 scans.
          SELECT coalesce(json_agg((SELECT doc FROM ${table} AS wide WHERE wide.id = narrow.id)), '[]') AS docs,
                 ${list.mrn ? sql`coalesce(array_agg(narrow.mrn) FILTER (WHERE narrow.mrn IS NOT NULL), '{}')` : sql`'{}'::text[]`} AS mrns
            FROM (SELECT id ${list.mrn ? sql`, ${sql(list.mrn)} AS mrn` : sql``} FROM ${table} WHERE ${matches}
                   ORDER BY ${list.order(sql)} LIMIT ${page_size} OFFSET ${(page - 1) * page_size}) AS narrow
        ) AS found`;
  });
  return rows[0] ?? { body: '', mrns: [] };
}

/** The condition of a filter that was asked for. */
export function when<Value>(value: Value | undefined, condition: (value: Value) => Fragment): Fragment | undefined {
  return value === undefined ? undefined : condition(value);
}
