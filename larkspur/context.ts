import type { Sql } from './database/open.ts';

/** The dependencies passed to every part of Larkspur. */
export interface Context {
  sql: Sql;
  now: () => Date;
  log: (line: string) => void;
  control_token: string;
}
