import type { Sql } from './database.ts';

/**
 * Tables whose rows are work: the lanes of jobs, the deliveries of events. Each has id, client_id, ready_at (null:
 * nothing to do), locked_until, owner and fence, and a function in the database that claims its rows fairly.
 */
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

/**
 * Claims up to `count` ready rows: clients take turns, then the accounts or endpoints of each. A client whose work hangs
 * never gets more slots than it leaves free. See `claim_lanes` in 0011_jobs.sql.
 */
export async function claimLeases(
  system: Sql,
  name: LeasedTable,
  claim: { owner: string; count: number; lease_ms: number },
): Promise<Lease[]> {
  return (await claimSince(system, name, claim, undefined)).leases;
}

/**
 * A full scan for ready rows runs at most this often, and takes at most a twentieth of the time, but also after a slow one
 * within seconds: it finds expired leases, and may have been slow because the database did not respond.
 */
const full_scan = { every_ms: 1_000, share: 1 / 20, every_ms_max: 5_000 };

/** Like `claimLeases`, for a worker that claims again and again: most claims skip the rows that are known to be done. */
export function createClaimer(
  system: Sql,
  name: LeasedTable,
  worker: { owner: string; lease_ms: number },
): (count: number) => Promise<Lease[]> {
  let since: Date | undefined;
  let next_scan_ms = 0;
  return async (count) => {
    const started_ms = performance.now();
    const scan = started_ms >= next_scan_ms;
    const { leases, oldest } = await claimSince(system, name, { ...worker, count }, scan ? undefined : since);
    since = oldest;
    if (scan) {
      const duration_ms = performance.now() - started_ms;
      const pause_ms = Math.max(full_scan.every_ms, duration_ms / full_scan.share);
      next_scan_ms = started_ms + duration_ms + Math.min(pause_ms, full_scan.every_ms_max);
    }
    return leases;
  };
}

/** `since`: rows that became ready earlier are skipped. `oldest` is the value for the next claim. */
async function claimSince(
  system: Sql,
  name: LeasedTable,
  { owner, count, lease_ms }: { owner: string; count: number; lease_ms: number },
  since: Date | undefined,
): Promise<{ leases: Lease[]; oldest: Date | undefined }> {
  const sql = system.pooled;
  const rows = await sql<(Lease | { id: null; oldest: Date })[]>`
    SELECT id, client_id, fence, oldest FROM ${sql(`claim_${name}`)}(${owner}, ${count},
      ${lease_ms}::float8 * interval '1 millisecond', coalesce(${since ?? null}::timestamptz, '-infinity'))`;
  const leases = rows.flatMap((row) =>
    row.id === null ? [] : [{ id: row.id, client_id: row.client_id, fence: row.fence }],
  );
  const last = rows.find((row) => row.id === null);
  return { leases, oldest: last?.id === null ? last.oldest : undefined };
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
  // Rows are locked in id order, like in all code that locks several, so that no two processes deadlock. A row given
  // back while this heartbeat was on its way keeps its fence: extending it would lock unowned work.
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

/** How much further in the future than expected a time may lie: a lease setting that was changed, a clock that drifts. */
export const clock_tolerance_ms = 60_000;

/**
 * Shortens leases that end later than any lease can. They were set by a database server whose clock was ahead, and would
 * block the work of a process that no longer runs until then. Returns how many. A process that still runs keeps its
 * lease: its heartbeat extends it.
 */
export async function boundLeases(system: Sql, name: LeasedTable, lease_ms: number): Promise<number> {
  const sql = system.pooled;
  const table = sql(name);
  const bounded = await sql`
    UPDATE ${table} SET locked_until = clock_timestamp() + ${lease_ms}::float8 * interval '1 millisecond'
     WHERE id IN (SELECT id FROM ${table}
                   WHERE locked_until > clock_timestamp()
                     + ${lease_ms + clock_tolerance_ms}::float8 * interval '1 millisecond'
                   ORDER BY id FOR UPDATE SKIP LOCKED)`;
  return bounded.count;
}
