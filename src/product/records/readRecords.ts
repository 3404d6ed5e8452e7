import { type ApiError, apiError } from '../../catalog/errors.ts';
import { splitList } from '../../model/fields.ts';
import { findKind, type KindName } from '../../model/records/kinds.ts';
import type { Filter, Order, RecordKind, WithheldFields } from '../../model/records/recordKind.ts';
import { type Batch, readBatch } from '../../platform/db/batches.ts';
import { type Database, type Fragment, type Query, type Tx, unseen } from '../../platform/db/database.ts';
import { containsName, namedRecords, nameField, recordsNamed } from './nameSuffixes.ts';

export type Scope = { client_id: string; organization_id: string };
/** Values of the kind's filters by name, validated against their schemas. */
export type Filters = Readonly<Record<string, unknown>>;

/** What lists are read with. */
type Reader = Pick<Database, 'read' | 'batchedOrAlone'>;

/** Response JSON as PostgreSQL assembled it, and the MRNs of the patients in it for the audit log. */
export type RecordsJson = { body: string; mrns: string[] };

/** All records of a kind that match, in one response. */
export async function readList(
  db: Reader,
  scope: Scope,
  kind: RecordKind,
  { filters = {}, records_max }: { filters?: Filters; records_max?: number } = {},
): Promise<string> {
  checkDays(filters);
  const [row] = await db.read<{ body: string }>(scope.client_id, (sql) => {
    const within = unseenScope(sql, scope);
    const { conditions, ids } = buildSearch(sql, within, kind, filters);
    const all_conditions = ids ? [...conditions, sql`listed.id = ANY (ARRAY(${ids}))`] : conditions;
    return sql`
      SELECT ${responseJson(sql, scope, [kind], sql`${kind.name}::text, coalesce(json_agg(found.doc), '[]')`)} AS body
        FROM (SELECT doc FROM ${sql(kind.name)} AS listed WHERE ${matching(sql, within, all_conditions)}
               ORDER BY ${buildOrder(sql, kind.order)} ${records_max === undefined ? sql`` : sql`LIMIT ${unseen(sql, records_max, 'int')}`}) AS found`;
  });
  return row?.body ?? '';
}

type PageOptions = {
  filters?: Filters;
  page?: number | undefined;
  page_size?: number | undefined;
  order?: readonly Order[] | undefined;
  /** Return the records without the fields that the list withholds. */
  withheld?: WithheldFields | undefined;
};

/**
 * One page of a kind. Node does not parse the documents. Requests of a client that arrive together share a statement,
 * unless theirs may take long: a search for part of a name, or a large page, would delay the others.
 */
export async function readPage(
  db: Reader,
  scope: Scope,
  kind: RecordKind,
  { filters = {}, page = 1, page_size = 100, order, withheld }: PageOptions = {},
): Promise<RecordsJson> {
  checkDays(filters);
  const active_filters = listActiveFilters(kind, filters);
  const quick = page_size <= 100 && !withheld && !order && active_filters.every(([, { match }]) => match === 'equals');
  const { client_id, organization_id } = scope;
  if (!quick) {
    const [row] = await db.read<RecordsJson>(client_id, (sql) => {
      const within = unseenScope(sql, scope);
      const requested = { ...within, page: unseen(sql, page, 'int'), page_size: unseen(sql, page_size, 'int') };
      return pageQuery(sql, kind, { ...requested, order, withheld }, buildSearch(sql, within, kind, filters));
    });
    return row ?? no_page;
  }
  const columns = Object.fromEntries(
    active_filters.map(([name, filter]) => [filter.columns[0], storedValue(filter, filters[name])]),
  );
  const row = await db.batchedOrAlone(client_id, pageBatch(kind, active_filters), {
    columns: { client_id, organization_id, ...columns },
    page,
    page_size,
  });
  return row ?? no_page;
}

const no_page: RecordsJson = { body: '', mrns: [] };

/** A page as the statement for many of them takes it. `columns` are those to compare with, in the types of the table. */
type PageRequest = { columns: Record<string, unknown>; page: number; page_size: number };

const batches = new Map<string, Batch<PageRequest, RecordsJson | undefined>>();

/** The batch of the pages of a kind with these filters: each combination has its own statement. */
function pageBatch(
  kind: RecordKind,
  active_filters: readonly ActiveFilter[],
): Batch<PageRequest, RecordsJson | undefined> {
  const key = [kind.name, ...active_filters.map(([name]) => name)].join(' ');
  const cached = batches.get(key);
  if (cached) return cached;
  const batch = readBatch<PageRequest, RecordsJson>(
    (sql) => {
      const requested = {
        client_id: sql`sent.client_id`,
        organization_id: sql`sent.organization_id`,
        page: sql`(requested.request->>'page')::int`,
        page_size: sql`(requested.request->>'page_size')::int`,
      };
      const conditions = active_filters.map(([, { columns }]) =>
        anyOf(
          sql,
          columns.map((column) => sql`${sql(column)} = sent.${sql(columns[0] ?? '')}`),
        ),
      );
      return sql`SELECT page.* FROM json_populate_record(NULL::${sql(kind.name)}, requested.request->'columns') AS sent
        CROSS JOIN LATERAL (${pageQuery(sql, kind, requested, { conditions })}) AS page`;
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
function pageQuery(sql: Query, kind: RecordKind, requested: RequestedPage, search: Search): Fragment {
  const { page, page_size, order = kind.order, withheld } = requested;
  const document = withheld ? sql`coalesce(${sql(withheld.column)}, doc)` : sql`doc`;
  const { mrn_column: mrn } = kind;
  const { conditions, ids } = search;
  const { shared, total, narrow } = ids
    ? namedParts(sql, kind, requested, { conditions, ids })
    : listedParts(sql, kind, requested, conditions);
  return sql`
    ${shared} SELECT ${responseJson(
      sql,
      requested,
      [kind],
      sql`${kind.name}::text, found.docs,
        'pagination', json_build_object('page', ${page}, 'current_page', ${page},
          'page_size', ${page_size}, 'total_count', total.n,
          'total_pages', ceil(total.n::numeric / ${page_size}))`,
    )} AS body, found.mrns
      FROM (${total}) AS total, (
        -- One look-up by primary key per document: as a join, a table without statistics was scanned 100 times.
        -- MRNs as JSON, which Node parses in half the time of an array of PostgreSQL.
        SELECT coalesce(json_agg((SELECT ${document} FROM ${sql(kind.name)} AS wide WHERE wide.id = narrow.id)), '[]') AS docs,
               ${mrn ? sql`coalesce(json_agg(narrow.mrn) FILTER (WHERE narrow.mrn IS NOT NULL), '[]')` : sql`'[]'::json`} AS mrns
          FROM (SELECT id ${mrn ? sql`, ${sql(mrn)} AS mrn` : sql``} FROM ${narrow}
                 ORDER BY ${buildOrder(sql, order)} LIMIT ${page_size} OFFSET (${page} - 1) * ${page_size}) AS narrow
      ) AS found`;
}

type RequestedPage = ScopeValues & Record<'page' | 'page_size', Fragment> & Pick<PageOptions, 'order' | 'withheld'>;
/** Parts of a page's statement: what the others refer to, the total, and the records that the page is taken from. */
type PageParts = { shared: Fragment; total: Fragment; narrow: Fragment };

function listedParts(
  sql: Query,
  kind: RecordKind,
  requested: RequestedPage,
  conditions: readonly Fragment[],
): PageParts {
  const narrow = sql`${sql(kind.name)} AS listed WHERE ${matching(sql, requested, conditions)}`;
  const total =
    conditions.length > 0 || !kind.counted
      ? sql`SELECT count(*) AS n FROM ${narrow}`
      : sql`SELECT coalesce(sum(total), 0) AS n FROM record_counts
             WHERE record_counts.organization_id = ${requested.organization_id} AND kind = ${kind.name}`;
  return { shared: sql``, total, narrow };
}

/**
 * Records whose ids are known. Many of them are in a page sooner if the list is walked in its order: with 8,000 of 100,000
 * patients, to look up all of them took three times as long as to compare the names of 2,000.
 */
function namedParts(
  sql: Query,
  kind: RecordKind,
  requested: RequestedPage,
  { conditions, ids }: Required<Search>,
): PageParts {
  const matches = matching(sql, requested, conditions);
  const columns = [...new Set(['id', ...kind.order.map(({ column }) => column), kind.mrn_column ?? 'id'])].map(
    (column) => sql`listed.${sql(column)}`,
  );
  const selected = columns.reduce((all, column) => sql`${all}, ${column}`);
  const few = sql`(SELECT n FROM size) <= ${looked_up_max}`;
  return {
    shared: sql`WITH named AS MATERIALIZED (SELECT DISTINCT record_id FROM (${ids}) AS found),
      size AS MATERIALIZED (SELECT count(*) AS n FROM named)`,
    total: sql`SELECT n FROM size`,
    narrow: sql`(
      SELECT ${selected} FROM named CROSS JOIN ${namedRecords(sql, kind.name)} AS listed WHERE ${few} AND ${matches}
      UNION ALL (SELECT ${selected} FROM ${sql(kind.name)} AS listed WHERE NOT ${few} AND ${matches}
        ORDER BY ${buildOrder(sql, kind.order)} LIMIT ${requested.page} * ${requested.page_size})) AS listed`,
  };
}

/** Matches of a search by name that are all looked up. Takes some 10 ms. */
const looked_up_max = 2_000;

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
export function checkDays({ start_date, end_date }: Filters): void {
  if (start_date === undefined || end_date === undefined || String(start_date) <= String(end_date)) return;
  throw apiError('invalid_field', { rule: 'end_date must not be before start_date' }, { field: 'end_date' });
}

export function matching(sql: Query, scope: ScopeValues, conditions: readonly Fragment[]): Fragment {
  return conditions.reduce(
    (all, condition) => sql`${all} AND ${condition}`,
    sql`listed.client_id = ${scope.client_id} AND listed.organization_id = ${scope.organization_id}`,
  );
}

type ScopeValues = Record<keyof Scope, Fragment>;

export function unseenScope(sql: Query, { client_id, organization_id }: Scope): ScopeValues {
  return { client_id: unseen(sql, client_id, 'uuid'), organization_id: unseen(sql, organization_id, 'uuid') };
}

type ActiveFilter = [name: string, filter: Filter];

/** The filters that a request names, without those whose value matches every record. */
export function listActiveFilters(kind: RecordKind, filters: Filters): ActiveFilter[] {
  return Object.entries(kind.filters).filter(([name, { any }]) => {
    const value = filters[name];
    return (typeof value === 'string' || typeof value === 'boolean') && value !== any;
  });
}

/** The conditions of a list's filters. `ids`: those of exactly the records that meet all of them, if an index knows them. */
type Search = { conditions: readonly Fragment[]; ids?: Fragment };

function buildSearch(sql: Query, scope: ScopeValues, kind: RecordKind, filters: Filters): Search {
  const { conditions, named, ids } = buildFilters(sql, scope, kind, filters);
  if (ids) return { conditions, ids };
  // The planner decides: another filter may match fewer records than the names do.
  return { conditions: named ? [...conditions, named] : conditions };
}

/** `named`: a condition that follows from the others, and narrows them by an index of names. */
export function buildFilters(
  sql: Query,
  scope: ScopeValues,
  kind: RecordKind,
  filters: Filters,
): Search & { named?: Fragment } {
  const active_filters = listActiveFilters(kind, filters);
  const conditions = active_filters.map(([name, filter]) => {
    const { columns, match } = filter;
    const value = storedValue(filter, filters[name]);
    return anyOf(
      sql,
      columns.map((column) => compare(sql, scope, column, { match, value })),
    );
  });
  const { client_id, organization_id } = scope;
  const organizations = sql`organization_id = ${organization_id}`;
  const named = active_filters.flatMap(([name, { columns, match }]) => {
    const fields = columns.map((column) => nameField(kind.name, column));
    const value = String(filters[name]);
    return (match === 'contains' && recordsNamed(sql, { client_id, organizations, fields }, value)) || [];
  });
  if (named.length === 0) return { conditions };
  const ids = named.map((each) => each.ids).reduce((all, each) => sql`${all} INTERSECT ${each}`);
  const complete = named.length === active_filters.length && named.every(({ exact }) => exact);
  return { conditions, named: sql`listed.id = ANY (ARRAY(${ids}))`, ...(complete && { ids }) };
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
  scope: ScopeValues,
  column: string,
  { match, value }: { match: Filter['match']; value: string | boolean },
): Fragment {
  const stored = sql`listed.${sql(column)}`;
  const day = () => unseen(sql, String(value), 'date');
  const timezone = () => sql`(SELECT timezone FROM organizations WHERE organizations.id = ${scope.organization_id})`;
  switch (match) {
    case 'equals':
      return sql`${stored} = ${unseen(sql, value, typeof value === 'boolean' ? 'boolean' : 'text')}`;
    case 'any_of':
      return sql`${stored} = ANY (ARRAY(SELECT unnest(string_to_array(
        ${unseen(sql, splitList(String(value)).join(','), 'text')}, ','))))`;
    case 'contains':
      return containsName(sql, stored, String(value));
    case 'from_day':
      return sql`${stored} >= ${day()}`;
    case 'to_day':
      return sql`${stored} <= ${day()}`;
    case 'from_local_day':
      return sql`${stored} >= ${day()}::timestamp AT TIME ZONE ${timezone()}`;
    case 'to_local_day':
      return sql`${stored} < (${day()} + 1)::timestamp AT TIME ZONE ${timezone()}`;
  }
}

function buildOrder(sql: Query, order: readonly Order[]): Fragment {
  return order.reduceRight(
    (rest, { column, descending }) => sql`${sql(column)} ${descending ? sql`DESC` : sql``}, ${rest}`,
    sql`id`,
  );
}

/** The first sync of a small practice takes a few seconds, of a large one minutes. */
const retry_after_s = 5;

/**
 * A condition: the first sync of this list has not finished, so that what is stored of it is incomplete. A list that the
 * EMR does not have is never read; it counts as unfinished until the organization's first sync has finished.
 */
export function isFirstSyncPending(sql: Query, organization_id: string | Fragment, kind: string | Fragment): Fragment {
  return sql`coalesce((SELECT first_read_at IS NULL FROM sync_passes
      WHERE sync_passes.organization_id = ${organization_id} AND sync_passes.kind = ${kind}),
    (SELECT synced_at IS NULL FROM organizations WHERE organizations.id = ${organization_id}))`;
}

/** A subquery for those of the kinds whose first sync has not finished, as a JSON array. */
export function pendingKinds(sql: Query, organization_id: string, kinds: readonly KindName[]): Fragment {
  return sql`(SELECT coalesce(json_agg(name), '[]') FROM unnest(${[...kinds]}::text[]) AS name
    WHERE ${isFirstSyncPending(sql, organization_id, sql`name`)})`;
}

/**
 * The error for a reference to a record that is not stored: `not_found`, unless the first sync may still add it. `among`
 * are the kinds that may have the record.
 */
export async function referenceError(
  source: Database | Tx,
  scope: { client_id: string; organization_id: string },
  among: readonly KindName[],
  not_found: ApiError,
): Promise<ApiError> {
  const query = (sql: Query) => sql`SELECT ${pendingKinds(sql, scope.organization_id, among)} AS pending`;
  const [row] =
    'read' in source
      ? await source.read<{ pending: KindName[] }>(scope.client_id, query)
      : await source<{ pending: KindName[] }[]>`${query(source)}`;
  return errorUnlessPending(row?.pending ?? [], among, not_found);
}

/** The same where the pending kinds are known. */
export function errorUnlessPending(
  pending: readonly KindName[],
  among: readonly KindName[],
  not_found: ApiError,
): ApiError {
  const kind = among.find((name) => pending.includes(name));
  if (kind === undefined) return not_found;
  const list = findKind(kind)?.labels.plural ?? kind;
  return apiError(
    'first_sync_pending',
    { list },
    { retry_after_s, ...(not_found.field && { field: not_found.field }) },
  );
}
