import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { clearable, success } from '../../../model/fields.ts';
import { HoursRequest } from '../../../model/settings.ts';
import { setAppointmentMinutes } from '../../../product/accounts/organizations.ts';
import { setDefaultHours } from '../../../product/records/hours.ts';
import { openOrganization, organization_params, organization_path } from './organization.ts';

export default endpoint({
  id: 'dashboard.default-hours.update',
  surface: 'dashboard',
  method: 'PATCH',
  path: `${organization_path}/default-hours`,
  auth: 'operator_in_client',
  summary: 'Set the default hours and appointment duration of an organization; null restores the standard',
  params: organization_params,
  body: Type.Object({
    hours: clearable(HoursRequest),
    appointment_minutes: clearable(Type.Integer({ minimum: 1, maximum: 1440 })),
  }),
  response: Type.Object({ success }),
  errors: ['no_field', 'record_not_found', 'location_not_found', 'first_sync_pending'],
  handle: async ({ ctx, client, params, body, inTransaction }) => {
    const scope = await openOrganization(ctx, client, params);
    const { hours, appointment_minutes } = body;
    if (hours === undefined && appointment_minutes === undefined) throw apiError('no_field');
    return inTransaction(async (tx) => {
      if (hours !== undefined) await setDefaultHours(tx, scope, hours);
      if (appointment_minutes !== undefined) {
        await setAppointmentMinutes(tx, scope.organization_id, appointment_minutes);
      }
      return { success: true };
    });
  },
});
