import { Type } from 'typebox';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { pagination, paging, success, text } from '../../../model/fields.ts';
import { delivery_status, EventType, WebhookEvent } from '../../../model/webhook.ts';
import { listEvents } from '../../../product/webhooks/events.ts';

export default endpoint({
  id: 'webhook-events.list',
  surface: 'api',
  group: 'Events',
  method: 'GET',
  path: '/v1/webhook-events',
  auth: 'account',
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
  handle: async ({ ctx, account, query: { page = 1, page_size = 50, ...filters }, auditPatients }) => {
    const { body, mrns } = await listEvents(ctx.db, account.client_id, account.id, { ...filters, page, page_size });
    auditPatients(mrns);
    return new JsonText(body);
  },
});
