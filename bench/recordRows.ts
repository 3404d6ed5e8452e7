import type { Filter, RecordKind } from '../src/model/records/recordKind.ts';
import type { Database, Fragment, Query } from '../src/platform/db/database.ts';
import { type Filters, readList, readPage, type Scope } from '../src/product/records/readRecords.ts';

/** How many rows to insert, and how many of them each filter matches. */
export type RowCounts = { rows: number; matching: number };

/** Part of the names of the records that match. */
export const name_part = 'needle';
const values = { text: 'match', name: name_part, status: 'inactive', phone: '4155550100', first: '1' } as const;
/** The first records are of the early day, the last ones of the late day. */
export const days = { early: '2000-01-01', late: '2030-01-01' } as const;

/** A value of each filter of a kind that matches `matching` of the inserted rows, or one if the column is unique. */
export function filterValues(kind: RecordKind): Record<string, string | boolean> {
  return Object.fromEntries(Object.entries(kind.filters).map(([name, filter]) => [name, filterValue(filter)]));
}

function filterValue({ match, columns, schema, stored, any }: Filter): string | boolean {
  switch (match) {
    case 'contains':
      return values.name;
    case 'from_day':
    case 'from_local_day':
      return days.late;
    case 'to_day':
    case 'to_local_day':
      return days.early;
    case 'any_of':
      return `${values.text},nothing`;
    case 'equals':
      if (columns.includes('ehr_id')) return values.first;
      if ('type' in schema && schema.type === 'boolean') return false;
      if (any !== undefined) return values.status;
      return stored ? values.phone : values.text;
  }
}

/** Reads the records that match, as the endpoints of the kind do. */
export function readFiltered(
  db: Pick<Database, 'read' | 'batchedOrAlone'>,
  scope: Scope,
  kind: RecordKind,
  filters: Filters,
): Promise<unknown> {
  return kind.list?.returns === 'all' ? readList(db, scope, kind, { filters }) : readPage(db, scope, kind, { filters });
}

type Column = { name: string; type: string };

/** Inserts rows of a kind, oldest first. Columns that no filter uses have the same value in all rows. */
export async function insertRecords(sql: Query, scope: Scope, kind: RecordKind, counts: RowCounts): Promise<void> {
  const filters = Object.values(kind.filters);
  const filtered = filters.flatMap(({ columns }) => columns);
  const columns = await sql<Column[]>`SELECT column_name AS name, data_type AS type FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name = ${kind.name}
      AND (is_nullable = 'NO' AND column_default IS NULL OR column_name = ANY (${['ehr_id', ...filtered]}))`;
  const expressions = columns
    .map((column) => toExpression(sql, column, { ...scope, ...counts, filters }))
    .reduce((all, each) => sql`${all}, ${each}`);
  // `ORDER BY n` would mean the column `n::text`, which is called n too.
  await sql`INSERT INTO ${sql(kind.name)} (${sql(columns.map(({ name }) => name))})
    SELECT ${expressions} FROM generate_series(1, ${counts.rows}::int) AS numbers (n) ORDER BY numbers.n`;
}

function toExpression(
  sql: Query,
  { name, type }: Column,
  { client_id, organization_id, rows, matching, filters }: Scope & RowCounts & { filters: readonly Filter[] },
): Fragment {
  switch (name) {
    case 'id':
      return sql`uuidv7((n - ${rows}::int) * interval '1 second')`;
    case 'client_id':
      return sql`${client_id}::uuid`;
    case 'organization_id':
      return sql`${organization_id}::uuid`;
    case 'ehr_id':
      return sql`n::text`;
    case 'doc':
      return sql`json_build_object('id', n)`;
  }
  const filter = filters.find(({ columns }) => columns.includes(name));
  if (!filter) return toConstant(sql, type);
  if (filter.match === 'equals' || filter.match === 'any_of' || filter.match === 'contains') {
    const { columns } = filter;
    // Of several columns, each row matches in one.
    const matches = sql`n <= ${matching}::int AND n % ${columns.length}::int = ${columns.indexOf(name)}::int`;
    return sql`CASE WHEN ${matches} THEN ${matchingValue(sql, filter)} ELSE ${otherValue(sql, filter, name)} END`;
  }
  const day = sql`CASE WHEN n <= ${matching}::int THEN ${days.early}::date WHEN n > ${rows - matching}::int THEN ${days.late}::date
    ELSE '2010-01-01'::date + n % 3650 END`;
  return type === 'date' ? day : sql`((${day}) + time '18:00') AT TIME ZONE 'UTC'`;
}

function matchingValue(sql: Query, filter: Filter): Fragment {
  // The number is part of other names too.
  if (filter.match === 'contains') return sql`'x' || ${values.name}::text || n % 10`;
  const value = filter.match === 'any_of' ? values.text : filterValue(filter);
  return typeof value === 'boolean' ? sql`${value}::boolean` : sql`${value}::text`;
}

/** Names as long as people's, and no two columns alike. */
function otherValue(sql: Query, filter: Filter, column: string): Fragment {
  if (filter.match === 'contains') return sql`substr(md5(${column}::text || n), 1, 6)`;
  const value = filterValue(filter);
  if (typeof value === 'boolean') return sql`${!value}::boolean`;
  if (value === values.status) return sql`'active'`;
  return filter.stored ? sql`(2000000000 + n)::text` : sql`'other' || n`;
}

/** A value that the constraints of all tables accept. */
function toConstant(sql: Query, type: string): Fragment {
  switch (type) {
    case 'text':
      return sql`'active'`;
    case 'json':
      return sql`'{}'::json`;
    case 'bytea':
      return sql`''::bytea`;
    case 'boolean':
      return sql`false`;
    case 'timestamp with time zone':
      return sql`now()`;
    default:
      return sql`1`;
  }
}
