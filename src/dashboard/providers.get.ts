import { Type } from 'typebox';
import { endpoint } from '../api/endpoint.ts';
import { refusal } from '../errors.ts';
import { parseId } from '../ids.ts';
import { edited_provider } from '../model/dashboard/records.ts';
import { success } from '../model/fields.ts';
import { readProvider } from '../records/providers.ts';
import { openOrganisation } from './openOrganisation.ts';
import { organisation_path, record_params } from './organisationPath.ts';

export default endpoint({
  id: 'dashboard.providers.get',
  method: 'GET',
  path: `${organisation_path}/providers/{id}`,
  auth: 'operator_in_client',
  audited: false,
  summary: 'A provider with what is set of it and what the EMR says',
  params: record_params,
  response: Type.Object({ success, ...edited_provider.properties }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const scope = await openOrganisation(ctx, client, params);
    const id = parseId(params.id);
    const found = id && (await readProvider(ctx.db, scope, id));
    if (!found) throw refusal('record_not_found', { noun: 'Provider', id: params.id });
    return { success: true, ...found };
  },
});
