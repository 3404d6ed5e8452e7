import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { findKind, record_kinds } from '../../../model/records/kinds.ts';
import { readList } from '../../../product/records/readRecords.ts';
import { openOrganization, organization_params, organization_path } from './organization.ts';

/** A response contains the records of one kind, under the kind's name. */
const lists = record_kinds
  .filter(({ list }) => list?.returns === 'all')
  .map(({ name, wire }) => [name, Type.Optional(Type.Array(wire))] as const);

export default endpoint({
  id: 'dashboard.records.list',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/records/{kind}`,
  auth: 'operator_in_client',
  role: 'read_only',
  audited: false,
  summary: 'List all records of a kind',
  params: Type.Object({ ...organization_params.properties, kind: Type.String() }),
  response: Type.Object({ success, ...Object.fromEntries(lists) }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const kind = findKind(params.kind);
    if (kind?.list?.returns !== 'all') throw apiError('record_not_found', { noun: 'List', id: params.kind });
    return new JsonText(await readList(ctx.db, await openOrganization(ctx, client, params), kind));
  },
});
