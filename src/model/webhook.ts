import { Type } from 'typebox';
import { event_types } from '../events.ts';
import { date_time, nullable, success, text } from './fields.ts';

const EventType = Type.Enum([...event_types]);

export const WebhookRequest = Type.Object({
  webhook_url: text({ description: 'HTTPS URL that receives the events' }),
  event_types: Type.Optional(Type.Array(EventType, { minItems: 1, maxItems: 100, description: 'Default: all types' })),
});

export const WebhookCreated = Type.Object({
  success,
  message: Type.String({ examples: ['Webhook registered.'] }),
  webhook_id: Type.String(),
  webhook_url: Type.String(),
  webhook_secret: Type.String(),
  webhook_secret_key: Type.String({ description: 'Same as webhook_secret' }),
});

export const WebhookList = Type.Object({
  success,
  webhook_url: nullable(Type.String({ description: 'That of the oldest enabled endpoint' })),
  webhook_urls: Type.Array(
    Type.Object({
      id: Type.String({ examples: ['wh_0f1e2d3c4b5a69788796a5b4'] }),
      url: Type.String({ examples: ['https://app.example.org/chartwire/events'] }),
      status: Type.Enum(['enabled', 'disabled']),
      event_types: nullable(Type.Array(Type.String(), { examples: [['telephone_encounter.created']] })),
    }),
  ),
  webhook_secret_key: nullable(Type.String({ description: 'That of the oldest enabled endpoint' })),
});

export const delivery_status = Type.Enum(['success', 'failed', 'pending']);

export const WebhookEvent = Type.Object({
  id: Type.String(),
  event_id: Type.String({ description: 'Same as id' }),
  object: Type.Literal('event'),
  event_type: Type.String({ examples: ['telephone_encounter.created'] }),
  type: Type.String({ description: 'Same as event_type', examples: ['telephone_encounter.created'] }),
  created: date_time,
  created_at: date_time,
  job_id: Type.Optional(Type.String()),
  access_token_reference_id: Type.Optional(Type.String()),
  data: Type.Object(
    {},
    {
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
});
