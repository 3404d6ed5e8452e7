import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../fields.ts';

const status = Type.Enum(['pending', 'success', 'failed']);

export const event_row = Type.Object({
  id,
  type: Type.String(),
  created_at: date_time,
  job_id: nullable(Type.Integer()),
  account: Type.Object({ id, user_id: Type.String(), org_id: Type.String() }),
  /** null: no endpoint wanted it. */
  delivery_status: nullable(status),
  /** Made so far, to all endpoints. */
  tries: Type.Integer(),
  next_try_at: nullable(date_time),
});
export type EventRow = Static<typeof event_row>;

export const delivery_try = Type.Object({
  attempt: Type.Integer(),
  at: date_time,
  duration_ms: Type.Integer(),
  /** null: no answer came. */
  status_code: nullable(Type.Integer()),
  problem: nullable(Type.String()),
  /** How the answer began. */
  snippet: nullable(Type.String()),
});
export type DeliveryTry = Static<typeof delivery_try>;

export const event_delivery = Type.Object({
  id,
  webhook_id: Type.String(),
  url: Type.String(),
  endpoint_status: Type.Enum(['enabled', 'disabled']),
  status,
  next_try_at: nullable(date_time),
  finished_at: nullable(date_time),
  /** Newest first. */
  tries: Type.Array(delivery_try),
});
export type EventDelivery = Static<typeof event_delivery>;

export const event_whole = Type.Object({
  ...event_row.properties,
  /** The text that is sent and signed. */
  body: Type.String(),
  deliveries: Type.Array(event_delivery),
});
export type EventWhole = Static<typeof event_whole>;

/** What is failed now and can be sent again: from when it is asked for until now. */
export const failed_count = Type.Object({
  /** Events with a failed delivery to an endpoint that is enabled and wants them. */
  events: Type.Integer(),
  /** Events whose endpoints are disabled, or want other types now. */
  stuck: Type.Integer(),
  until: date_time,
});
export type FailedCount = Static<typeof failed_count>;

/** One batch of a resend: how many events were queued, and where the next one begins. */
export const resent_batch = Type.Object({ resent: Type.Integer(), next: nullable(id) });
export type ResentBatch = Static<typeof resent_batch>;
