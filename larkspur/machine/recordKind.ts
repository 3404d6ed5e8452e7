import { type Static, type TObject, Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import type { Change } from './history.ts';

/** A list of the practice: its table and path, its row on the wire (keys are the columns), what an empty one looks like. */
export interface RecordKind<Row extends TObject = TObject> {
  table: string;
  record: string;
  id: string;
  row: Row;
  blank: Record<string, unknown>;
  /** A column Larkspur sets itself at each change. */
  stamp?: string;
  /** A column Larkspur sets itself when it makes the record. */
  made?: string;
}

/** Where a kind stands in the API and in the control API. */
export function pathOf(kind: RecordKind): string {
  return kind.table.replaceAll('_', '-');
}

export interface Page {
  page: number;
  pageSize: number;
}

export async function listRecords<Row extends TObject>(
  sql: Query,
  kind: RecordKind<Row>,
  { page, pageSize }: Page,
  filter: Fragment = sql`true`,
): Promise<{ total: number; page: number; pageSize: number; rows: Static<Row>[] }> {
  const [counted] = await sql<{ total: number }[]>`
    select count(*)::int as total from ${sql(kind.table)} where ${filter}`;
  const rows = await sql<Static<Row>[]>`
    select ${sql(columns(kind))} from ${sql(kind.table)} where ${filter}
    order by length(${sql(kind.id)}), ${sql(kind.id)} limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

/** The records whose columns are exactly these: what a test looks up to see what became of a write. */
export async function findRecords<Row extends TObject>(
  sql: Query,
  kind: RecordKind<Row>,
  values: Record<string, string>,
): Promise<Static<Row>[]> {
  const filter = Object.entries(values).reduce(
    (found, [column, value]) => sql`${found} and ${sql(column)}::text = ${value}`,
    sql`true`,
  );
  const rows = await sql<Static<Row>[]>`
    select ${sql(columns(kind))} from ${sql(kind.table)} where ${filter} order by length(${sql(kind.id)}), ${sql(kind.id)}`;
  return [...rows];
}

/** Reads a record, locking it where the caller is about to change it; a missing one is a 404 that says which. */
export async function getRecord<Row extends TObject>(
  sql: Query,
  kind: RecordKind<Row>,
  id: string,
  lock = false,
): Promise<Static<Row>> {
  const [row] = await sql<Static<Row>[]>`
    select ${sql(columns(kind))} from ${sql(kind.table)} where ${sql(kind.id)} = ${id} ${lock ? sql`for update` : sql``}`;
  if (!row) throw new EmrError('NOT_FOUND', `No ${kind.record} with id '${id}'.`);
  return row;
}

export async function createRecord(sql: Query, kind: RecordKind, values: object, at: Date): Promise<Change> {
  const made = kind.made ? { [kind.made]: at } : {};
  const row = stamped(kind, { ...made, ...merge(kind.blank, values) }, at);
  const [after] = await sql<object[]>`
    insert into ${sql(kind.table)} ${sql.values(parameters(sql, row))} returning ${sql(columns(kind))}`;
  return change(kind, undefined, after);
}

export async function changeRecord(
  sql: Query,
  kind: RecordKind,
  id: string,
  values: object,
  at: Date,
): Promise<Change> {
  const before = (await getRecord(sql, kind, id, true)) as Record<string, unknown>;
  const row = stamped(kind, pick(merge(before, values), Object.keys(values)), at);
  if (Object.keys(row).length === 0) throw new EmrError('BAD_REQUEST', 'Nothing to change.');
  const [after] = await sql<object[]>`
    update ${sql(kind.table)} set ${sql.set(parameters(sql, row))} where ${sql(kind.id)} = ${id}
    returning ${sql(columns(kind))}`;
  return change(kind, before, after);
}

export async function removeRecord(sql: Query, kind: RecordKind, id: string): Promise<Change> {
  const before = await getRecord(sql, kind, id, true);
  await sql`delete from ${sql(kind.table)} where ${sql(kind.id)} = ${id}`;
  return change(kind, before as object, undefined);
}

/** What may be sent to add a record (its id too) or to change one (never its id). */
export function editSchema(kind: RecordKind, purpose: 'add' | 'change'): TObject {
  const fixed = new Set([kind.stamp, kind.made, ...(purpose === 'change' ? [kind.id] : [])]);
  const fields = Object.entries(kind.row.properties).filter(([field]) => !fixed.has(field));
  return Type.Object(
    Object.fromEntries(
      fields.map(([field, schema]) => [field, Type.Optional(field === 'address' ? partial(schema) : schema)]),
    ),
    { additionalProperties: false },
  );
}

/** What a record may be looked up by: any of its columns, as text. */
export function querySchema(kind: RecordKind): TObject {
  return Type.Object(Object.fromEntries(columns(kind).map((column) => [column, Type.Optional(Type.String())])), {
    additionalProperties: false,
  });
}

function partial(schema: unknown): TObject {
  return Type.Partial(schema as TObject); // addresses are objects in every kind
}

function columns(kind: RecordKind): string[] {
  return Object.keys(kind.row.properties);
}

function change(kind: RecordKind, before: object | undefined, after: object | undefined): Change {
  const record = (after ?? before ?? {}) as Record<string, unknown>;
  const id = String(record[kind.id]);
  return {
    record: kind.record,
    record_id: id,
    patient_id: typeof record.patientId === 'string' ? record.patientId : null,
    ...(before ? { before: unstamped(kind, before) } : {}),
    ...(after ? { after: unstamped(kind, after) } : {}),
  };
}

/** That a record was touched is no change of it; history would otherwise repeat its own date. */
function unstamped(kind: RecordKind, values: object): object {
  return Object.fromEntries(Object.entries(values).filter(([field]) => field !== kind.stamp && field !== kind.made));
}

/** An address sent in part keeps its other lines. */
function merge(base: object, values: object): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base, ...values };
  if ('address' in base && 'address' in values) merged.address = Object.assign({}, base.address, values.address);
  return merged;
}

function pick(values: Record<string, unknown>, fields: string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, values[field]]));
}

function stamped(kind: RecordKind, values: Record<string, unknown>, at: Date): Record<string, unknown> {
  return kind.stamp && Object.keys(values).length > 0 ? { ...values, [kind.stamp]: at } : values;
}

function parameters(sql: Query, values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([field, value]) => [field, isJson(value) ? sql.json(value) : value]),
  );
}

function isJson(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}
