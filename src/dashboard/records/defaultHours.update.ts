import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { resettable, success } from '../../model/fields.ts';
import { HoursRequest } from '../../model/providerSettings.ts';
import { setDefaultHours } from '../../records/hours.ts';
import { openOrganization, organization_params, organization_path } from './organization.ts';

export default endpoint({
  id: 'dashboard.default-hours.update',
  surface: 'dashboard',
  method: 'PATCH',
  path: `${organization_path}/default-hours`,
  auth: 'operator_in_client',
  summary: 'Set the default hours of an organization; null restores the standard hours',
  params: organization_params,
  body: Type.Object({ hours: resettable(HoursRequest) }),
  response: Type.Object({ success }),
  errors: ['no_field', 'record_not_found', 'location_not_found'],
  handle: async ({ ctx, client, params, body, inTransaction }) => {
    const scope = await openOrganization(ctx, client, params);
    const { hours } = body;
    if (hours === undefined) throw apiError('no_field');
    return inTransaction(async (tx) => {
      await setDefaultHours(tx, scope, hours);
      return { success: true };
    });
  },
});
