import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { event_row } from '../../model/dashboard/events.ts';
import { nullable, success, text } from '../../model/fields.ts';
import { browseEvents } from '../../webhooks/browseEvents.ts';

export default endpoint({
  id: 'dashboard.events.list',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/events',
  auth: 'operator_in_client',
  audited: false,
  summary: 'A client’s events of the last 30 days, newest first',
  params: Type.Object({ client_id: Type.String() }),
  query: Type.Object({
    event_type: Type.Optional(text()),
    delivery_status: Type.Optional(Type.Enum(['pending', 'success', 'failed', 'none'])),
    job_id: Type.Optional(Type.Integer({ minimum: 0 })),
    account_id: Type.Optional(text()),
    start_date: Type.Optional(text()),
    end_date: Type.Optional(text()),
    before: Type.Optional(text()),
    page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  }),
  response: Type.Object({ success, rows: Type.Array(event_row), next: nullable(Type.String()) }),
  handle: async ({ ctx, client, query: { page_size = 50, before, account_id, ...filters } }) => {
    const ids = { before: idIn('before', before), account_id: idIn('account_id', account_id) };
    const rows = await browseEvents(ctx.db, client.id, { ...filters, ...ids, page_size });
    return { success: true, rows, next: rows.length < page_size ? null : (rows.at(-1)?.id ?? null) };
  },
});

function idIn(field: string, value: string | undefined): string | undefined {
  const id = value === undefined ? undefined : parseId(value);
  if (value !== undefined && !id) throw apiError('invalid_field', { rule: `${field} must be an id` }, { field });
  return id;
}
