import type { Fragment, Query, Sql } from './database.ts';

/**
 * Tables whose rows are work, and the column by which rows take turns: an account's lanes, an endpoint's deliveries.
 * Each such table has id, client_id, ready_at (null: nothing to do), locked_until, owner and fence.
 */
const leased: Record<LeasedTable, { group: string; parallel_max: (sql: Query) => Fragment }> = {
  lanes: { group: 'account_id', parallel_max: (sql) => sql`parallel_max` },
  // Four at once to one receiver: enough for a burst, too few for one that hangs to occupy every slot of a worker.
  deliveries: { group: 'endpoint_id', parallel_max: (sql) => sql`4` },
};
export type LeasedTable = 'lanes' | 'deliveries';

/** A row that this process owns until its lease ends. The next owner gets a higher fence. */
export type Lease = { id: string; client_id: string; fence: number };

/** Thrown when a commit is refused because the row has a new owner: this process's result must not count. */
export class LeaseLost extends Error {
  constructor() {
    super('The lease has ended; another worker owns this work now.');
    this.name = 'LeaseLost';
  }
}

/** One claim at a time in the whole installation, so that parallel_max applies across processes (about 1 ms each). */
const claim_lock = { lanes: 7_240_002, deliveries: 7_240_003 } as const;

/**
 * Claims up to `count` ready rows. Groups take turns: a row's rank is its place in its own group plus the number of rows
 * the group has running, so that one waiting row of a quiet account comes before the second of a busy one. The distinct
 * groups are found by jumping through the index: ten thousand waiting lanes of one account cost one jump.
 */
export async function claimLeases(
  system: Sql,
  name: LeasedTable,
  claim: { owner: string; count: number; lease_ms: number },
): Promise<Lease[]> {
  return system.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(${claim_lock[name]})`;
    const table = tx(name);
    const group = tx(leased[name].group);
    return tx<Lease[]>`
      WITH RECURSIVE turns AS (
        (SELECT ${group} AS member FROM ${table} WHERE ready_at IS NOT NULL ORDER BY ${group} LIMIT 1)
        UNION ALL
        SELECT (SELECT ${group} FROM ${table} WHERE ready_at IS NOT NULL AND ${group} > turns.member
                ORDER BY ${group} LIMIT 1)
          FROM turns WHERE turns.member IS NOT NULL
      ), busy AS (
        SELECT ${group} AS member, count(*) AS n FROM ${table} WHERE locked_until > clock_timestamp() GROUP BY 1
      ), ranked AS (
        SELECT waiting.id, waiting.ready_at, waiting.parallel_max,
               coalesce(busy.n, 0) + row_number() OVER (PARTITION BY turns.member ORDER BY waiting.ready_at) AS rank
          FROM turns LEFT JOIN busy USING (member)
          CROSS JOIN LATERAL (
            SELECT id, ready_at, ${leased[name].parallel_max(tx)} AS parallel_max FROM ${table}
             WHERE ${group} = turns.member AND ready_at <= clock_timestamp()
               AND (locked_until IS NULL OR locked_until <= clock_timestamp())
             ORDER BY ready_at LIMIT ${claim.count}
          ) AS waiting
      ), chosen AS (
        SELECT row.id FROM ${table} AS row JOIN ranked USING (id)
         WHERE ranked.rank <= ranked.parallel_max
         ORDER BY ranked.rank, ranked.ready_at LIMIT ${claim.count}
         FOR UPDATE OF row SKIP LOCKED
      )
      UPDATE ${table} AS row
         SET locked_until = clock_timestamp() + ${claim.lease_ms}::float8 * interval '1 millisecond',
             owner = ${claim.owner}, fence = row.fence + 1
        FROM chosen WHERE row.id = chosen.id
      RETURNING row.id, row.client_id, row.fence`;
  });
}

/** Extends the leases that are still ours and returns their ids. */
export async function extendLeases(
  system: Sql,
  name: LeasedTable,
  leases: Lease[],
  lease_ms: number,
): Promise<Set<string>> {
  const sql = system.pooled;
  const table = sql(name);
  const ids = leases.map((lease) => lease.id);
  const fences = leases.map((lease) => lease.fence);
  // Rows are locked in the order of their ids, as everywhere several are locked, so that no two processes wait for each
  // other. A row given back while this heartbeat was on its way keeps its fence: extending it would lock unowned work.
  const rows = await sql<{ id: string }[]>`
    WITH held AS (
      SELECT row.id FROM ${table} AS row JOIN unnest(${ids}::uuid[], ${fences}::bigint[]) AS lease (id, fence)
          ON row.id = lease.id AND row.fence = lease.fence AND row.locked_until IS NOT NULL
       ORDER BY row.id FOR UPDATE OF row
    )
    UPDATE ${table} AS row SET locked_until = clock_timestamp() + ${lease_ms}::float8 * interval '1 millisecond'
      FROM held WHERE row.id = held.id
    RETURNING row.id`;
  return new Set(rows.map((row) => row.id));
}
