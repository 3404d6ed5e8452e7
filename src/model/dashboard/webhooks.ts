import { type Static, Type } from 'typebox';
import { date_time, nullable } from '../fields.ts';

export const webhook_row = Type.Object({
  id: Type.String(),
  url: Type.String(),
  status: Type.Enum(['enabled', 'disabled']),
  disabled_reason: nullable(Type.String()),
  /** null: every type. */
  event_types: nullable(Type.Array(Type.String())),
  created_at: date_time,
  failing_since: nullable(date_time),
  last_success_at: nullable(date_time),
  /** Of the last 24 hours. */
  tries_day: Type.Integer(),
  successes_day: Type.Integer(),
  /** Deliveries that wait for their next try. */
  pending: Type.Integer(),
  /** It is the receiver of the service itself. */
  built_in: Type.Boolean(),
});
export type WebhookRow = Static<typeof webhook_row>;

/** A secret in the one answer that shows it. */
export const webhook_secret = Type.Object({ webhook_id: Type.String(), webhook_secret: Type.String() });
export type WebhookSecret = Static<typeof webhook_secret>;

/** What a test event came to. */
export const webhook_tried = Type.Object({
  delivered: Type.Boolean(),
  status_code: nullable(Type.Integer()),
  problem: nullable(Type.String()),
  snippet: nullable(Type.String()),
  duration_ms: Type.Integer(),
  /** The text that was sent. */
  body: Type.String(),
});
export type WebhookTried = Static<typeof webhook_tried>;

export const event_type_row = Type.Object({ type: Type.String(), summary: Type.String() });
export type EventTypeRow = Static<typeof event_type_row>;
