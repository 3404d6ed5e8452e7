import { Type } from 'typebox';
import { describeOrganizations } from '../../accounts/describeOrganizations.ts';
import { endpoint } from '../../http/endpoint.ts';
import { emr_row, organization_row } from '../../model/dashboard/accounts.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.accounts.list',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/accounts',
  auth: 'operator_in_client',
  // Names of accounts: no health data.
  audited: false,
  summary: 'Organizations with their linked accounts',
  params: Type.Object({ client_id: Type.String() }),
  response: Type.Object({ success, organizations: Type.Array(organization_row), emrs: Type.Array(emr_row) }),
  handle: async ({ ctx, client }) => ({
    success: true,
    organizations: await describeOrganizations(ctx, client.id),
    emrs: [...ctx.connectors.values()].map(({ name, display_name }) => ({ emr: name, emr_name: display_name })),
  }),
});
