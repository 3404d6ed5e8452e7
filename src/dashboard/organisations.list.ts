import { Type } from 'typebox';
import { listOrganisations } from '../accounts/organisations.ts';
import { endpoint } from '../api/endpoint.ts';
import { organisation_choice } from '../model/dashboard/records.ts';
import { success } from '../model/fields.ts';

export default endpoint({
  id: 'dashboard.organisations.list',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/organisations',
  auth: 'operator_in_client',
  audited: false,
  summary: 'Organisations to choose from',
  params: Type.Object({ client_id: Type.String() }),
  response: Type.Object({ success, organisations: Type.Array(organisation_choice) }),
  handle: async ({ ctx, client }) => ({ success: true, organisations: await listOrganisations(ctx, client.id) }),
});
