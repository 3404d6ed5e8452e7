import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { webhook_row } from '../../model/dashboard/webhooks.ts';
import { success } from '../../model/fields.ts';
import { describeEndpoints } from '../../webhooks/describeEndpoints.ts';

export default endpoint({
  id: 'dashboard.webhooks.list',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/webhooks',
  auth: 'operator_in_client',
  audited: false,
  summary: 'A client’s webhook addresses and how they fare',
  params: Type.Object({ client_id: Type.String() }),
  response: Type.Object({ success, webhooks: Type.Array(webhook_row) }),
  handle: async ({ ctx, client }) => ({ success: true, webhooks: await describeEndpoints(ctx.db, client.id) }),
});
