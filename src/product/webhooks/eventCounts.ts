import type { Database, Fragment, Query } from '../../platform/db/database.ts';

/** A page that finds more events than this outside the stored totals renews them. */
export const uncounted_max = 1_000;

/** Events of the last minutes are not part of a total: their transactions may still be in progress. */
const settled_after = '5 minutes';

/** The type of the total of all types. */
const all_types = '';

/** The events of an account of the last `days`. */
type AccountEvents = { client_id: string; account_id: string; days: number };

/** The exact number of events, of one type or all, and how many of those counted here a new total would cover. */
export function eventTotal(
  sql: Query,
  { client_id, account_id, days }: AccountEvents,
  type: string | undefined,
): Fragment {
  // As in the list itself, client_id repeats the tenant policy for the planner.
  const events = sql`FROM events WHERE client_id = ${client_id} AND account_id = ${account_id}
    ${type === undefined ? sql`` : sql`AND type = ${type}`}`;
  const oldest = sql`now() - make_interval(days => ${days})`;
  return sql`
    SELECT coalesce(counted.total, 0) - expired.n + added.n AS n, expired.n + added.settled AS uncounted
      FROM (SELECT) AS one
      LEFT JOIN event_counts AS counted ON counted.account_id = ${account_id} AND counted.type = ${type ?? all_types}
     CROSS JOIN LATERAL (
       SELECT count(*) AS n ${events} AND created_at > counted.counted_from
          AND created_at <= least(counted.counted_to, ${oldest})) AS expired
     CROSS JOIN LATERAL (
       SELECT count(*) AS n, count(*) FILTER (WHERE created_at <= now() - ${settled_after}::interval) AS settled
         ${events} AND created_at > greatest(counted.counted_to, ${oldest})) AS added`;
}

/** Counts the events of an account again. If another process is doing that, or is deleting some, this one does nothing. */
export async function countEvents(db: Database, { client_id, account_id, days }: AccountEvents): Promise<void> {
  await db.tenant(client_id, async (tx) => {
    const [lock] = await tx<{ mine: boolean }[]>`
      SELECT pg_try_advisory_xact_lock(event_counts_lock(${account_id})) AS mine`;
    if (!lock?.mine) return;
    await tx`DELETE FROM event_counts WHERE account_id = ${account_id}`;
    await tx`
      INSERT INTO event_counts (account_id, client_id, type, counted_from, counted_to, total)
      SELECT ${account_id}, ${client_id}, coalesce(type, ${all_types}), period.starts, period.ends, count(*)
        FROM (SELECT now() - make_interval(days => ${days}) AS starts, now() - ${settled_after}::interval AS ends) AS period
        JOIN events ON client_id = ${client_id} AND account_id = ${account_id}
         AND created_at > period.starts AND created_at <= period.ends
       GROUP BY GROUPING SETS ((period.starts, period.ends, type), (period.starts, period.ends))`;
  });
}
