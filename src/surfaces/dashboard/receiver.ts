import { Type } from 'typebox';
import { apiError } from '../../catalog/errors.ts';
import { parseId } from '../../catalog/ids.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type ReceiverState, received_request, received_row, receiver } from '../../model/dashboard/receiver.ts';
import { details_hidden } from '../../model/dashboard/reveals.ts';
import { clearable, id, nullable, success } from '../../model/fields.ts';
import { openReceiver, receiverRefusal } from '../../product/webhooks/receiver/openReceiver.ts';
import {
  clearRequests,
  listRequests,
  patientsInBody,
  readRequest,
} from '../../product/webhooks/receiver/receivedRequests.ts';
import { findReceiver, type Receiver, setResponse } from '../../product/webhooks/receiver/receivers.ts';

export const receiverGet = endpoint({
  id: 'dashboard.receiver.get',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/receiver',
  auth: 'operator_in_client',
  audited: false,
  summary: 'Retrieve the built-in receiver of a client',
  params: Type.Object({ client_id: Type.String() }),
  response: Type.Object({ success, receiver: nullable(receiver), refused: nullable(Type.String()) }),
  handle: async ({ ctx, client }) => {
    const found = await ctx.db.tenant(client.id, findReceiver);
    return { success: true, receiver: found ? describeReceiver(found) : null, refused: receiverRefusal(ctx) };
  },
});

export const receiverCreate = endpoint({
  id: 'dashboard.receiver.create',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/receiver',
  auth: 'operator_in_client',
  summary: 'Register the built-in receiver as a webhook endpoint of the client',
  params: Type.Object({ client_id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, receiver }),
  errors: ['webhook_url_refused', 'webhook_endpoints_max'],
  handle: async ({ ctx, client, auditSubject, inTransaction }) => {
    const response = await inTransaction(async (tx) => {
      const opened = await openReceiver(ctx, tx, client.id);
      auditSubject({ subject: opened.receiver.endpoint_id, detail: opened.detail });
      return { success: true, receiver: describeReceiver(opened.receiver) };
    });
    ctx.notifications.notify('chartwire_live', `events ${client.id}`);
    return response;
  },
});

export const receiverUpdate = endpoint({
  id: 'dashboard.receiver.update',
  surface: 'dashboard',
  method: 'PATCH',
  path: '/dashboard/api/clients/{client_id}/receiver',
  auth: 'operator_in_client',
  summary: 'Set how the built-in receiver responds; without a status it closes the connection',
  params: Type.Object({ client_id: Type.String() }),
  body: Type.Object({
    status: clearable(Type.Integer({ minimum: 200, maximum: 599 })),
    delay_ms: Type.Integer({ minimum: 0, maximum: 20_000 }),
    times: clearable(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  }),
  response: Type.Object({ success }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, body: { status, delay_ms, times }, inTransaction }) => {
    const response = await inTransaction(async (tx) => {
      const found = await setResponse(tx, { status: status ?? null, delay_ms, times: times ?? null });
      if (!found) throw apiError('record_not_found', { noun: 'Receiver', id: client.public_id });
      return { success: true };
    });
    ctx.notifications.notify('chartwire_live', `events ${client.id}`);
    return response;
  },
});

export const receivedList = endpoint({
  id: 'dashboard.received.list',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/receiver/requests',
  auth: 'operator_in_client',
  audited: false,
  summary: 'List the requests the built-in receiver got, newest first',
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

export const receivedGet = endpoint({
  id: 'dashboard.received.get',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/receiver/requests/{id}',
  auth: 'operator_in_client',
  summary: 'Retrieve a request the built-in receiver got, with its headers and body',
  params: Type.Object({ client_id: Type.String(), id: Type.String() }),
  reveals: { kind: 'received_request', param: 'id' },
  response: Type.Object({ success, request: received_request, details_hidden }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, auditPatients }) => {
    const request_id = parseId(params.id);
    const request = request_id && (await readRequest(ctx.db, client.id, request_id));
    if (!request) throw apiError('record_not_found', { noun: 'Request', id: params.id });
    auditPatients(patientsInBody(request.body));
    return { success: true, request };
  },
});

export const receivedClear = endpoint({
  id: 'dashboard.received.clear',
  surface: 'dashboard',
  method: 'DELETE',
  path: '/dashboard/api/clients/{client_id}/receiver/requests',
  auth: 'operator_in_client',
  summary: 'Delete the requests the built-in receiver got',
  params: Type.Object({ client_id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, cleared: Type.Integer() }),
  handle: async ({ ctx, client, inTransaction }) => {
    const response = await inTransaction(async (tx) => ({ success: true, cleared: await clearRequests(tx) }));
    ctx.notifications.notify('chartwire_live', `events ${client.id}`);
    return response;
  },
});

function describeReceiver({ endpoint_id, ...state }: Receiver): ReceiverState {
  return { webhook_id: endpoint_id, ...state };
}
