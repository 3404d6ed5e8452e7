import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { acceptOnce } from '../../../http/idempotency.ts';
import { success, sync_state, text } from '../../../model/fields.ts';
import { ProviderSettingsRequest, Settings } from '../../../model/settings.ts';
import { listCapabilities } from '../../../product/accounts/connectAccount.ts';
import { updateProviderSettings } from '../../../product/records/providers.ts';
import { referenceError } from '../../../product/records/readRecords.ts';
import { parseStatus, readSettings, setLocationStatus } from '../../../product/records/settings.ts';
import { requestSync } from '../../../product/records/syncPasses.ts';
import { for_reads, for_writes } from '../limitedSecrets.ts';

const declared = {
  surface: 'api',
  group: 'Practice',
  method: 'PATCH',
  auth: 'account',
  limited_secrets: for_writes,
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

export const locationsUpdate = endpoint({
  id: 'locations.update',
  surface: 'api',
  group: 'Practice',
  method: 'PATCH',
  path: '/v1/locations/{id}',
  auth: 'account',
  limited_secrets: for_writes,
  summary: 'Update a location',
  agent_tool: true,
  body: Type.Object(
    {
      status: text({
        description: 'Whether the location is `active` or `inactive`, case-insensitive',
        examples: ['active'],
      }),
    },
    { schema_name: 'LocationUpdate', description: 'Changes to a location’s settings' },
  ),
  params: Type.Object({ id: Type.String({ description: 'The location’s `id` from GET /v1/locations' }) }),
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Location updated.'] }),
    location_id: Type.String({
      description: 'Chartwire’s ID of the location',
      examples: ['01a1c5f0a4e87b21b3d94c6f7a8e9012'],
    }),
  }),
  errors: ['record_not_found'],
  found_in: { id: 'GET /v1/locations#/locations/0/id' },
  handle: ({ account, body, params, inTransaction }) =>
    inTransaction(async (tx) => {
      const id = parseId(params.id);
      const status = parseStatus(body.status);
      if (!id || !(await setLocationStatus(tx, account.organization_id, id, status))) {
        throw apiError('record_not_found', { noun: 'Location', id: params.id }, { field: 'id' });
      }
      return { success: true, message: 'Location updated.', location_id: id };
    }),
});

export const settingsGet = endpoint({
  id: 'settings.get',
  surface: 'api',
  group: 'Practice',
  method: 'GET',
  path: '/v1/settings',
  auth: 'account',
  limited_secrets: for_reads,
  audited: false,
  summary: 'Retrieve the settings of the EMR instance',
  agent_tool: 'get_settings',
  description: 'Time zone, visit types and statuses, languages, required patient fields and supported operations.',
  response: Type.Object({ success, data: Settings, sync: sync_state }),
  handle: async ({ ctx, account }) =>
    new JsonText(await readSettings(ctx.db, { ...account, capabilities: listCapabilities(ctx, account) })),
});

export const syncCreate = endpoint({
  id: 'sync.create',
  surface: 'api',
  group: 'Practice',
  method: 'POST',
  path: '/v1/sync',
  auth: 'account',
  limited_secrets: for_writes,
  summary: 'Sync the organization’s records',
  agent_tool: true,
  body: Type.Object({}),
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Sync queued. A webhook event follows on completion.'] }),
    job_id: Type.Integer(),
  }),
  events: ['sync.completed', 'sync.failed'],
  handle: ({ ctx, account, idempotency, auditSubject, auditStatement }) =>
    acceptOnce(ctx, account.client_id, idempotency, {
      accept: async () => {
        const target = { ...account, account_id: account.id };
        const { id, job_id } = await requestSync(ctx, ctx.db.service.pooled, target, {
          announce: true,
          idempotency,
          auditStatement,
        });
        if (job_id === undefined) return undefined;
        auditStatement?.committed();
        ctx.notifications.notify('chartwire_jobs', account.client_id);
        return { id, job_id };
      },
      respond: ({ id, job_id }) => {
        auditSubject({ subject: id, job_id });
        return { success: true, message: 'Sync queued. A webhook event follows on completion.', job_id };
      },
    }),
});
