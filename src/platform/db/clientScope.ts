import type { Fragment, Query } from './database.ts';

/** The clients, by id, whose data a caller may see across tenants. */
export type ClientScope = 'all' | readonly string[];

/** The condition for rows of these clients. Rows of no client are visible only with all clients. */
export function inScope(sql: Query, column: Fragment, scope: ClientScope): Fragment {
  return scope === 'all' ? sql`true` : sql`${column} = ANY (${[...scope]}::uuid[])`;
}
