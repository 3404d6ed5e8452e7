import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { ProviderSettingsRequest } from '../../../model/settings.ts';
import { referenceError } from '../../../product/records/readRecords.ts';
import { updateProviderSettings } from '../../../product/records/providers.ts';

const declared = {
  surface: 'api',
  group: 'Practice',
  method: 'PATCH',
  auth: 'account',
  body: ProviderSettingsRequest,
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Provider updated.'] }),
    provider_id: Type.String({
      description: 'Chartwire’s ID of the provider',
      examples: ['01a1c5f0a4e87b21b3d94c6f7a8e9012'],
    }),
  }),
} as const;

export const updateByEhrId = endpoint({
  ...declared,
  id: 'providers.update-by-ehr-id',
  path: '/v1/providers/ehr/{ehr_id}',
  summary: 'Update a provider by its EMR ID',
  agent_tool: true,
  params: Type.Object({ ehr_id: Type.String({ description: 'The provider’s `ehr_id` from GET /v1/providers' }) }),
  errors: ['no_field', 'provider_not_found', 'location_not_found', 'first_sync_pending'],
  handle: ({ account, body, params, inTransaction }) =>
    inTransaction(async (tx) => {
      const id = await updateProviderSettings(tx, account, { ehr_id: params.ehr_id }, body);
      if (!id) {
        const unknown = apiError('provider_not_found', { id: params.ehr_id }, { field: 'ehr_id' });
        throw await referenceError(tx, account, ['providers'], unknown);
      }
      return updated(id);
    }),
});

export const updateById = endpoint({
  ...declared,
  id: 'providers.update',
  path: '/v1/providers/{id}',
  summary: 'Update a provider',
  agent_tool: true,
  params: Type.Object({ id: Type.String({ description: 'The provider’s `id` from GET /v1/providers' }) }),
  errors: ['no_field', 'record_not_found', 'location_not_found', 'first_sync_pending'],
  found_in: { id: 'GET /v1/providers#/providers/0/id' },
  handle: ({ account, body, params, inTransaction }) =>
    inTransaction(async (tx) => {
      const parsed = parseId(params.id);
      const id = parsed && (await updateProviderSettings(tx, account, { id: parsed }, body));
      if (!id) throw apiError('record_not_found', { noun: 'Provider', id: params.id }, { field: 'id' });
      return updated(id);
    }),
});

function updated(provider_id: string) {
  return { success: true, message: 'Provider updated.', provider_id };
}
