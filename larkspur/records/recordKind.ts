import { type Static, type TObject, Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import type { RecordChange } from './history.ts';

/** A kind of record: its table, and its row as sent over the API. The row's keys are the table's columns. */
export interface RecordKind<Row extends TObject = TObject> {
  table: string;
  /** The name of one record in error texts and the history. */
  record: string;
  /** The column with the record's id. */
  id: string;
  /** Set by Larkspur when the record is created. */
  created_column?: string;
  /** Set by Larkspur on every change. */
  updated_column?: string;
  row: Row;
  defaults: Record<string, unknown>;
}

export type RowOf<Kind extends RecordKind> = Static<Kind['row']>;

export function recordKind<Row extends TObject>(
  names: Omit<RecordKind, 'row' | 'defaults'>,
  row: Row,
  defaults: Record<string, unknown>,
): RecordKind<Row> {
  return { ...names, row, defaults };
}

/** The kind's segment in API and control API paths. */
export function pathSegment(kind: RecordKind): string {
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
  const rows = await sql<Static<Row>[]>`
    select ${sql(columns(kind))} from ${sql(kind.table)} where ${filter}
    order by length(${sql(kind.id)}), ${sql(kind.id)} limit ${pageSize} offset ${(page - 1) * pageSize}`;
  if (page === 1 && rows.length < pageSize) return { total: rows.length, page, pageSize, rows: [...rows] };
  const [counted] = await sql<{ total: number }[]>`
    select count(*)::int as total from ${sql(kind.table)} where ${filter}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

/** The records whose columns equal the given values, compared as text. */
export async function findRecords<Row extends TObject>(
  sql: Query,
  kind: RecordKind<Row>,
  values: Record<string, string>,
): Promise<Static<Row>[]> {
  const filter = Object.entries(values).reduce(
    (conditions, [column, value]) => sql`${conditions} and ${sql(column)}::text = ${value}`,
    sql`true`,
  );
  const rows = await sql<Static<Row>[]>`
    select ${sql(columns(kind))} from ${sql(kind.table)} where ${filter} order by length(${sql(kind.id)}), ${sql(kind.id)}`;
  return [...rows];
}

/** Throws NOT_FOUND if there is no such record. Pass `lock` to lock the row before changing it. */
export async function getRecord<Row extends TObject>(
  sql: Query,
  kind: RecordKind<Row>,
  id: string,
  lock = false,
): Promise<Static<Row>> {
  const [row] = await sql<Static<Row>[]>`
    select ${sql(columns(kind))} from ${sql(kind.table)} where ${sql(kind.id)} = ${id} ${lock ? sql`for update` : sql``}`;
  if (!row) throw new EmrError('NOT_FOUND', `No ${kind.record} with id '${id}'.`, { record: kind.record });
  return row;
}

/** New records may only refer to active records. */
export async function requireActive(sql: Query, kind: RecordKind, id: string): Promise<void> {
  const record = await getRecord(sql, kind, id);
  if ('activeFlag' in record && record.activeFlag === 'N') {
    throw new EmrError('INACTIVE_RECORD', `The ${kind.record} with id '${id}' is inactive.`);
  }
}

export async function createRecord(sql: Query, kind: RecordKind, values: object, at: Date): Promise<RecordChange> {
  const created = kind.created_column ? { [kind.created_column]: at } : {};
  const row = withUpdateTime(kind, { ...created, ...merge(kind.defaults, values) }, at);
  const [after] = await sql<object[]>`
    insert into ${sql(kind.table)} ${sql.values(parameters(sql, row))} returning ${sql(columns(kind))}`;
  return recordChange(kind, undefined, after);
}

export async function updateRecord(
  sql: Query,
  kind: RecordKind,
  id: string,
  { values, at }: { values: object; at: Date },
): Promise<RecordChange> {
  const before = (await getRecord(sql, kind, id, true)) as Record<string, unknown>;
  const row = withUpdateTime(kind, pick(merge(before, values), Object.keys(values)), at);
  if (Object.keys(row).length === 0) throw new EmrError('BAD_REQUEST', 'No fields to change.');
  const [after] = await sql<object[]>`
    update ${sql(kind.table)} set ${sql.set(parameters(sql, row))} where ${sql(kind.id)} = ${id}
    returning ${sql(columns(kind))}`;
  return recordChange(kind, before, after);
}

export async function deleteRecord(sql: Query, kind: RecordKind, id: string): Promise<RecordChange> {
  const before = await getRecord(sql, kind, id, true);
  await sql`delete from ${sql(kind.table)} where ${sql(kind.id)} = ${id}`;
  return recordChange(kind, before as object, undefined);
}

/** The body schema for creating a record (may set the id) or updating one (may not). */
export function editSchema(kind: RecordKind, purpose: 'create' | 'update'): TObject {
  const fixed = new Set([kind.created_column, kind.updated_column, ...(purpose === 'update' ? [kind.id] : [])]);
  const fields = Object.entries(kind.row.properties).filter(([field]) => !fixed.has(field));
  return Type.Object(
    Object.fromEntries(
      fields.map(([field, schema]) => [field, Type.Optional(field === 'address' ? partial(schema) : schema)]),
    ),
    { additionalProperties: false },
  );
}

/** The query schema for looking up records: any column, as text. */
export function querySchema(kind: RecordKind): TObject {
  return Type.Object(Object.fromEntries(columns(kind).map((column) => [column, Type.Optional(Type.String())])), {
    additionalProperties: false,
  });
}

function columns(kind: RecordKind): string[] {
  return Object.keys(kind.row.properties);
}

function withUpdateTime(kind: RecordKind, values: Record<string, unknown>, at: Date): Record<string, unknown> {
  return kind.updated_column && Object.keys(values).length > 0 ? { ...values, [kind.updated_column]: at } : values;
}

/** Address lines that were not sent keep their values. */
function merge(base: object, values: object): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base, ...values };
  if ('address' in base && 'address' in values) merged.address = Object.assign({}, base.address, values.address);
  return merged;
}

function pick(values: Record<string, unknown>, fields: string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, values[field]]));
}

function parameters(sql: Query, values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([field, value]) => [field, isJson(value) ? sql.json(value) : value]),
  );
}

function isJson(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}

function recordChange(kind: RecordKind, before: object | undefined, after: object | undefined): RecordChange {
  const record = (after ?? before ?? {}) as Record<string, unknown>;
  const id = String(record[kind.id]);
  return {
    record: kind.record,
    record_id: id,
    patient_id: typeof record.patientId === 'string' ? record.patientId : null,
    ...(before ? { before: withoutTimes(kind, before) } : {}),
    ...(after ? { after: withoutTimes(kind, after) } : {}),
  };
}

/** History entries have their own date, so they leave out the created and updated columns. */
function withoutTimes(kind: RecordKind, values: object): object {
  return Object.fromEntries(
    Object.entries(values).filter(([field]) => field !== kind.created_column && field !== kind.updated_column),
  );
}

function partial(schema: unknown): TObject {
  return Type.Partial(schema as TObject); // an address is an object in every kind
}
