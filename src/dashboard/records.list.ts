import { Type } from 'typebox';
import { endpoint, JsonText } from '../api/endpoint.ts';
import { refusal } from '../errors.ts';
import { success } from '../model/fields.ts';
import { listRecords } from '../records/list.ts';
import { openOrganisation } from './openOrganisation.ts';
import { organisation_params, organisation_path } from './organisationPath.ts';

/** The kinds of which a practice has few: the practice itself, and nothing of a patient. */
const short_kinds = ['providers', 'locations', 'staff', 'pharmacies', 'visit_types'] as const;

export default endpoint({
  id: 'dashboard.records.list',
  method: 'GET',
  path: `${organisation_path}/records/{kind}`,
  auth: 'operator_in_client',
  audited: false,
  summary: 'All records of a kind of which an organisation has few',
  params: Type.Object({ ...organisation_params.properties, kind: Type.String() }),
  response: Type.Object({ success }, { additionalProperties: true }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const kind = short_kinds.find((each) => each === params.kind);
    if (!kind) throw refusal('record_not_found', { noun: 'List', id: params.kind });
    return new JsonText(await listRecords(ctx.db, await openOrganisation(ctx, client, params), kind));
  },
});
