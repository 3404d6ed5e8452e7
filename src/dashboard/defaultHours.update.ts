import { Type } from 'typebox';
import { endpoint } from '../api/endpoint.ts';
import { refusal } from '../errors.ts';
import { resettable, success } from '../model/fields.ts';
import { HoursRequest } from '../model/providerSettings.ts';
import { setDefaultHours } from '../records/defaultHours.ts';
import { openOrganisation } from './openOrganisation.ts';
import { organisation_params, organisation_path } from './organisationPath.ts';

export default endpoint({
  id: 'dashboard.default-hours.update',
  method: 'PATCH',
  path: `${organisation_path}/default-hours`,
  auth: 'operator_in_client',
  summary: 'Set what an organisation’s providers without hours work by; null returns to what holds for everyone',
  params: organisation_params,
  body: Type.Object({ hours: resettable(HoursRequest) }),
  response: Type.Object({ success }),
  errors: ['no_field', 'record_not_found', 'location_not_found'],
  handle: async ({ ctx, client, params, body, once }) => {
    const scope = await openOrganisation(ctx, client, params);
    const { hours } = body;
    if (hours === undefined) throw refusal('no_field');
    return once(async (tx) => {
      await setDefaultHours(tx, scope, hours);
      return { success: true };
    });
  },
});
