import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint, JsonText, WithHeaders } from '../../../http/endpoint.ts';
import { type EventType as EventTypeName, event_types } from '../../../model/events.ts';
import { pagination, paging, success, text } from '../../../model/fields.ts';
import { delivery_status, EventType, WebhookEvent } from '../../../model/webhook.ts';
import { listEvents, walkEvents } from '../../../product/webhooks/events.ts';
import { resendEvent } from '../../../product/webhooks/resend.ts';
import { streamEvents } from '../../../product/webhooks/streamEvents.ts';
import { for_reads, for_writes } from '../limitedSecrets.ts';
import { checkPaging } from '../paging.ts';

export const webhookEventsList = endpoint({
  id: 'webhook-events.list',
  surface: 'api',
  group: 'Events',
  method: 'GET',
  path: '/v1/webhook-events',
  auth: 'account',
  limited_secrets: for_reads,
  while_expired: true,
  summary: 'List events',
  agent_tool: true,
  description:
    'Returns the account’s events of the last 30 days, newest first. With `job_id` it returns the outcome of that job; the list is empty until the job has finished.',
  query: Type.Object({
    job_id: Type.Optional(Type.Integer({ description: 'Only the event of this job', minimum: 0, examples: [1042] })),
    event_type: Type.Optional(EventType),
    delivery_status: Type.Optional(delivery_status),
    start_date: Type.Optional(
      text({ description: 'Only events at or after this time', notation: 'YYYY-MM-DD or an ISO 8601 date-time' }),
    ),
    end_date: Type.Optional(
      text({ description: 'Only events at or before this time', notation: 'YYYY-MM-DD or an ISO 8601 date-time' }),
    ),
    ...paging(50, 100),
  }),
  response: Type.Object({
    success,
    webhook_events: Type.Array(WebhookEvent, { description: 'The events, newest first' }),
    pagination,
  }),
  found_in: { job_id: 'sandbox#/job_id' },
  handle: async ({ ctx, account, query: { page, cursor, page_size = 50, ...filters }, auditPatients }) => {
    checkPaging({ page, cursor });
    const { body, mrns } =
      cursor === undefined
        ? await listEvents(ctx.db, account.client_id, account.id, { ...filters, page: page ?? 1, page_size })
        : await walkEvents(ctx, account, { filters, cursor, page_size });
    auditPatients(mrns);
    return new JsonText(body);
  },
});

export const webhookEventsStream: Endpoint = endpoint({
  id: 'webhook-events.stream',
  surface: 'api',
  group: 'Events',
  method: 'GET',
  path: '/v1/webhook-events/stream',
  auth: 'client',
  limited_secrets: for_reads,
  account_optional: true,
  stream: true,
  summary: 'Stream events',
  description:
    'Sends new events of all your accounts as server-sent events, for development: `id` is the event’s ID, `event` its type, `data` the body of the webhook. Send `Last-Event-ID` to continue after a lost connection. In production, register a webhook.',
  query: Type.Object({
    event_types: Type.Optional(
      text({
        description: 'Types to send, comma-separated. Default: all',
        examples: ['patient.created,patient.failed'],
      }),
    ),
  }),
  response: Type.String(),
  errors: ['event_streams_exceeded'],
  handle: async ({ ctx, client, account, headers, query, address, isStillAllowed }) => {
    const { 'last-event-id': last } = headers;
    const stream = streamEvents(ctx.db, {
      client_id: client.id,
      account_id: account?.id,
      types: query.event_types === undefined ? undefined : readTypes(query.event_types),
      after: typeof last === 'string' ? parseId(last) : undefined,
      isAllowed: isStillAllowed,
      onSend: async (mrns) => {
        await ctx.audit.record({
          client_id: client.id,
          actor_kind: 'client',
          actor: client.public_id,
          account_id: account?.id,
          action: 'webhook-events.stream',
          outcome: '200',
          address,
          mrns,
        });
      },
    });
    return new WithHeaders(stream, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
  },
});

function readTypes(list: string): EventTypeName[] {
  return list.split(',').map((each) => {
    const type = event_types.find((candidate) => candidate === each.trim());
    if (!type)
      throw apiError(
        'invalid_field',
        { rule: `event_types contains an unknown type: ${each.trim()}` },
        { field: 'event_types' },
      );
    return type;
  });
}

export const webhookEventsResend = endpoint({
  id: 'webhook-events.resend',
  surface: 'api',
  group: 'Events',
  method: 'POST',
  path: '/v1/webhook-events/{id}/resend',
  auth: 'account',
  limited_secrets: for_writes,
  while_expired: true,
  summary: 'Resend an event',
  agent_tool: true,
  body: Type.Object({}),
  params: Type.Object({ id: Type.String({ description: 'ID of the event' }) }),
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Event queued for delivery.'] }),
    event_id: Type.String(),
    deliveries: Type.Integer({ description: 'Number of endpoints to which the event is sent again' }),
  }),
  errors: ['record_not_found'],
  found_in: { id: 'GET /v1/webhook-events#/webhook_events/0/id' },
  handle: async ({ ctx, account, params, auditPatients, inTransaction }) => {
    const response = await inTransaction(async (tx) => {
      const resent = await resendEvent(tx, account.client_id, account.id, params.id);
      if (!resent) throw apiError('record_not_found', { noun: 'Event', id: params.id });
      const { deliveries, mrns } = resent;
      auditPatients(mrns);
      const message = deliveries === 0 ? 'No enabled endpoint receives this event.' : 'Event queued for delivery.';
      return { success: true, message, event_id: params.id, deliveries };
    });
    ctx.notifications.notify('chartwire_deliveries', account.client_id);
    return response;
  },
});
