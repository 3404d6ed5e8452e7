import { type TProperties, type TSchema, Type } from 'typebox';
import { type Endpoint, type EndpointRequest, endpoint, JsonText } from '../../http/endpoint.ts';
import { patientsOf } from '../../model/events.ts';
import { pagination, paging, success, sync_state } from '../../model/fields.ts';
import { type Kind, record_kinds } from '../../model/records/kinds.ts';
import { pathOf, type RecordList } from '../../model/records/recordKind.ts';
import { readList, readPage } from '../../product/records/readRecords.ts';

/** `GET /v1/<kind>` for every record kind that declares a list, and `POST /v1/<kind>/search` where it declares one. */
export const recordLists: readonly Endpoint[] = record_kinds.flatMap((kind) =>
  kind.list ? listEndpoints(kind, kind.list) : [],
);

function listEndpoints(kind: Kind, list: RecordList): Endpoint[] {
  const declared = {
    id: `${kind.name.replaceAll('_', '-')}.list`,
    surface: 'api',
    group: kind.group,
    method: 'GET',
    path: pathOf(kind),
    auth: 'account',
    needs: { operation: kind.operation, label: kind.labels.plural },
    summary: list.summary,
    agent_tool: true,
    audited: kind.mrn_column !== undefined,
  } as const;
  const records = Type.Array(kind.wire, { description: `The ${kind.labels.plural}` });
  switch (list.returns) {
    case 'all':
      return [
        endpoint({
          ...declared,
          ...(Object.keys(kind.filters).length > 0 && { query: Type.Object(optionals(schemasOf(kind))) }),
          response: Type.Object({ success, [kind.name]: records, sync: sync_state }),
          handle: async ({ ctx, account, query }) =>
            new JsonText(await readList(ctx.db, account, kind, { filters: query ?? {} })),
        }),
      ];
    case 'one_patient': {
      const { patient_mrn, ...optional } = schemasOf(kind);
      if (!patient_mrn) throw new Error(`${kind.name} has no filter patient_mrn.`);
      return [
        endpoint({
          ...declared,
          query: Type.Object({ patient_mrn, ...optionals(optional) }),
          response: Type.Object({ success, [kind.name]: records, sync: sync_state }),
          handle: async ({ ctx, account, query, auditPatients }) => {
            auditPatients(patientsOf(query));
            const { records_max } = list;
            return new JsonText(await readList(ctx.db, account, kind, { filters: query, records_max }));
          },
        }),
      ];
    }
    case 'pages': {
      const sent = Type.Object({ ...optionals(schemasOf(kind)), ...paging(100, list.page_size_max) });
      const response = Type.Object({ success, [kind.name]: records, pagination, sync: sync_state });
      const listed = endpoint({
        ...declared,
        query: sent,
        response,
        handle: (request) => respondWithPage(kind, request, request.query),
      });
      if (!list.search) return [listed];
      const { summary, schema_name } = list.search;
      const description = `Filters and paging of a search for ${kind.labels.plural}`;
      const searched = endpoint({
        ...declared,
        id: declared.id.replace(/list$/, 'search'),
        method: 'POST',
        path: `${declared.path}/search`,
        summary,
        description: `The same as \`GET ${declared.path}\`, with the filters in the body, because URLs end up in access logs.`,
        reads: true,
        body_filters: true,
        body: Type.Object(sent.properties, { schema_name, description }),
        response,
        handle: (request) => respondWithPage(kind, request, request.body),
      });
      return [listed, searched];
    }
  }
}

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
  const { body, mrns } = await readPage(ctx.db, account, kind, filters, { page, page_size });
  auditPatients(mrns);
  auditPatients(patientsOf(filters));
  return new JsonText(body);
}

/** The schemas of a kind's filters, by name. */
function schemasOf(kind: Kind): Record<string, TSchema> {
  return Object.fromEntries(Object.entries(kind.filters).map(([name, { schema }]) => [name, schema]));
}

function optionals(schemas: Record<string, TSchema>): TProperties {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, Type.Optional(schema)]));
}
