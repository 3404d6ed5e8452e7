import { type Static, Type } from 'typebox';

/** `dry_run` counts and deletes nothing. */
export const erasure_request = Type.Object({ dry_run: Type.Boolean() });

export const erasure = Type.Object({
  /** False after a dry run. */
  erased: Type.Boolean(),
  /** Rows per table. */
  rows: Type.Array(Type.Object({ table: Type.String(), rows: Type.Integer() })),
  /** Accounts that the erasure unlinks first. */
  linked_accounts: Type.Integer(),
  /** Jobs that must finish first. */
  unfinished_jobs: Type.Integer(),
});
export type Erasure = Static<typeof erasure>;
