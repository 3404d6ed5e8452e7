import { type TProperties, type TSchema, Type } from 'typebox';
import { patientsOf } from '../events.ts';
import { type Endpoint, endpoint, JsonText } from '../http/endpoint.ts';
import { pagination, paging, success, sync_state } from '../model/fields.ts';
import { type Kind, record_kinds } from '../model/records/kinds.ts';
import { pathOf, type RecordList } from '../model/records/recordKind.ts';
import { readList, readPage } from '../records/readRecords.ts';

/** `GET /v1/<kind>` for every record kind that declares a list. */
export const recordLists: readonly Endpoint[] = record_kinds.flatMap((kind) =>
  kind.list ? [listEndpoint(kind, kind.list)] : [],
);

function listEndpoint(kind: Kind, list: RecordList): Endpoint {
  const declared = {
    id: `${kind.name.replaceAll('_', '-')}.list`,
    surface: 'api',
    group: kind.group,
    method: 'GET',
    path: pathOf(kind),
    auth: 'account',
    needs: { operation: kind.operation, label: kind.labels.plural },
    summary: list.summary,
    audited: kind.mrn_column !== undefined,
  } as const;
  const records = Type.Array(kind.wire, { description: `The ${kind.labels.plural}` });
  switch (list.returns) {
    case 'all':
      return endpoint({
        ...declared,
        ...(Object.keys(kind.filters).length > 0 && { query: Type.Object(optionals(schemasOf(kind))) }),
        response: Type.Object({ success, [kind.name]: records, sync: sync_state }),
        handle: async ({ ctx, account, query }) =>
          new JsonText(await readList(ctx.db, account, kind, { filters: query ?? {} })),
      });
    case 'one_patient': {
      const { patient_mrn, ...optional } = schemasOf(kind);
      if (!patient_mrn) throw new Error(`${kind.name} has no filter patient_mrn.`);
      return endpoint({
        ...declared,
        query: Type.Object({ patient_mrn, ...optionals(optional) }),
        response: Type.Object({ success, [kind.name]: records, sync: sync_state }),
        handle: async ({ ctx, account, query, auditPatients }) => {
          auditPatients(patientsOf(query));
          const { records_max } = list;
          return new JsonText(await readList(ctx.db, account, kind, { filters: query, records_max }));
        },
      });
    }
    case 'pages':
      return endpoint({
        ...declared,
        query: Type.Object({ ...optionals(schemasOf(kind)), ...paging(100, list.page_size_max) }),
        response: Type.Object({ success, [kind.name]: records, pagination, sync: sync_state }),
        handle: async ({ ctx, account, query: { page, page_size, ...filters }, auditPatients }) => {
          const { body, mrns } = await readPage(ctx.db, account, kind, filters, { page, page_size });
          auditPatients(mrns);
          auditPatients(patientsOf(filters));
          return new JsonText(body);
        },
      });
  }
}

/** The schemas of a kind's filters, by name. */
function schemasOf(kind: Kind): Record<string, TSchema> {
  return Object.fromEntries(Object.entries(kind.filters).map(([name, { schema }]) => [name, schema]));
}

function optionals(schemas: Record<string, TSchema>): TProperties {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, Type.Optional(schema)]));
}
