import type { Query } from '../database/open.ts';
import type { Operation } from './operation.ts';

type Applies = (operation: Operation) => boolean;
const anywhere: Applies = () => true;
const onWrites: Applies = (operation) => operation.writes;

/** Every kind of fault, where it applies and what it does. docs/larkspur.md is held to this list. */
export const faultKinds = {
  delay: anywhere,
  error_500: anywhere,
  error_429: anywhere,
  reset: anywhere,
  truncate: anywhere,
  html: anywhere,
  empty: anywhere,
  lose_answer: onWrites,
  refuse: onWrites,
  correct_value: onWrites,
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

/** Uses up one turn of the oldest fault that applies to this request, if there is one. */
export async function takeFault(sql: Query, operation: Operation, body: unknown): Promise<Fault | undefined> {
  const kinds = Object.entries(faultKinds).flatMap(([kind, applies]) => (applies(operation) ? [kind] : []));
  const fields = carriedFields(body);
  const fits = sql`
    times_left > 0
    and (operation = ${operation.name} or (operation = '*' and ${operation.writes}))
    and kind = any(${kinds})
    and (kind <> 'correct_value' or field = any(${fields}))`;
  // A request that waited for the row lock may find the last turn gone while a younger fault still fits: look again.
  while ((await sql`select 1 from faults where ${fits} limit 1`).length > 0) {
    const [taken] = await sql<Fault[]>`
      update faults set times_left = times_left - 1
      where fault_id = (select fault_id from faults where ${fits} order by fault_id limit 1 for update)
      returning *`;
    if (taken) return taken;
  }
  return undefined;
}

function carriedFields(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([field, value]) => (value === null || value === undefined ? [] : [field]));
}
