import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { event_whole } from '../../model/dashboard/events.ts';
import { success } from '../../model/fields.ts';
import { describeEvent } from '../../webhooks/describeEvent.ts';

export default endpoint({
  id: 'dashboard.events.get',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/events/{id}',
  auth: 'operator_in_client',
  summary: 'An event with its payload, its deliveries and every try',
  params: Type.Object({ client_id: Type.String(), id: Type.String() }),
  response: Type.Object({ success, event: event_whole }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, auditPatients }) => {
    const id = parseId(params.id);
    const found = id && (await describeEvent(ctx.db, client.id, id));
    if (!found) throw apiError('record_not_found', { noun: 'Event', id: params.id });
    const { mrns, ...event } = found;
    auditPatients(mrns);
    return { success: true, event };
  },
});
