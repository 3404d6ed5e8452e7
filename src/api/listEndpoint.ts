import { type TSchema, Type } from 'typebox';
import { success } from '../model/fields.ts';
import { listRecords } from '../records/list.ts';
import { type Endpoint, endpoint, JsonText } from './endpoint.ts';

/** The endpoint that lists all records of a kind. */
export function listEndpoint(table: Parameters<typeof listRecords>[2], schema: TSchema, summary: string): Endpoint {
  return endpoint({
    id: `${table}.list`,
    method: 'GET',
    path: `/v1/${table}`,
    auth: 'account',
    summary,
    response: Type.Object({ success, [table]: Type.Array(schema) }),
    handle: async ({ ctx, account }) => new JsonText(await listRecords(ctx.db, account, table)),
  });
}
