import { billing_tables } from './billingTables.ts';
import { chart_tables } from './chartTables.ts';
import { control_tables } from './controlTables.ts';
import type { Query, Sql } from './open.ts';
import { practice_tables } from './practiceTables.ts';

/** The tables of 0.1.0. */
const first_migration = '0001_practice';

/** Never change a released migration; append a new one. */
const migrations: [name: string, statements: string][] = [
  [first_migration, practice_tables + chart_tables + billing_tables + control_tables],
];

/** The database is of a version that this one cannot continue with. */
export class OutdatedDatabase extends Error {
  readonly code = 'OUTDATED_DATABASE';

  constructor() {
    super('The Larkspur database was created by a version before 0.1.0, which cannot be upgraded.');
    this.name = 'OutdatedDatabase';
  }
}

/**
 * Applies missing migrations and runs `seed` in one transaction, under a lock: concurrent starts seed only once, and a
 * failed start leaves nothing behind.
 */
export async function migrate(sql: Sql, seed: (sql: Query) => Promise<void>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK_KEY})`;
    await tx`create table if not exists schema_migrations (
      name text primary key, applied_at timestamptz not null default now())`;
    const applied = (await tx<{ name: string }[]>`select name from schema_migrations`).map(({ name }) => name);
    if (applied.length > 0 && !applied.includes(first_migration)) throw new OutdatedDatabase();
    for (const [name, statements] of migrations) {
      if (applied.includes(name)) continue;
      await tx.unsafe(statements);
      await tx`insert into schema_migrations (name) values (${name})`;
    }
    await seed(tx);
  });
}

/** 'lark' in ASCII. */
const LOCK_KEY = 0x6c61726b;
