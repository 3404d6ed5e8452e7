import { chart_tables } from './chartTables.ts';
import type { Query, Sql } from './open.ts';
import { practice_tables } from './practiceTables.ts';

/** A migration that was released never changes: append another one. */
const migrations: [name: string, statements: string][] = [['0001_baseline', practice_tables + chart_tables]];

/**
 * Applies the migrations that are missing and runs `seed`, in one transaction under one lock: two simultaneous starts
 * seed one practice, and a start that fails leaves nothing behind.
 */
export async function migrate(sql: Sql, seed: (sql: Query) => Promise<void>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK_KEY})`;
    await refuseOld(tx);
    await tx`create table if not exists schema_migrations (
      name text primary key, applied_at timestamptz not null default now())`;
    const applied = await tx<{ name: string }[]>`select name from schema_migrations`;
    for (const [name, statements] of migrations) {
      if (applied.some((row) => row.name === name)) continue;
      await tx.unsafe(statements);
      await tx`insert into schema_migrations (name) values (${name})`;
    }
    await seed(tx);
  });
}

/** 'lark' in ASCII; any number that no other program uses on this database. */
const LOCK_KEY = 0x6c61726b;

/** Migrations before 0.1.0 were numbered in a table of another name. */
async function refuseOld(tx: Query): Promise<void> {
  const [old] = await tx`select from pg_tables where schemaname = 'public' and tablename = 'migrations'`;
  if (!old) return;
  throw new Error(
    'The Larkspur database was created by a version before 0.1.0, which cannot be upgraded. Drop it, or use another one.',
  );
}
