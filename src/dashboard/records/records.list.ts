import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint, JsonText } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { listRecords } from '../../records/list.ts';
import { openOrganization } from './openOrganization.ts';
import { organization_params, organization_path } from './organizationPath.ts';

/** The kinds of which a practice has few: the practice itself, and nothing of a patient. */
const short_kinds = ['providers', 'locations', 'staff', 'pharmacies', 'visit_types'] as const;

export default endpoint({
  id: 'dashboard.records.list',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/records/{kind}`,
  auth: 'operator_in_client',
  audited: false,
  summary: 'All records of a kind of which an organization has few',
  params: Type.Object({ ...organization_params.properties, kind: Type.String() }),
  response: Type.Object({ success }, { additionalProperties: true }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const kind = short_kinds.find((each) => each === params.kind);
    if (!kind) throw apiError('record_not_found', { noun: 'List', id: params.kind });
    return new JsonText(await listRecords(ctx.db, await openOrganization(ctx, client, params), kind));
  },
});
