import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success, text } from '../../../model/fields.ts';
import { parseStatus, setLocationStatus } from '../../../product/records/settings.ts';

export default endpoint({
  id: 'locations.update',
  surface: 'api',
  group: 'Practice',
  method: 'PATCH',
  path: '/v1/locations/{id}',
  auth: 'account',
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
