import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { activity, success } from '../../../model/fields.ts';
import { setLocationStatus } from '../../../product/records/locations.ts';
import { openOrganization, organization_path, record_params } from './organization.ts';

export default endpoint({
  id: 'dashboard.locations.update',
  surface: 'dashboard',
  method: 'PATCH',
  path: `${organization_path}/locations/{id}`,
  auth: 'operator_in_client',
  summary: 'Update a location',
  params: record_params,
  body: Type.Object({ status: activity }),
  response: Type.Object({ success }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, body, inTransaction }) => {
    const { organization_id } = await openOrganization(ctx, client, params);
    return inTransaction(async (tx) => {
      const id = parseId(params.id);
      if (!id || !(await setLocationStatus(tx, organization_id, id, body.status))) {
        throw apiError('record_not_found', { noun: 'Location', id: params.id });
      }
      return { success: true };
    });
  },
});
