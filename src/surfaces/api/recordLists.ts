import { type TProperties, type TSchema, Type } from 'typebox';
import { apiError } from '../../catalog/errors.ts';
import { type Endpoint, type EndpointRequest, endpoint, JsonText } from '../../http/endpoint.ts';
import { collectMrns } from '../../model/events.ts';
import { choices, flag, pagination, paging, success, sync_state } from '../../model/fields.ts';
import { type Kind, record_kinds } from '../../model/records/kinds.ts';
import { type PagedList, type RecordList, type RecordSearch, toListPath } from '../../model/records/recordKind.ts';
import { daysBetween } from '../../platform/time/days.ts';
import { readList, readPage } from '../../product/records/readRecords.ts';
import { walkRecords } from '../../product/records/walkRecords.ts';
import { for_reads } from './limitedSecrets.ts';
import { checkPaging, type Paging } from './paging.ts';

/** `GET /v1/<kind>` for every record kind that declares a list, and `POST /v1/<kind>/search` where it declares one. */
export const recordLists: readonly Endpoint[] = record_kinds.flatMap((kind) =>
  kind.list ? listEndpoints(kind, kind.list) : [],
);

function listEndpoints(kind: Kind, list: RecordList): Endpoint[] {
  switch (list.returns) {
    case 'all':
      return [listAll(kind, list)];
    case 'one_patient':
      return [listOfPatient(kind, list)];
    case 'pages':
      return list.search ? [listPages(kind, list), searchPages(kind, list, list.search)] : [listPages(kind, list)];
  }
}

/** What the endpoints of a list have in common. */
function declareList(kind: Kind, { summary }: RecordList) {
  return {
    id: `${kind.name.replaceAll('_', '-')}.list`,
    surface: 'api',
    group: kind.group,
    method: 'GET',
    path: toListPath(kind),
    auth: 'account',
    limited_secrets: for_reads,
    needs: { operation: kind.operation, label: kind.labels.plural },
    summary,
    agent_tool: true,
    audited: kind.mrn_column !== undefined,
  } as const;
}

function describeRecords(kind: Kind) {
  return Type.Array(kind.wire, { description: `The ${kind.labels.plural}` });
}

function listAll(kind: Kind, list: RecordList): Endpoint {
  return endpoint({
    ...declareList(kind, list),
    ...(Object.keys(kind.filters).length > 0 && { query: Type.Object(optionals(collectSchemas(kind))) }),
    response: Type.Object({ success, [kind.name]: describeRecords(kind), sync: sync_state }),
    handle: async ({ ctx, account, query }) =>
      new JsonText(await readList(ctx.db, account, kind, { filters: query ?? {} })),
  });
}

function listOfPatient(kind: Kind, list: ListReturning<'one_patient'>): Endpoint {
  const { patient_mrn, ...optional } = collectSchemas(kind);
  if (!patient_mrn) throw new Error(`${kind.name} has no filter patient_mrn.`);
  const { records_max } = list;
  return endpoint({
    ...declareList(kind, list),
    query: Type.Object({ patient_mrn, ...optionals(optional) }),
    response: Type.Object({ success, [kind.name]: describeRecords(kind), sync: sync_state }),
    handle: async ({ ctx, account, query, auditPatients }) => {
      auditPatients(collectMrns(query));
      return new JsonText(await readList(ctx.db, account, kind, { filters: query, records_max }));
    },
  });
}

function listPages(kind: Kind, list: ListReturning<'pages'>): Endpoint {
  return endpoint({
    ...declareList(kind, list),
    query: pageQuery(kind, list),
    response: describePage(kind),
    handle: (request) => respondWithPage(kind, list, request, request.query),
  });
}

function searchPages(kind: Kind, list: ListReturning<'pages'>, { summary, schema_name }: RecordSearch): Endpoint {
  const declared = declareList(kind, list);
  const description = `Filters and paging of a search for ${kind.labels.plural}`;
  return endpoint({
    ...declared,
    id: declared.id.replace(/list$/, 'search'),
    method: 'POST',
    path: `${declared.path}/search`,
    summary,
    description: `The same as \`GET ${declared.path}\`, with the filters in the body, because URLs end up in access logs.`,
    reads: true,
    body_filters: true,
    body: Type.Object(pageQuery(kind, list).properties, { schema_name, description }),
    response: describePage(kind),
    handle: (request) => respondWithPage(kind, list, request, request.body),
  });
}

function pageQuery(kind: Kind, { page_size_max, required = [], sorts, withheld }: ListReturning<'pages'>) {
  const schemas = Object.entries(collectSchemas(kind));
  const isRequired = ([name]: [string, TSchema]) => required.includes(name);
  return Type.Object({
    ...Object.fromEntries(schemas.filter(isRequired)),
    ...optionals(Object.fromEntries(schemas.filter((each) => !isRequired(each)))),
    ...(sorts && optionals({ sort: describeSorts(sorts) })),
    ...(withheld && optionals({ [withheld.parameter]: flag(withheld.description) })),
    ...paging(100, page_size_max),
  });
}

function describeSorts(sorts: NonNullable<PagedList['sorts']>) {
  const values = Object.entries(sorts).map(([name, { description }]) => [name, description]);
  return choices(Object.fromEntries(values), { description: 'Another order of the list. Not with cursor' });
}

function describePage(kind: Kind) {
  return Type.Object({ success, [kind.name]: describeRecords(kind), pagination, sync: sync_state });
}

type ListReturning<Returns extends RecordList['returns']> = Extract<RecordList, { returns: Returns }>;
type PageRequest = Pick<
  EndpointRequest<'account', undefined, undefined, undefined>,
  'ctx' | 'account' | 'auditPatients'
>;
type PageFilters = Record<string, unknown> & Paging & { sort?: string | undefined };

async function respondWithPage(
  kind: Kind,
  list: ListReturning<'pages'>,
  { ctx, account, auditPatients }: PageRequest,
  { page, cursor, page_size, sort, ...filters }: PageFilters,
): Promise<JsonText> {
  checkSpan(list, filters);
  checkPaging({ page, cursor });
  if (sort !== undefined && cursor !== undefined) {
    throw apiError('invalid_field', { rule: 'sort and cursor cannot be combined' }, { field: 'sort' });
  }
  const order = sort === undefined ? undefined : list.sorts?.[sort]?.order;
  const withheld = list.withheld && filters[list.withheld.parameter] !== 'true' ? list.withheld : undefined;
  const { body, mrns } =
    cursor === undefined
      ? await readPage(ctx.db, account, kind, { filters, page, page_size, order, withheld })
      : await walkRecords(ctx, account, kind, { filters, cursor, page_size, withheld });
  auditPatients(mrns);
  auditPatients(collectMrns(filters));
  return new JsonText(body);
}

function checkSpan({ days_max }: PagedList, { start_date, end_date }: Record<string, unknown>): void {
  if (days_max === undefined || daysBetween(String(start_date), String(end_date)) <= days_max) return;
  const rule = `end_date must be at most ${days_max} days after start_date`;
  throw apiError('invalid_field', { rule }, { field: 'end_date' });
}

/** The schemas of a kind's filters, by name. */
function collectSchemas(kind: Kind): Record<string, TSchema> {
  return Object.fromEntries(Object.entries(kind.filters).map(([name, { schema }]) => [name, schema]));
}

function optionals(schemas: Record<string, TSchema>): TProperties {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, Type.Optional(schema)]));
}
