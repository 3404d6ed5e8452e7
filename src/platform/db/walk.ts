import type { Fragment, Query } from './database.ts';
import { limitTo } from './fragments.ts';

/** What a list is read from by cursor, in the order of ids. */
export type WalkedRows = {
  table: string;
  /** The condition about the rows of the list, whether they match its filters or not: an index has its columns and `id`. */
  within: Fragment;
  /** The filters, about the columns of `listed`. */
  conditions: readonly Fragment[];
  /** Selects the ids of all rows that match, if an index knows them better than the filters do. */
  matches?: Fragment | undefined;
  /** The id of the last row of the previous page. */
  after: Fragment;
  page_size: number;
};

/** Before all ids: where a walk starts. */
export const first_id = '00000000000000000000000000000000';

/**
 * The ids of the next page, and one more if another page follows. Rows that match a filter are spread over all ids: few
 * are found by the index of the filter and sorted, many by walking the ids and comparing each row. The planner cannot know
 * which of the two a value needs. 5,000 take some 5 ms to find and sort; with more of them among a million rows, 100 are
 * among 20,000.
 */
export function walkIds(sql: Query, { table, within, conditions, matches, after, page_size }: WalkedRows): Fragment {
  const limit = limitTo(sql, page_size + 1);
  const walked = sql`SELECT id FROM ${sql(table)} AS listed WHERE ${within} AND id > ${after} ORDER BY id`;
  if (conditions.length === 0) return sql`${walked} ${limit}`;
  const filter = conditions.reduce((all, each) => sql`${all} AND ${each}`);
  const matched = matches ?? sql`SELECT id FROM ${sql(table)} AS listed WHERE ${within} AND ${filter}`;
  // OFFSET 0 keeps the filter away from the ids: with it, the planner would read all matches by their index and sort them.
  return sql`
    WITH matches AS MATERIALIZED (SELECT id FROM (${matched}) AS matched (id) LIMIT 5001),
      size AS MATERIALIZED (SELECT count(*) <= 5000 AS few FROM matches)
    SELECT id FROM (
      (SELECT DISTINCT id FROM matches WHERE (SELECT few FROM size) AND id > ${after})
      UNION ALL (
        SELECT walked.id FROM (${walked} OFFSET 0) AS walked
         CROSS JOIN LATERAL (SELECT * FROM ${sql(table)} WHERE id = walked.id OFFSET 0) AS listed
         WHERE NOT (SELECT few FROM size) AND ${filter} ORDER BY walked.id ${limit})) AS either
     ORDER BY id ${limit}`;
}
