import { chart_tables } from './chartTables.ts';
import type { Query, Sql } from './open.ts';
import { practice_tables } from './practiceTables.ts';

/** Never change a released migration; append a new one. */
const migrations: [name: string, statements: string][] = [
  ['0001_baseline', practice_tables + chart_tables],
  ['0002_plan_begins', 'alter table patient_insurances alter plan_begins drop not null'],
  // No query used it, and a long name does not fit into an index entry (2,700 bytes).
  ['0003_long_names', 'drop index patients_by_name'],
  // Tells apart the two passes of the hour that is repeated when clocks go back.
  [
    '0004_utc_offset',
    `alter table appointments add column utc_offset text;
     alter table seeded_appointments add column utc_offset text;`,
  ],
];

/**
 * Applies missing migrations and runs `seed` in one transaction, under a lock: concurrent starts seed only once, and a
 * failed start leaves nothing behind.
 */
export async function migrate(sql: Sql, seed: (sql: Query) => Promise<void>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK_KEY})`;
    await rejectOldDatabase(tx);
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

/** 'lark' in ASCII. */
const LOCK_KEY = 0x6c61726b;

/** Migrations before 0.1.0 were numbered in a table of another name. */
async function rejectOldDatabase(tx: Query): Promise<void> {
  const [old] = await tx`select from pg_tables where schemaname = 'public' and tablename = 'migrations'`;
  if (!old) return;
  throw new Error(
    'The Larkspur database was created by a version before 0.1.0, which cannot be upgraded. Drop it, or use another one.',
  );
}
