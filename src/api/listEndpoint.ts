import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { OperationName } from '../connectors/connector.ts';
import { patientsOf } from '../events.ts';
import { type Endpoint, endpoint, JsonText } from '../http/endpoint.ts';
import { pagination, paging, success } from '../model/fields.ts';
import type { Group } from '../model/groups.ts';
import { listRecords } from '../records/list.ts';
import { type Paged, readPage } from '../records/page.ts';

/** The endpoint that lists all records of a kind. */
export function listEndpoint(table: Parameters<typeof listRecords>[2], schema: TSchema, summary: string): Endpoint {
  return endpoint({
    ...named(table),
    group: 'Practice',
    summary,
    // The practice itself: its people, places and codes, and nothing of a patient.
    audited: false,
    response: Type.Object({ success, [table]: Type.Array(schema) }),
    handle: async ({ ctx, account }) => new JsonText(await listRecords(ctx.db, account, table)),
  });
}

/** The endpoint that lists records of a kind by pages and filters. */
export function pageEndpoint<Filters extends TProperties>(
  list: Paged<Static<TObject<Filters>>>,
  options: {
    schema: TSchema;
    group: Group;
    summary: string;
    filters: Filters;
    page_size_max: number;
    /** What no single filter shows to be wrong. */
    check?: (filters: Static<TObject<Filters>>) => void;
  },
): Endpoint {
  return endpoint({
    ...named(list.table),
    group: options.group,
    summary: options.summary,
    // Insurance companies and referring providers are reference lists like those above.
    audited: list.mrn !== undefined,
    query: Type.Object({ ...options.filters, ...paging(100, options.page_size_max) }),
    response: Type.Object({ success, [list.table]: Type.Array(options.schema), pagination }),
    handle: async ({ ctx, account, query, auditPatients }) => {
      // The query's schema is these very filters with the two paging parameters.
      const filters = query as unknown as Static<TObject<Filters>>;
      options.check?.(filters);
      const { body, mrns } = await readPage(ctx.db, account, list, filters);
      auditPatients([...mrns, ...patientsOf(filters)]);
      return new JsonText(body);
    },
  });
}

/** A list has the name of its table, as paths are spelled; a sync fills it by the operation of that name. */
function named(table: string) {
  const name = table.replaceAll('_', '-');
  const operation = `list${table.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}`;
  // Every list is filled by an operation that is called so; a test holds the names to it.
  const needs = { operation: operation as OperationName, label: table.replaceAll('_', ' ') };
  return { id: `${name}.list`, surface: 'api', method: 'GET', path: `/v1/${name}`, auth: 'account', needs } as const;
}
