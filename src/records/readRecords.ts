import { type Batch, readBatch } from '../db/batches.ts';
import type { Database, Fragment, Query } from '../db/database.ts';
import { apiError } from '../errors.ts';
import { needleOf } from '../model/fold.ts';
import type { Filter, RecordKind } from '../model/records/recordKind.ts';
import { isFirstSyncPending } from './firstSync.ts';

export type Scope = { client_id: string; organization_id: string };
export type Paging = { page?: number | undefined; page_size?: number | undefined };
/** Values of the kind's filters by name, validated against their schemas. */
export type Filters = Readonly<Record<string, unknown>>;

/** Response JSON as PostgreSQL assembled it, and the MRNs of the patients in it for the audit log. */
export type RecordsJson = { body: string; mrns: string[] };

/** All records of a kind that match, in one response. */
export async function readList(
  db: Database,
  scope: Scope,
  kind: RecordKind,
  { filters = {}, records_max }: { filters?: Filters; records_max?: number } = {},
): Promise<string> {
  checkDays(filters);
  const [row] = await db.read<{ body: string }>(
    scope.client_id,
    (sql) => sql`
      SELECT ${responseJson(sql, scope, [kind], sql`${kind.name}::text, coalesce(json_agg(found.doc), '[]')`)} AS body
        FROM (SELECT doc FROM ${sql(kind.name)} AS listed WHERE ${matching(sql, scope, conditionsOf(sql, scope, kind, filters))}
               ORDER BY ${orderOf(sql, kind)} ${records_max === undefined ? sql`` : sql`LIMIT ${records_max}`}) AS found`,
  );
  return row?.body ?? '';
}

/**
 * One page of a kind. Node does not parse the documents. Requests of a client that arrive together share a statement,
 * unless theirs may take long: a search for part of a name, or a large page, would delay the others.
 */
export async function readPage(
  db: Database,
  scope: Scope,
  kind: RecordKind,
  filters: Filters,
  { page = 1, page_size = 100 }: Paging = {},
): Promise<RecordsJson> {
  checkDays(filters);
  const given = givenFilters(kind, filters);
  const quick = page_size <= 100 && given.every(([, { match }]) => match === 'equals');
  const { client_id, organization_id } = scope;
  if (!quick) {
    const values = (sql: Query) => ({
      client_id: sql`${client_id}::uuid`,
      organization_id: sql`${organization_id}::uuid`,
    });
    const [row] = await db.read<RecordsJson>(client_id, (sql) => {
      const asked = { ...values(sql), page: sql`${page}::int`, page_size: sql`${page_size}::int` };
      return pageQuery(sql, kind, asked, conditionsOf(sql, scope, kind, filters));
    });
    return row ?? no_page;
  }
  const columns = Object.fromEntries(
    given.map(([name, filter]) => [filter.columns[0], storedValue(filter, filters[name])]),
  );
  const row = await db.togetherOrAlone(client_id, pagesTogether(kind, given), {
    columns: { client_id, organization_id, ...columns },
    page,
    page_size,
  });
  return row ?? no_page;
}

const no_page: RecordsJson = { body: '', mrns: [] };

/** A page as the statement for many of them takes it. `columns` are those to compare with, in the types of the table. */
type AskedPage = { columns: Record<string, unknown>; page: number; page_size: number };

const batches = new Map<string, Batch<AskedPage, RecordsJson | undefined>>();

/** The batch of the pages of a kind with these filters: each combination has its own statement. */
function pagesTogether(kind: RecordKind, given: readonly GivenFilter[]): Batch<AskedPage, RecordsJson | undefined> {
  const key = [kind.name, ...given.map(([name]) => name)].join(' ');
  const known = batches.get(key);
  if (known) return known;
  const batch = readBatch<AskedPage, RecordsJson>(
    (sql) => {
      const asked = {
        client_id: sql`sent.client_id`,
        organization_id: sql`sent.organization_id`,
        page: sql`(asked.request->>'page')::int`,
        page_size: sql`(asked.request->>'page_size')::int`,
      };
      const conditions = given.map(([, { columns }]) =>
        anyOf(
          sql,
          columns.map((column) => sql`${sql(column)} = sent.${sql(columns[0] ?? '')}`),
        ),
      );
      return sql`SELECT page.* FROM json_populate_record(NULL::${sql(kind.name)}, asked.request->'columns') AS sent
        CROSS JOIN LATERAL (${pageQuery(sql, kind, asked, conditions)}) AS page`;
    },
    { max: pages_max },
  );
  batches.set(key, batch);
  return batch;
}

/** Pages per statement. A page takes half a millisecond, and the first is sent after the last is read. */
const pages_max = 16;

/**
 * Ids are found over a narrow index and documents fetched for the page alone. The statement contains only the requested
 * filters, so each combination gets a plan for its own index. It names the client although row-level security does too:
 * the planner does not know the tenant yet and would expect the policy to let no row through.
 */
function pageQuery(
  sql: Query,
  kind: RecordKind,
  asked: Record<'client_id' | 'organization_id' | 'page' | 'page_size', Fragment>,
  conditions: readonly Fragment[],
): Fragment {
  const { organization_id, page, page_size } = asked;
  const table = sql(kind.name);
  const matches = matching(sql, asked, conditions);
  const total =
    conditions.length > 0 || !kind.counted
      ? sql`SELECT count(*) AS n FROM ${table} AS listed WHERE ${matches}`
      : sql`SELECT coalesce(sum(total), 0) AS n FROM record_counts
             WHERE record_counts.organization_id = ${organization_id} AND kind = ${kind.name}`;
  const { mrn_column: mrn } = kind;
  return sql`
    SELECT ${responseJson(
      sql,
      asked,
      [kind],
      sql`${kind.name}::text, found.docs,
        'pagination', json_build_object('page', ${page}, 'current_page', ${page},
          'page_size', ${page_size}, 'total_count', total.n,
          'total_pages', ceil(total.n::numeric / ${page_size}))`,
    )} AS body, found.mrns
      FROM (${total}) AS total, (
        -- One look-up by primary key per document: as a join, a table without statistics was scanned 100 times.
        -- MRNs as JSON, which Node parses in half the time of an array of PostgreSQL.
        SELECT coalesce(json_agg((SELECT doc FROM ${table} AS wide WHERE wide.id = narrow.id)), '[]') AS docs,
               ${mrn ? sql`coalesce(json_agg(narrow.mrn) FILTER (WHERE narrow.mrn IS NOT NULL), '[]')` : sql`'[]'::json`} AS mrns
          FROM (SELECT id ${mrn ? sql`, ${sql(mrn)} AS mrn` : sql``} FROM ${table} AS listed WHERE ${matches}
                 ORDER BY ${orderOf(sql, kind)} LIMIT ${page_size} OFFSET (${page} - 1) * ${page_size}) AS narrow
      ) AS found`;
}

/** A response as JSON text. It says so if the first sync of one of its kinds has not finished. */
export function responseJson(
  sql: Query,
  { organization_id }: { organization_id: string | Fragment },
  kinds: readonly Pick<RecordKind, 'name'>[],
  fields: Fragment,
): Fragment {
  const pending = kinds
    .map(({ name }) => isFirstSyncPending(sql, organization_id, name))
    .reduce((any, each) => sql`${any} OR ${each}`);
  return sql`CASE WHEN ${pending}
    THEN json_build_object('success', true, ${fields}, 'sync', json_build_object('state', 'pending'))
    ELSE json_build_object('success', true, ${fields}) END::text`;
}

/** One record about a patient, and that patient's MRN. */
export async function readRecord(
  db: Database,
  scope: Scope,
  kind: RecordKind,
  id: string,
): Promise<{ record: Record<string, unknown>; mrn: string | null } | undefined> {
  const { name, mrn_column } = kind;
  if (mrn_column === undefined) return undefined;
  const [row] = await db.read<{ record: Record<string, unknown>; mrn: string | null }>(
    scope.client_id,
    (sql) => sql`SELECT doc AS record, ${sql(mrn_column)} AS mrn FROM ${sql(name)}
      WHERE organization_id = ${scope.organization_id} AND id = ${id}`,
  );
  return row;
}

/** Without this check, a reversed date range would return an empty list. */
function checkDays({ start_date, end_date }: Filters): void {
  if (start_date === undefined || end_date === undefined || String(start_date) <= String(end_date)) return;
  throw apiError('invalid_field', { rule: 'end_date must not be before start_date' }, { field: 'end_date' });
}

function matching(
  sql: Query,
  scope: Record<keyof Scope, string | Fragment>,
  conditions: readonly Fragment[],
): Fragment {
  return conditions.reduce(
    (all, condition) => sql`${all} AND ${condition}`,
    sql`listed.client_id = ${scope.client_id} AND listed.organization_id = ${scope.organization_id}`,
  );
}

type GivenFilter = [name: string, filter: Filter];

/** The filters that a request names, without those whose value matches every record. */
function givenFilters(kind: RecordKind, filters: Filters): GivenFilter[] {
  return Object.entries(kind.filters).filter(([name, { any }]) => {
    const value = filters[name];
    return (typeof value === 'string' || typeof value === 'boolean') && value !== any;
  });
}

function conditionsOf(sql: Query, scope: Scope, kind: RecordKind, filters: Filters): Fragment[] {
  return givenFilters(kind, filters).map(([name, filter]) => {
    const { columns, match } = filter;
    const value = storedValue(filter, filters[name]);
    return anyOf(
      sql,
      columns.map((column) => compare(sql, match, sql`${sql(column)}`, value, scope)),
    );
  });
}

function storedValue({ stored }: Filter, value: unknown): string | boolean {
  // Given filters have values of these types.
  return stored && typeof value === 'string' ? stored(value) : (value as string | boolean);
}

function anyOf(sql: Query, conditions: readonly Fragment[]): Fragment {
  return conditions.reduce((left, right) => sql`(${left} OR ${right})`);
}

function compare(
  sql: Query,
  match: Filter['match'],
  column: Fragment,
  value: string | boolean,
  { organization_id }: Scope,
): Fragment {
  const timezone = () => sql`(SELECT timezone FROM organizations WHERE organizations.id = ${organization_id})`;
  switch (match) {
    case 'equals':
      return sql`${column} = ${value}`;
    case 'contains':
      return sql`${column} LIKE ${containsPattern(String(value))}`;
    case 'from_day':
      return sql`${column} >= ${value}::text::date`;
    case 'to_day':
      return sql`${column} <= ${value}::text::date`;
    case 'from_local_day':
      return sql`${column} >= ${value}::text::date::timestamp AT TIME ZONE ${timezone()}`;
    case 'to_local_day':
      return sql`${column} < (${value}::text::date + 1)::timestamp AT TIME ZONE ${timezone()}`;
  }
}

/** Null, which matches nothing, if nothing of the name is left to search for. */
function containsPattern(name: string): string | null {
  const needle = needleOf(name);
  return needle === null ? null : `%${needle.replace(/[\\%_]/g, '\\$&')}%`;
}

function orderOf(sql: Query, kind: RecordKind): Fragment {
  return kind.order.reduceRight(
    (rest, { column, descending }) => sql`${sql(column)} ${descending ? sql`DESC` : sql``}, ${rest}`,
    sql`id`,
  );
}
