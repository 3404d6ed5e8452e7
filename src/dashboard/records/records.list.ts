import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint, JsonText } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { Location } from '../../model/location.ts';
import { Pharmacy } from '../../model/pharmacy.ts';
import { Provider } from '../../model/provider.ts';
import { StaffMember } from '../../model/staff.ts';
import { VisitCode } from '../../model/visitCode.ts';
import { listRecords } from '../../records/list.ts';
import { openOrganization } from './openOrganization.ts';
import { organization_params, organization_path } from './organizationPath.ts';

/** The kinds of which a practice has few: the practice itself, and nothing of a patient. */
const short_kinds = ['providers', 'locations', 'staff', 'pharmacies', 'visit_types'] as const;

export default endpoint({
  id: 'dashboard.records.list',
  method: 'GET',
  path: `${organization_path}/records/{kind}`,
  auth: 'operator_in_client',
  audited: false,
  summary: 'All records of a kind of which an organization has few',
  params: Type.Object({ ...organization_params.properties, kind: Type.String() }),
  response: Type.Object({
    success,
    providers: Type.Optional(Type.Array(Provider)),
    locations: Type.Optional(Type.Array(Location)),
    staff: Type.Optional(Type.Array(StaffMember)),
    pharmacies: Type.Optional(Type.Array(Pharmacy)),
    visit_types: Type.Optional(Type.Array(VisitCode)),
  }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const kind = short_kinds.find((each) => each === params.kind);
    if (!kind) throw apiError('record_not_found', { noun: 'List', id: params.kind });
    return new JsonText(await listRecords(ctx.db, await openOrganization(ctx, client, params), kind));
  },
});
