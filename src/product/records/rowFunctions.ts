import type { Kind, SourceOf } from '../../model/records/kinds.ts';
import type { RecordKind } from '../../model/records/recordKind.ts';
import type { Tx } from '../../platform/db/database.ts';
import { providerRows } from './providers.ts';
import type { Scope } from './readRecords.ts';
import { appointmentRows, scheduleBlockRows } from './schedule.ts';

type RowFunctions = {
  [K in Kind as K['name']]?: (
    tx: Tx,
    scope: Scope,
  ) => Promise<(...args: [SourceOf<K>, ...RestOf<RecordKind['row']>]) => ReturnType<RecordKind['row']>>;
};
type RestOf<Row extends (...args: never) => unknown> = Parameters<Row> extends [unknown, ...infer Rest] ? Rest : never;

/** Kinds whose rows copy values from other tables, which are read once per page. */
const row_functions: RowFunctions = {
  providers: providerRows,
  appointments: appointmentRows,
  schedule_blocks: scheduleBlockRows,
};

/** Returns the function that creates the rows of a kind: its declaration's, or one that copies values from other tables. */
export async function rowFunctionOf(tx: Tx, kind: Kind, scope: Scope): Promise<RecordKind['row']> {
  // The function only gets records of its own kind, which TypeScript cannot infer.
  const prepare = row_functions[kind.name] as ((tx: Tx, scope: Scope) => Promise<RecordKind['row']>) | undefined;
  return prepare ? prepare(tx, scope) : kind.row;
}
