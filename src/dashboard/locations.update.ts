import { Type } from 'typebox';
import { endpoint } from '../api/endpoint.ts';
import { refusal } from '../errors.ts';
import { parseId } from '../ids.ts';
import { activity, success } from '../model/fields.ts';
import { setLocationStatus } from '../records/locations.ts';
import { openOrganisation } from './openOrganisation.ts';
import { organisation_path, record_params } from './organisationPath.ts';

export default endpoint({
  id: 'dashboard.locations.update',
  method: 'PATCH',
  path: `${organisation_path}/locations/{id}`,
  auth: 'operator_in_client',
  summary: 'Set a location’s status',
  params: record_params,
  body: Type.Object({ status: activity }),
  response: Type.Object({ success }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, body, once }) => {
    const { organisation_id } = await openOrganisation(ctx, client, params);
    return once(async (tx) => {
      const id = parseId(params.id);
      if (!id || !(await setLocationStatus(tx, organisation_id, id, body.status))) {
        throw refusal('record_not_found', { noun: 'Location', id: params.id });
      }
      return { success: true };
    });
  },
});
