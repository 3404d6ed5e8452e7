import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { authenticate } from '../../../http/auth/authenticate.ts';
import { type Endpoint, endpoint, WithHeaders } from '../../../http/endpoint.ts';
import { type EventType, event_types } from '../../../model/events.ts';
import { text } from '../../../model/fields.ts';
import { streamEvents } from '../../../product/webhooks/streamEvents.ts';

const webhookEventsStream: Endpoint = endpoint({
  id: 'webhook-events.stream',
  surface: 'api',
  group: 'Events',
  method: 'GET',
  path: '/v1/webhook-events/stream',
  auth: 'client',
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
  handle: async ({ ctx, client, account, headers, query }) => {
    const { 'last-event-id': last } = headers;
    const stream = streamEvents(ctx.db, {
      client_id: client.id,
      account_id: account?.id,
      types: query.event_types === undefined ? undefined : readTypes(query.event_types),
      after: typeof last === 'string' ? parseId(last) : undefined,
      isAllowed: () =>
        authenticate(ctx, webhookEventsStream, { headers, params: {} }).then(
          () => true,
          () => false,
        ),
      onSend: async (mrns) => {
        await ctx.audit.record({
          client_id: client.id,
          actor_kind: 'client',
          actor: client.public_id,
          account_id: account?.id,
          action: 'webhook-events.stream',
          outcome: '200',
          mrns,
        });
      },
    });
    return new WithHeaders(stream, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
  },
});

export default webhookEventsStream;

function readTypes(list: string): EventType[] {
  return list.split(',').map((each) => {
    const type = event_types.find((known) => known === each.trim());
    if (!type)
      throw apiError(
        'invalid_field',
        { rule: `event_types contains an unknown type: ${each.trim()}` },
        { field: 'event_types' },
      );
    return type;
  });
}
