import { Type } from 'typebox';
import { describeOrganisations } from '../accounts/describeOrganisations.ts';
import { endpoint } from '../api/endpoint.ts';
import { emr_row, organisation_row } from '../model/dashboard/accounts.ts';
import { success } from '../model/fields.ts';

export default endpoint({
  id: 'dashboard.accounts.list',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/accounts',
  auth: 'operator_in_client',
  // Names of accounts: no health data.
  audited: false,
  summary: 'Organisations with their linked accounts',
  params: Type.Object({ client_id: Type.String() }),
  response: Type.Object({ success, organisations: Type.Array(organisation_row), emrs: Type.Array(emr_row) }),
  handle: async ({ ctx, client }) => ({
    success: true,
    organisations: await describeOrganisations(ctx, client.id),
    emrs: [...ctx.connectors.values()].map(({ name, display_name }) => ({ emr: name, emr_name: display_name })),
  }),
});
