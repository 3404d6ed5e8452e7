import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { syncSoon } from '../../../product/accounts/organizations.ts';
import { confirmRemovals } from '../../../product/records/syncPasses.ts';
import { openOrganization, organization_params, organization_path } from './organization.ts';

export default endpoint({
  id: 'dashboard.removals.confirm',
  surface: 'dashboard',
  method: 'POST',
  path: `${organization_path}/removals/{kind}/confirm`,
  auth: 'operator_in_client',
  role: 'operator',
  summary: 'Let the next sync of a list remove the records that the EMR no longer lists',
  params: Type.Object({ ...organization_params.properties, kind: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, inTransaction, auditSubject }) => {
    const { organization_id } = await openOrganization(ctx, client, params);
    return inTransaction(async (tx) => {
      const removals = await confirmRemovals(tx, organization_id, params.kind);
      if (!removals) throw apiError('record_not_found', { noun: 'Held removal', id: params.kind });
      await syncSoon(tx, organization_id);
      auditSubject({ subject: organization_id, detail: { kind: params.kind, ...removals } });
      return { success: true };
    });
  },
});
