import { Type } from 'typebox';
import { apiError } from '../../catalog/errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { emr_settings_changes, identifier_sample } from '../../model/dashboard/emrSettings.ts';
import { success } from '../../model/fields.ts';
import { getAccount } from '../../product/accounts/accounts.ts';
import { askEmr, checkMrnSetting } from '../../product/accounts/askEmr.ts';
import { connectorOf } from '../../product/accounts/openAccount.ts';
import { lockEmrSettings, setEmrSettings } from '../../product/accounts/organizations.ts';
import { lowerWriteLimits } from '../../product/accounts/serverFacts.ts';
import type { Context } from '../../product/context.ts';
import { requestSyncForRule } from '../../product/records/requestSync.ts';
import { openOrganization, organization_params, organization_path } from './records/organization.ts';

export const emrSettingsUpdate = endpoint({
  id: 'dashboard.emr-settings.update',
  surface: 'dashboard',
  method: 'PATCH',
  path: `${organization_path}/emr-settings`,
  auth: 'operator_in_client',
  role: 'operator',
  summary: 'Set which identifier is the MRN, and how many writes may run in parallel; null restores the default',
  params: organization_params,
  body: emr_settings_changes,
  response: Type.Object({ success }),
  errors: ['no_field', 'record_not_found', 'unsupported_field'],
  handle: async ({ ctx, client, params, body, inTransaction, auditSubject }) => {
    const { organization_id } = await openOrganization(ctx, client, params);
    if (Object.keys(body).length === 0) throw apiError('no_field');
    const response = await inTransaction(async (tx) => {
      const { connector, ...before } = await lockEmrSettings(tx, organization_id);
      const mrn = checkMrnSetting(ctx, connector, { ...before, ...body });
      const { parallel_writes_max } = { ...before, ...body };
      if (body.parallel_writes_max) requireMeasured(ctx, connector);
      await setEmrSettings(tx, organization_id, { ...mrn, parallel_writes_max });
      const { measured_max = 1 } = connectorOf(ctx, connector).limits;
      await lowerWriteLimits(tx, organization_id, parallel_writes_max ?? measured_max);
      if (mrn.mrn_system !== before.mrn_system || mrn.mrn_type !== before.mrn_type) {
        await requestSyncForRule(ctx, tx, client.id, { organization_id });
      }
      auditSubject({ subject: organization_id, detail: { ...mrn, parallel_writes_max } });
      return { success: true };
    });
    ctx.notifications.notify('chartwire_jobs', client.id);
    return response;
  },
});

/** A POST, so that no cache, history entry or prefetch can show health data. */
export const accountsIdentifiers = endpoint({
  id: 'dashboard.accounts.identifiers',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/identifiers',
  auth: 'operator_in_client',
  role: 'operator',
  summary: 'Read the identifiers of a few patients from the EMR, masked, to tell which one is the MRN',
  params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, sample: identifier_sample }),
  errors: ['record_not_found', 'account_revoked', 'emr_check_refused', 'emr_unavailable'],
  handle: async ({ ctx, client, params, auditPatients, auditSubject }) => {
    const account = await ctx.db.tenant(client.id, (tx) => getAccount(tx, params.account_id));
    if (account.status === 'revoked') throw apiError('account_revoked');
    auditSubject({ subject: account.id });
    const { patients, mrns, identifiers } = (await askEmr(ctx, account, (opened) => opened.sampleIdentifiers())) ?? {
      patients: 0,
      mrns: [],
      identifiers: [],
    };
    auditPatients(mrns);
    const masked = identifiers.map(({ values, ...each }) => ({ ...each, examples: values.map(mask) }));
    return { success: true, sample: { patients, identifiers: masked } };
  },
});

/** Only the last two characters, without the length; nothing for a short value. */
function mask(value: string): string {
  const characters = [...value];
  return `•••${characters.length < 4 ? '' : characters.slice(-2).join('')}`;
}

function requireMeasured(ctx: Context, connector: string): void {
  const field = 'parallel_writes_max';
  if (connectorOf(ctx, connector).limits.measured_max === undefined)
    throw apiError('unsupported_field', { field }, { field });
}
