import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { StartFailure } from '../../catalog/errors.ts';
import { connect, type DatabaseAddress, type Sql, type Tx } from './database.ts';

/** Remembers tables of an erasure for the next backup. Sorted, so that concurrent erasures do not deadlock. */
export async function addErasedTables(tx: Tx, names: readonly string[]): Promise<void> {
  await tx`INSERT INTO erased_tables (name, erased_at)
    SELECT name, clock_timestamp() FROM unnest(${[...names]}::text[]) AS name ORDER BY name
    ON CONFLICT (name) DO UPDATE SET erased_at = excluded.erased_at`;
}

export type RewriteOptions = {
  /** How long to wait for other sessions in total. The longest statements of the service take 5 minutes. */
  wait_ms?: number;
  /** How long one attempt waits for a table. Requests that need the table wait behind it. */
  lock_ms?: number;
  onProgress?: (done: number, total: number) => void;
};

/**
 * Rewrites the tables that erasures touched since their last rewrite, and the planner's statistics, which contain samples
 * of their values. Afterwards the files of the database contain no byte of what was erased before the call. Throws if
 * another session prevents that for too long. Runs as the owner, who must be a superuser or own the database.
 */
export async function rewriteErasedTables(owner: DatabaseAddress, options: RewriteOptions = {}): Promise<string[]> {
  const { wait_ms = 600_000, lock_ms = 2_000, onProgress = () => {} } = options;
  const sql = connect(owner, { max: 1 });
  try {
    const tables = await sql<{ name: string; erased_at: string }[]>`
      SELECT name, erased_at::text FROM erased_tables ORDER BY name`;
    if (tables.length === 0) return [];
    const deadline = Date.now() + wait_ms;
    await sql.unsafe(`SET lock_timeout = ${lock_ms}`);
    await untilOlderSnapshotsEnd(sql, deadline);
    let done = 0;
    for (const { name } of tables) {
      await rewrite(sql, 'FULL, ANALYZE', name, deadline);
      onProgress(++done, tables.length + statistics.length);
    }
    // The rows of the old statistics were deleted just now, so that even younger snapshots keep them.
    await untilOlderSnapshotsEnd(sql, deadline);
    for (const name of statistics) {
      await rewrite(sql, 'FULL', name, deadline);
      onProgress(++done, tables.length + statistics.length);
    }
    // A table that was touched again meanwhile stays in the list.
    await sql`DELETE FROM erased_tables USING unnest(${tables.map(({ name }) => name)}::text[],
        ${tables.map(({ erased_at }) => erased_at)}::text[]) AS rewritten (name, erased_at)
      WHERE erased_tables.name = rewritten.name AND erased_tables.erased_at = rewritten.erased_at::timestamptz`;
    return tables.map(({ name }) => name);
  } finally {
    await sql.end({ timeout_ms: 5_000 });
  }
}

const statistics = ['pg_statistic', 'pg_statistic_ext_data'];
const poll_ms = 100;

type Blocker = { pid: number | null; name: string; since: string | null };

/**
 * A rewrite keeps rows that a transaction can still see, so all that started before now must have ended. A client that has
 * no database yet is signing in, and reads no rows of tables meanwhile.
 */
async function untilOlderSnapshotsEnd(sql: Sql, deadline: number): Promise<void> {
  const [now] = await sql<{ xid: string }[]>`SELECT pg_current_xact_id()::xid::text AS xid`;
  const xid = now?.xid ?? '';
  for (;;) {
    const [blocker] = await sql<Blocker[]>`
      (SELECT pid, coalesce(nullif(application_name, ''), backend_type) AS name, xact_start::text AS since
        FROM pg_stat_activity
       WHERE pid <> pg_backend_pid()
         AND (datname = current_database() OR (datname IS NULL AND backend_type <> 'client backend'))
         AND greatest(age(backend_xmin), age(backend_xid)) >= age(${xid}::xid)
       ORDER BY datname IS NULL LIMIT 1)
      UNION ALL SELECT NULL, 'prepared transaction ' || gid, prepared::text FROM pg_prepared_xacts
       WHERE database = current_database() AND age(transaction) >= age(${xid}::xid)
      UNION ALL SELECT active_pid, 'replication slot ' || slot_name, NULL FROM pg_replication_slots
       WHERE greatest(age(xmin), age(catalog_xmin)) >= age(${xid}::xid) LIMIT 1`;
    if (!blocker) return;
    if (Date.now() > deadline) throw cannotRewrite('a transaction can still see it', blocker);
    await pause(poll_ms);
  }
}

async function rewrite(sql: Sql, options: string, name: string, deadline: number): Promise<void> {
  for (;;) {
    try {
      await sql.unsafe(`VACUUM (${options}) ${pg.escapeIdentifier(name)}`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== lock_not_available) throw error;
      if (Date.now() > deadline) throw cannotRewrite(`the table ${name} is in use`, await findHolder(sql, name), error);
      await pause(poll_ms);
    }
  }
}

const lock_not_available = '55P03';

async function findHolder(sql: Sql, name: string): Promise<Blocker | undefined> {
  const [holder] = await sql<Blocker[]>`
    SELECT pid, coalesce(nullif(application_name, ''), backend_type) AS name, xact_start::text AS since
      FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE relation = ${name}::regclass AND granted AND pid <> pg_backend_pid() ORDER BY xact_start LIMIT 1`;
  return holder;
}

function cannotRewrite(reason: string, blocker: Blocker | undefined, cause?: unknown): StartFailure {
  const process = blocker?.pid ? `process ${blocker.pid}, ` : '';
  const since = blocker?.since ? `, since ${blocker.since}` : '';
  const by = blocker ? ` (${process}${blocker.name}${since})` : '';
  return new StartFailure(
    `Erased data cannot be removed from the database files because ${reason}${by}. No backup was made. End that session, or try again later.`,
    { cause },
  );
}
