import { insertMany } from '../database/insertMany.ts';
import type { Query } from '../database/open.ts';

/** One record's values before and after; either side may be missing when the record was added or removed. */
export interface Change {
  record: string;
  record_id: string;
  patient_id: string | null;
  before?: object;
  after?: object;
}

export interface HistoryEntry {
  at: Date;
  by: string;
  record: string;
  recordId: string;
  field: string;
  before: string | null;
  after: string | null;
}

/** One field of a record that really changed. */
export interface FieldChange {
  record: string;
  recordId: string;
  patientId: string | null;
  field: string;
  before: string | null;
  after: string | null;
}

export function fieldChanges(changes: Change[]): FieldChange[] {
  return changes.flatMap((change) => {
    const before = flatten(change.before);
    const after = flatten(change.after);
    return [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null }))
      .filter((row) => row.before !== row.after)
      .map((row) => ({ patientId: change.patient_id, record: change.record, recordId: change.record_id, ...row }));
  });
}

export async function addHistory(sql: Query, by: string, at: Date, changes: FieldChange[]): Promise<void> {
  await insertMany(
    sql,
    'history',
    changes.map((change) => ({ at, by, ...change })),
  );
}

export async function listHistory(sql: Query, patientId: string, limit: number): Promise<HistoryEntry[]> {
  return sql<HistoryEntry[]>`
    select at, by, record, record_id, field, before, after from history
    where patient_id = ${patientId} order by history_id desc limit ${limit}`;
}

/** `{ address: { city } }` becomes `address.city`, so that a reader sees the line that changed and not the whole block. */
function flatten(values: object | undefined, prefix = ''): Record<string, string | null> {
  const flat: Record<string, string | null> = {};
  for (const [field, value] of Object.entries(values ?? {})) {
    if (isPlainObject(value)) Object.assign(flat, flatten(value, `${prefix}${field}.`));
    else flat[prefix + field] = asText(value);
  }
  return flat;
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
