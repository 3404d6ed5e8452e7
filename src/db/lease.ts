import type { Sql } from './database.ts';

/**
 * Rows that are work, and the column by which they take turns: an account's lanes, an endpoint's deliveries.
 * Each such table has id, client_id, ready_at (null: nothing to do), locked_until, owner and fence.
 */
const leased = {
  lanes: { group: 'account_id', parallel_max: 'parallel_max' },
  // Four at once to one receiver: enough for a burst, too few to let one that hangs hold a worker's every slot.
  deliveries: { group: 'endpoint_id', parallel_max: '4' },
} as const;
export type LeasedTable = keyof typeof leased;

/** A row that this process holds until its lease ends. Whoever claims it next gets a higher fence. */
export type Lease = { id: string; client_id: string; fence: number };

/** Thrown where a commit was refused because the row has a new holder: this process's result must not count. */
export class LeaseLost extends Error {
  constructor() {
    super('The lease of this work has ended; another worker holds it now.');
    this.name = 'LeaseLost';
  }
}

/** One claim at a time in the whole installation, so that a group's parallel_max holds across processes (~1 ms each). */
const claim_lock = { lanes: 7_240_002, deliveries: 7_240_003 } as const;

/**
 * Claims up to `count` ready rows. Groups take turns: a row's rank is its place in its own group plus what that group
 * has running, so one waiting row of a quiet account comes before the second of a busy one. The distinct groups are
 * found by jumping through the index, not by reading the rows: ten thousand waiting lanes of one account cost one jump.
 */
export async function claimLeases(
  system: Sql,
  table: LeasedTable,
  claim: { owner: string; count: number; lease_ms: number },
): Promise<Lease[]> {
  const { group, parallel_max } = leased[table];
  return system.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(${claim_lock[table]})`;
    const rows = await tx.unsafe(
      `WITH RECURSIVE turns AS (
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
             SELECT id, ready_at, ${parallel_max} AS parallel_max FROM ${table}
              WHERE ${group} = turns.member AND ready_at <= clock_timestamp()
                AND (locked_until IS NULL OR locked_until <= clock_timestamp())
              ORDER BY ready_at LIMIT $1
           ) AS waiting
       ), chosen AS (
         SELECT row.id FROM ${table} AS row JOIN ranked USING (id)
          WHERE ranked.rank <= ranked.parallel_max
          ORDER BY ranked.rank, ranked.ready_at LIMIT $1
          FOR UPDATE OF row SKIP LOCKED
       )
       UPDATE ${table} AS row
          SET locked_until = clock_timestamp() + $2::float8 * interval '1 millisecond', owner = $3, fence = row.fence + 1
         FROM chosen WHERE row.id = chosen.id
       RETURNING row.id, row.client_id, row.fence`,
      [claim.count, claim.lease_ms, claim.owner],
    );
    return rows as unknown as Lease[];
  }) as Promise<Lease[]>;
}

/** A sign of life: keeps the leases that are still ours, and says which those are. */
export async function extendLeases(
  system: Sql,
  table: LeasedTable,
  leases: Lease[],
  lease_ms: number,
): Promise<Set<string>> {
  const rows = await system.unsafe(
    // Locked in the order of their ids, as everyone locks several rows, so that no two wait for each other. One that was
    // given back while this beat was on its way keeps its fence: extending it would lock work that nobody holds.
    `WITH held AS (
       SELECT row.id FROM ${table} AS row JOIN unnest($2::uuid[], $3::bigint[]) AS lease (id, fence)
           ON row.id = lease.id AND row.fence = lease.fence AND row.locked_until IS NOT NULL
        ORDER BY row.id FOR UPDATE OF row
     )
     UPDATE ${table} AS row SET locked_until = clock_timestamp() + $1::float8 * interval '1 millisecond'
       FROM held WHERE row.id = held.id
     RETURNING row.id`,
    [lease_ms, leases.map((lease) => lease.id), leases.map((lease) => lease.fence)],
  );
  return new Set(rows.map((row) => String(row.id)));
}
