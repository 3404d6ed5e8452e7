import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { received_row } from '../../model/dashboard/receiver.ts';
import { id, nullable, success } from '../../model/fields.ts';
import { listRequests } from '../../receiver/receivedRequests.ts';

export default endpoint({
  id: 'dashboard.received.list',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/receiver/requests',
  auth: 'operator_in_client',
  audited: false,
  summary: 'What the built-in receiver got, newest first',
  params: Type.Object({ client_id: Type.String() }),
  query: Type.Object({
    before: Type.Optional(id),
    page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  }),
  response: Type.Object({ success, rows: Type.Array(received_row), next: nullable(Type.String()) }),
  handle: async ({ ctx, client, query: { before, page_size = 50 } }) => {
    const rows = await listRequests(ctx.db, client.id, { before, page_size });
    return { success: true, rows, next: rows.length < page_size ? null : (rows.at(-1)?.id ?? null) };
  },
});
