import type { Query } from '../database/open.ts';
import type { Operation } from './operation.ts';

type Applies = (operation: Operation) => boolean;
const anyOperation: Applies = () => true;
const writesOnly: Applies = (operation) => operation.writes;

/** Every kind of fault with the operations it applies to. A test checks docs/larkspur.md against this list. */
export const faultKinds = {
  delay: anyOperation,
  error_500: anyOperation,
  error_429: anyOperation,
  reset: anyOperation,
  truncate: anyOperation,
  html: anyOperation,
  empty: anyOperation,
  lose_answer: writesOnly,
  refuse: writesOnly,
  correct_value: writesOnly,
  refill_fails: (operation) => operation.name === 'add_refill',
} satisfies Record<string, Applies>;

export type FaultKind = keyof typeof faultKinds;

export interface Fault {
  faultId: number;
  operation: string;
  kind: FaultKind;
  timesLeft: number;
  delayMs: number | null;
  reason: string | null;
  field: string | null;
  value: unknown;
}

export async function addFault(sql: Query, fault: Omit<Fault, 'faultId'>): Promise<number> {
  const row = { ...fault, value: sql.json(fault.value ?? null) };
  const [added] = await sql<{ faultId: number }[]>`insert into faults ${sql.values(row)} returning fault_id`;
  return added?.faultId ?? 0;
}

export async function listFaults(sql: Query): Promise<Fault[]> {
  return sql<Fault[]>`select * from faults where times_left > 0 order by fault_id`;
}

export async function clearFaults(sql: Query): Promise<void> {
  await sql`delete from faults`;
}

export async function clearFault(sql: Query, faultId: number): Promise<void> {
  await sql`delete from faults where fault_id = ${faultId}`;
}

/** Finds the oldest fault that applies to this request and decrements its counter. */
export async function consumeFault(sql: Query, operation: Operation, body: unknown): Promise<Fault | undefined> {
  const kinds = Object.entries(faultKinds).flatMap(([kind, appliesTo]) => (appliesTo(operation) ? [kind] : []));
  const fields = presentFields(body);
  const applies = sql`
    times_left > 0
    and (operation = ${operation.name} or (operation = '*' and ${operation.writes}))
    and kind = any(${kinds})
    and (kind <> 'correct_value' or field = any(${fields}))`;
  // While this request waits for the row lock, another may use up the fault; a newer fault may still apply, so repeat.
  while ((await sql`select 1 from faults where ${applies} limit 1`).length > 0) {
    const [fault] = await sql<Fault[]>`
      update faults set times_left = times_left - 1
      where fault_id = (select fault_id from faults where ${applies} order by fault_id limit 1 for update)
      returning *`;
    if (fault) return fault;
  }
  return undefined;
}

function presentFields(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([field, value]) => (value === null || value === undefined ? [] : [field]));
}
