import { type TProperties, type TSchema, Type } from 'typebox';
import { type Endpoint, type EndpointRequest, endpoint, JsonText } from '../../http/endpoint.ts';
import { collectMrns } from '../../model/events.ts';
import { pagination, paging, success, sync_state } from '../../model/fields.ts';
import { type Kind, record_kinds } from '../../model/records/kinds.ts';
import { type RecordList, type RecordSearch, toListPath } from '../../model/records/recordKind.ts';
import { readList, readPage } from '../../product/records/readRecords.ts';

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
    handle: (request) => respondWithPage(kind, request, request.query),
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
    handle: (request) => respondWithPage(kind, request, request.body),
  });
}

function pageQuery(kind: Kind, { page_size_max }: ListReturning<'pages'>) {
  return Type.Object({ ...optionals(collectSchemas(kind)), ...paging(100, page_size_max) });
}

function describePage(kind: Kind) {
  return Type.Object({ success, [kind.name]: describeRecords(kind), pagination, sync: sync_state });
}

type ListReturning<Returns extends RecordList['returns']> = Extract<RecordList, { returns: Returns }>;
type PageRequest = Pick<
  EndpointRequest<'account', undefined, undefined, undefined>,
  'ctx' | 'account' | 'auditPatients'
>;
type PageFilters = Record<string, unknown> & { page?: number; page_size?: number };

async function respondWithPage(
  kind: Kind,
  { ctx, account, auditPatients }: PageRequest,
  { page, page_size, ...filters }: PageFilters,
): Promise<JsonText> {
  const { body, mrns } = await readPage(ctx.db, account, kind, { filters, page, page_size });
  auditPatients(mrns);
  auditPatients(collectMrns(filters));
  return new JsonText(body);
}

/** The schemas of a kind's filters, by name. */
function collectSchemas(kind: Kind): Record<string, TSchema> {
  return Object.fromEntries(Object.entries(kind.filters).map(([name, { schema }]) => [name, schema]));
}

function optionals(schemas: Record<string, TSchema>): TProperties {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, Type.Optional(schema)]));
}
