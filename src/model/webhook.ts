import { Type } from 'typebox';
import { type EventType as EventTypeName, event_types, events } from './events.ts';
import { choices, nullable, success, text } from './fields.ts';

// Object.fromEntries forgets the names.
const summaries = Object.fromEntries(event_types.map((type) => [type, events[type].summary])) as Record<
  EventTypeName,
  string
>;
export const EventType = choices(summaries, { schema_name: 'EventType', description: 'The type of an event' });

export const WebhookRequest = Type.Object(
  {
    webhook_url: text({ description: 'HTTPS URL that receives the events' }),
    event_types: Type.Optional(
      Type.Array(EventType, {
        minItems: 1,
        maxItems: 100,
        description: 'Types of events to send to the endpoint. Default: all types',
      }),
    ),
  },
  { schema_name: 'WebhookEndpointCreate', description: 'A webhook endpoint to create' },
);

export const WebhookCreated = Type.Object(
  {
    success,
    message: Type.String({ examples: ['Webhook registered.'] }),
    webhook_id: Type.String(),
    webhook_url: Type.String(),
    webhook_secret: Type.String(),
    webhook_secret_key: Type.String({ description: 'Same as webhook_secret' }),
  },
  { schema_name: 'WebhookEndpointSecret', description: 'A webhook endpoint and its secret' },
);

export const WebhookList = Type.Object({
  success,
  webhook_url: nullable(Type.String({ description: 'The URL of the oldest enabled endpoint' })),
  webhook_urls: Type.Array(
    Type.Object(
      {
        id: Type.String({ description: 'ID of the webhook endpoint', examples: ['wh_0f1e2d3c4b5a69788796a5b4'] }),
        url: Type.String({
          description: 'URL that receives the events',
          examples: ['https://app.example.org/chartwire/events'],
        }),
        status: choices(
          {
            enabled: 'Receives events',
            disabled: 'Receives no events, because deliveries failed for too long or an operator disabled it',
          },
          { description: 'Whether the endpoint receives events' },
        ),
        event_types: nullable(
          Type.Array(Type.String(), {
            description: 'Types of events that the endpoint receives; null for all',
            examples: [['telephone_encounter.created']],
          }),
        ),
      },
      { schema_name: 'WebhookEndpoint', description: 'A URL that receives events' },
    ),
    { description: 'All webhook endpoints' },
  ),
  webhook_secret_key: nullable(Type.String({ description: 'The secret of the oldest enabled endpoint' })),
});

export const delivery_status = choices(
  {
    success: 'Delivered to every endpoint',
    failed: 'At least one endpoint did not receive it, and no further attempts follow',
    pending: 'At least one delivery is still being attempted',
  },
  { description: 'State of the deliveries' },
);

export const WebhookEvent = Type.Object(
  {
    id: Type.String({ description: 'ID of the event' }),
    event_id: Type.String({ description: 'Same as id' }),
    object: Type.Literal('event', { description: 'Always `event`' }),
    event_type: Type.String({ description: 'The type of the event', examples: ['telephone_encounter.created'] }),
    type: Type.String({ description: 'Same as event_type', examples: ['telephone_encounter.created'] }),
    created: Type.String({ format: 'date-time', description: 'When the event occurred' }),
    created_at: Type.String({ format: 'date-time', description: 'Same as created' }),
    job_id: Type.Optional(Type.String({ description: 'The job_id of the request, as a string' })),
    access_token_reference_id: Type.Optional(Type.String()),
    data: Type.Object(
      {},
      {
        description: 'The fields of the event type',
        additionalProperties: true,
        examples: [
          {
            telephone_encounter_id: '01a1c5f0a4e87b21b3d94c6f7a8e9012',
            emr_encounter_id: '30041',
            patient_mrn: 'LK100001',
            provider_id: '501',
            location_id: '11',
            assigned_to_id: '703',
            reason: 'Medication question',
          },
        ],
      },
    ),
    delivery_status: nullable(delivery_status),
  },
  { schema_name: 'StoredEvent', description: 'An event of the last 30 days, with the state of its deliveries' },
);
