import type { Fragment, Query } from './database.ts';

/** The usual page sizes: 50, 100 and 1,000 rows, and one row more where a statement checks whether another page follows. */
const usual = new Set([50, 51, 100, 101, 1_000, 1_001]);

/**
 * A LIMIT whose number is part of the text if it is one of the usual ones. For a parameter the planner expects a tenth
 * of the rows. With a million of them that plan looks expensive, and PostgreSQL plans the statement anew at every
 * execution: 0.3 ms more for a page of events. Other numbers stay parameters, so that callers cannot create an
 * unlimited number of statements.
 */
export function limitTo(sql: Query, rows: number): Fragment {
  return usual.has(rows) ? { write: () => `LIMIT ${rows}` } : sql`LIMIT ${rows}::bigint`;
}

/** The clients, by id, whose data a caller may see across tenants. */
export type ClientScope = 'all' | readonly string[];

/** The condition for rows of these clients. Rows of no client are visible only with all clients. */
export function inScope(sql: Query, column: Fragment, scope: ClientScope): Fragment {
  return scope === 'all' ? sql`true` : sql`${column} = ANY (${[...scope]}::uuid[])`;
}
