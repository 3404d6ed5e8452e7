import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { details_hidden } from '../../../http/hidePatients.ts';
import { event_types, events } from '../../../model/events.ts';
import { date_time, id, nullable, success, text } from '../../../model/fields.ts';
import { countFailed, resendEvent, resendFailed } from '../../../product/webhooks/resend.ts';
import { browseEvents, describeEvent } from './queries.ts';
import { event_details, event_row, event_type_row } from './schema.ts';

export const events_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.eventTypes.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/event-types',
    auth: 'operator',
    reach: 'own',
    audited: false,
    summary: 'List event types',
    response: Type.Object({ success, event_types: Type.Array(event_type_row) }),
    handle: async () => ({
      success: true,
      // The dashboard shows plain text.
      event_types: event_types.map((type) => ({ type, summary: events[type].summary.replaceAll('`', '') })),
    }),
  }),
  endpoint({
    id: 'dashboard.events.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/events',
    auth: 'operator_in_client',
    audited: false,
    summary: 'List the events of the last 30 days, newest first',
    params: Type.Object({ client_id: Type.String() }),
    query: Type.Object({
      event_type: Type.Optional(text()),
      delivery_status: Type.Optional(Type.Enum(['pending', 'success', 'failed', 'none'])),
      job_id: Type.Optional(Type.Integer({ minimum: 0 })),
      account_id: Type.Optional(text()),
      webhook_id: Type.Optional(text()),
      start_date: Type.Optional(text()),
      end_date: Type.Optional(text()),
      before: Type.Optional(text()),
      page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
    }),
    response: Type.Object({ success, rows: Type.Array(event_row), next: nullable(Type.String()) }),
    handle: async ({ ctx, client, query: { page_size = 50, before, account_id, ...filters } }) => {
      const ids = { before: readId('before', before), account_id: readId('account_id', account_id) };
      const rows = await browseEvents(ctx.db, client.id, { ...filters, ...ids, page_size });
      return { success: true, rows, next: rows.length < page_size ? null : (rows.at(-1)?.id ?? null) };
    },
  }),
  endpoint({
    id: 'dashboard.events.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/events/{id}',
    auth: 'operator_in_client',
    summary: 'Retrieve an event with its payload, deliveries and attempts',
    params: Type.Object({ client_id: Type.String(), id: Type.String() }),
    reveals: { kind: 'event', param: 'id' },
    response: Type.Object({ success, event: event_details, details_hidden }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, auditPatients }) => {
      const event_id = parseId(params.id);
      const described = event_id && (await describeEvent(ctx.db, client.id, event_id));
      if (!described) throw apiError('record_not_found', { noun: 'Event', id: params.id });
      const { mrns, ...event } = described;
      auditPatients(mrns);
      return { success: true, event };
    },
  }),
  endpoint({
    id: 'dashboard.events.resend',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/events/{id}/resend',
    auth: 'operator_in_client',
    summary: 'Resend an event to every subscribed webhook endpoint',
    params: Type.Object({ client_id: Type.String(), id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, deliveries: Type.Integer() }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, auditPatients, inTransaction }) => {
      const event_id = parseId(params.id);
      const event = event_id && (await describeEvent(ctx.db, client.id, event_id));
      const response = await inTransaction(async (tx) => {
        const resent = event && (await resendEvent(tx, client.id, event.account.id, event.id));
        if (!resent) throw apiError('record_not_found', { noun: 'Event', id: params.id });
        auditPatients(resent.mrns);
        return { success: true, deliveries: resent.deliveries };
      });
      ctx.notifications.notify('chartwire_deliveries', client.id);
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.failedEvents.count',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/failed-events',
    auth: 'operator_in_client',
    audited: false,
    summary: 'Count the events since a given time that are currently failed',
    params: Type.Object({ client_id: Type.String() }),
    query: Type.Object({ since: date_time, webhook_id: Type.Optional(text()) }),
    response: Type.Object({
      success,
      /** Events with a failed delivery to an endpoint that is enabled and subscribed to them. */
      events: Type.Integer(),
      /** Events whose endpoints are disabled or no longer subscribed to them. */
      stuck: Type.Integer(),
      until: date_time,
    }),
    handle: async ({ ctx, client, query }) => ({
      success: true,
      ...(await ctx.db.tenant(client.id, (tx) => countFailed(tx, query.since, query.webhook_id))),
    }),
  }),
  // Resends one batch. The page repeats the call until `next` is null and shows its progress.
  endpoint({
    id: 'dashboard.failedEvents.resend',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/failed-events/resend',
    auth: 'operator_in_client',
    summary: 'Resend a batch of failed events',
    params: Type.Object({ client_id: Type.String() }),
    body_filters: true,
    body: Type.Object({
      since: date_time,
      until: date_time,
      after: Type.Optional(id),
      webhook_id: Type.Optional(text()),
    }),
    response: Type.Object({ success, resent: Type.Integer(), next: nullable(id) }),
    handle: async ({
      ctx,
      client,
      body: { since, until, after, webhook_id },
      auditPatients,
      auditSubject,
      inTransaction,
    }) => {
      const response = await inTransaction(async (tx) => {
        const { mrns, ...batch } = await resendFailed(tx, { since, until, after, webhook_id });
        auditPatients(mrns);
        auditSubject({ subject: webhook_id, detail: { since, resent: batch.resent } });
        return { success: true, ...batch };
      });
      ctx.notifications.notify('chartwire_deliveries', client.id);
      return response;
    },
  }),
];

function readId(field: string, value: string | undefined): string | undefined {
  const parsed = value === undefined ? undefined : parseId(value);
  if (value !== undefined && !parsed) throw apiError('invalid_field', { rule: `${field} must be an ID` }, { field });
  return parsed;
}
