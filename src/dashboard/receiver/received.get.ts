import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { patientsOf } from '../../events.ts';
import { endpoint } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { received_request } from '../../model/dashboard/receiver.ts';
import { success } from '../../model/fields.ts';
import { readRequest } from '../../receiver/receivedRequests.ts';

export default endpoint({
  id: 'dashboard.received.get',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/receiver/requests/{id}',
  auth: 'operator_in_client',
  summary: 'One request that the built-in receiver got, with its headers and its body',
  params: Type.Object({ client_id: Type.String(), id: Type.String() }),
  response: Type.Object({ success, request: received_request }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, auditPatients }) => {
    const id = parseId(params.id);
    const request = id && (await readRequest(ctx.db, client.id, id));
    if (!request) throw apiError('record_not_found', { noun: 'Request', id: params.id });
    auditPatients(namedIn(request.body));
    return { success: true, request };
  },
});

/** The patients whom an event's body is about, if it is one. */
function namedIn(body: string): string[] {
  try {
    const said: unknown = JSON.parse(body);
    return typeof said === 'object' && said !== null && 'data' in said ? patientsOf(said.data) : [];
  } catch {
    return [];
  }
}
