import { Type } from 'typebox';
import { endpoint } from '../api/endpoint.ts';
import { refusal } from '../errors.ts';
import { parseId } from '../ids.ts';
import { success } from '../model/fields.ts';
import { ProviderSettingsRequest } from '../model/providerSettings.ts';
import { patchProvider } from '../records/patchProvider.ts';
import { openOrganisation } from './openOrganisation.ts';
import { organisation_path, record_params } from './organisationPath.ts';

export default endpoint({
  id: 'dashboard.providers.update',
  method: 'PATCH',
  path: `${organisation_path}/providers/{id}`,
  auth: 'operator_in_client',
  summary: 'Set a provider’s status, visibility and hours',
  params: record_params,
  body: ProviderSettingsRequest,
  response: Type.Object({ success }),
  errors: ['no_field', 'record_not_found', 'location_not_found'],
  handle: async ({ ctx, client, params, body, once }) => {
    const scope = await openOrganisation(ctx, client, params);
    return once(async (tx) => {
      const id = parseId(params.id);
      if (!id || !(await patchProvider(tx, scope, { id }, body))) {
        throw refusal('record_not_found', { noun: 'Provider', id: params.id });
      }
      return { success: true };
    });
  },
});
