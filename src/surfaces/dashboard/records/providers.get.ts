import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { edited_provider } from '../../../model/dashboard/records.ts';
import { success } from '../../../model/fields.ts';
import { readProvider } from '../../../product/records/providers.ts';
import { openOrganization, organization_path, record_params } from './organization.ts';

export default endpoint({
  id: 'dashboard.providers.get',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/providers/{id}`,
  auth: 'operator_in_client',
  role: 'read_only',
  audited: false,
  summary: 'Retrieve a provider, its settings in the service, and the EMR’s values',
  params: record_params,
  response: Type.Object({ success, ...edited_provider.properties }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => {
    const scope = await openOrganization(ctx, client, params);
    const id = parseId(params.id);
    const found = id && (await readProvider(ctx.db, scope, id));
    if (!found) throw apiError('record_not_found', { noun: 'Provider', id: params.id });
    return { success: true, ...found };
  },
});
