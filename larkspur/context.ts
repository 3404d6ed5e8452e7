import type { Sql } from './database/open.ts';

/** What every part of Larkspur is handed: its database, its clock, its control token. Nothing reads them from elsewhere. */
export interface Context {
  sql: Sql;
  now: () => Date;
  log: (line: string) => void;
  control_token: string;
}
