import { EmrFailure, type EmrWrite, type OperationName, type Operations } from './connector.ts';

/** The input of a write: `InputOf<Operations['addRefill']>`. */
export type InputOf<Write> = Write extends EmrWrite<infer Input, infer _Output> ? Input : never;

/** The operations that a connector implements, each over an open session. The keys are the connector's capabilities. */
export type Implementations<Session> = { [Name in OperationName]?: (session: Session) => Operations[Name] };

export function operationNames(table: Partial<Record<OperationName, unknown>>): OperationName[] {
  // The type of the table allows no other keys.
  return Object.keys(table) as OperationName[];
}

export function bindOperations<Session>(table: Implementations<Session>, session: Session): Partial<Operations> {
  return Object.fromEntries(operationNames(table).map((name) => [name, table[name]?.(session)]));
}

/** Reads a list to its end and returns its rows. Only for lists that are known to be small. */
export async function collect<Row>(pages: AsyncIterable<Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}

/** What an operation throws for a field that it cannot store. The API rejects requests with such a field earlier. */
export function unsupportedField(field: string): EmrFailure {
  return new EmrFailure('refused', `Field '${field}' is not supported by this EMR.`, { code: 'not_supported' });
}
