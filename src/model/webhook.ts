import { Type } from 'typebox';
import { type EventType as EventTypeName, event_types, events } from './events.ts';
import { choices, nullable, success, text, toChanges, unclearable } from './fields.ts';

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
    org_ids: Type.Optional(
      Type.Array(text({ minLength: 1, maxLength: 200, description: 'Your ID of an organization' }), {
        minItems: 1,
        maxItems: 100,
        description: 'Organizations whose events to send to the endpoint, also future ones. Default: all',
      }),
    ),
    sync_events: Type.Optional(
      Type.Boolean({
        description:
          'Also send events about changes that staff made in the EMR, as far as event_types includes them. Default: false',
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

export const WebhookChanges = Type.Object(
  {
    ...toChanges(WebhookRequest),
    paused: unclearable(
      Type.Boolean({
        description:
          'While true, nothing is sent to the endpoint. Its deliveries wait, up to 76 hours, and are sent when it is false again',
      }),
    ),
  },
  { schema_name: 'WebhookEndpointUpdate', description: 'What to change of a webhook endpoint' },
);

export const WebhookEndpoint = Type.Object(
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
    org_ids: nullable(
      Type.Array(Type.String(), {
        description: 'Organizations whose events the endpoint receives; null for all',
        examples: [['sandbox-practice']],
      }),
    ),
    sync_events: Type.Boolean({ description: 'Whether it receives events about changes that staff made in the EMR' }),
    paused: Type.Boolean({ description: 'Whether deliveries wait until the endpoint is resumed' }),
  },
  { schema_name: 'WebhookEndpoint', description: 'A URL that receives events' },
);

export const WebhookList = Type.Object({
  success,
  webhook_url: nullable(Type.String({ description: 'The URL of the oldest enabled endpoint' })),
  webhook_urls: Type.Array(WebhookEndpoint, { description: 'All webhook endpoints' }),
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

/** What came back from the receiver. `response_start` is what the receiver sent, so it may quote an event. */
const outcome = {
  status_code: nullable(
    Type.Integer({ description: 'HTTP status of the response; null without one', examples: [200] }),
  ),
  duration_ms: Type.Integer({ description: 'Duration in milliseconds', examples: [42] }),
  problem: nullable(
    Type.String({ description: 'Why it failed; null after a success', examples: ['The receiver responded with 500.'] }),
  ),
  response_start: nullable(
    Type.String({
      description:
        'The first 500 characters of the response, without control characters; null if it is empty or no text',
      examples: ['{"received":true}'],
    }),
  ),
};

export const WebhookTest = Type.Object(
  {
    success,
    message: Type.String({ examples: ['Test event delivered.'] }),
    webhook_id: Type.String(),
    delivered: Type.Boolean({ description: 'Whether the receiver responded with a 2xx status' }),
    ...outcome,
  },
  { schema_name: 'WebhookTest', description: 'The result of a test event' },
);

export const WebhookDelivery = Type.Object(
  {
    id: Type.String({ description: 'ID of the delivery' }),
    event_id: Type.String({ description: 'ID of the event' }),
    event_type: Type.String({ description: 'The type of the event', examples: ['telephone_encounter.created'] }),
    status: choices(
      {
        success: 'The receiver responded with a 2xx status',
        failed: 'Not delivered, and no further attempts follow',
        pending: 'Waits for its next attempt, or until the endpoint is resumed',
      },
      { description: 'State of the delivery' },
    ),
    created_at: Type.String({ format: 'date-time', description: 'When the event occurred' }),
    next_attempt_at: nullable(Type.String({ format: 'date-time', description: 'When the next attempt is due' })),
    attempts: Type.Array(
      Type.Object(
        {
          attempt: Type.Integer({ description: 'Number of the attempt, as in the header webhook-attempt' }),
          at: Type.String({ format: 'date-time', description: 'When it was made' }),
          ...outcome,
        },
        { schema_name: 'DeliveryAttempt', description: 'An attempt to deliver an event' },
      ),
      { description: 'The last 20 attempts, newest first' },
    ),
  },
  { schema_name: 'WebhookDelivery', description: 'The delivery of an event to a webhook endpoint' },
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
    reference: Type.Optional(
      Type.String({ description: 'The `reference` of the request, if it had one', not_in_examples: true }),
    ),
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
