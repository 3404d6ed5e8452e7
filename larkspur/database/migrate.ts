import { migrations } from './migrations.ts';
import type { Query, Sql } from './open.ts';

/**
 * Lays the tables that are missing and runs `lay` (the seed) in the same transaction, under one lock: two starts at the
 * same moment lay one practice, and a start that dies half way leaves nothing.
 */
export async function migrate(sql: Sql, lay: (sql: Query) => Promise<void>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK_KEY})`;
    await tx`create table if not exists migrations (position int primary key, applied_at timestamptz default now())`;
    const [done] = await tx<{ count: number }[]>`select count(*)::int as count from migrations`;
    for (const [position, statements] of migrations.entries()) {
      if (position < (done?.count ?? 0)) continue;
      await tx.unsafe(statements);
      await tx`insert into migrations (position) values (${position})`;
    }
    await lay(tx);
  });
}

/** 'lark' in ASCII; any number would do that no other program on this database uses. */
const LOCK_KEY = 0x6c61726b;
