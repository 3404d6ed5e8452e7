import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import { organization_choice } from '../../../model/dashboard/records.ts';
import { success } from '../../../model/fields.ts';
import { listOrganizations } from '../../../product/accounts/organizations.ts';

export default endpoint({
  id: 'dashboard.organizations.list',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/organizations',
  auth: 'operator_in_client',
  audited: false,
  summary: 'List organizations',
  params: Type.Object({ client_id: Type.String() }),
  response: Type.Object({ success, organizations: Type.Array(organization_choice) }),
  handle: async ({ ctx, client }) => ({ success: true, organizations: await listOrganizations(ctx, client.id) }),
});
