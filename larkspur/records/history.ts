import { insertMany } from '../database/insertMany.ts';
import type { Query } from '../database/open.ts';

/** A record's values before and after a change. `before` is absent for a new record, `after` for a deleted one. */
export interface RecordChange {
  record: string;
  record_id: string;
  patient_id: string | null;
  before?: object;
  after?: object;
}

export interface FieldChange {
  record: string;
  recordId: string;
  patientId: string | null;
  field: string;
  before: string | null;
  after: string | null;
}

export interface HistoryEntry extends Omit<FieldChange, 'patientId'> {
  at: Date;
  by: string;
}

/** The fields whose values differ before and after. */
export function fieldChanges(changes: RecordChange[]): FieldChange[] {
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

/** A display label for a field: `address.line1` → 'Address line 1', `npi` → 'NPI'. */
export function fieldLabel(field: string): string {
  const words = field
    .replaceAll('.', ' ')
    .replace(/([a-z])([A-Z0-9])/g, '$1 $2')
    .toLowerCase()
    .replace(/\b(id|mrn|npi|pcp|rx|icd)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** `{ address: { city } }` becomes `address.city`, so that history shows the changed line and not the whole address. */
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
