import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { ProviderSettingsRequest } from '../../../model/settings.ts';
import { updateProviderSettings } from '../../../product/records/providers.ts';
import { openOrganization, organization_path, record_params } from './organization.ts';

export default endpoint({
  id: 'dashboard.providers.update',
  surface: 'dashboard',
  method: 'PATCH',
  path: `${organization_path}/providers/{id}`,
  auth: 'operator_in_client',
  summary: 'Update a provider',
  params: record_params,
  body: ProviderSettingsRequest,
  response: Type.Object({ success }),
  errors: ['no_field', 'record_not_found', 'location_not_found', 'first_sync_pending'],
  handle: async ({ ctx, client, params, body, inTransaction }) => {
    const scope = await openOrganization(ctx, client, params);
    return inTransaction(async (tx) => {
      const id = parseId(params.id);
      if (!id || !(await updateProviderSettings(tx, scope, { id }, body))) {
        throw apiError('record_not_found', { noun: 'Provider', id: params.id });
      }
      return { success: true };
    });
  },
});
