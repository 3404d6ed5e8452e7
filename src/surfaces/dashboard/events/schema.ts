import { type Static, Type } from 'typebox';
import { date_time, id, nullable, patientDetail, webhook_url } from '../../../model/fields.ts';

const status = Type.Enum(['pending', 'success', 'failed']);

export const event_row = Type.Object({
  id,
  type: Type.String(),
  created_at: date_time,
  job_id: nullable(Type.Integer()),
  account: Type.Object({ id, user_id: Type.String(), org_id: Type.String() }),
  /** Null: no endpoint was subscribed to it. */
  delivery_status: nullable(status),
  /** Endpoints that it is sent to, and those that have received it. */
  endpoints: Type.Integer(),
  delivered: Type.Integer(),
  /** Attempts so far, to all these endpoints. */
  tries: Type.Integer(),
  next_try_at: nullable(date_time),
});
export type EventRow = Static<typeof event_row>;

export const delivery_attempt = Type.Object({
  attempt: Type.Integer(),
  at: date_time,
  duration_ms: Type.Integer(),
  /** Null: no response. */
  status_code: nullable(Type.Integer()),
  problem: patientDetail(nullable(Type.String())),
  /** The beginning of the response body. */
  snippet: patientDetail(nullable(Type.String())),
});

export const event_delivery = Type.Object({
  id,
  webhook_id: Type.String(),
  url: webhook_url,
  endpoint_status: Type.Enum(['enabled', 'disabled']),
  status,
  next_try_at: nullable(date_time),
  finished_at: nullable(date_time),
  /** Newest first. */
  tries: Type.Array(delivery_attempt),
});

export const event_details = Type.Object({
  ...event_row.properties,
  /** The body that is sent and signed. */
  body: patientDetail(Type.String()),
  deliveries: Type.Array(
    Type.Object({
      ...event_delivery.properties,
      /** The headers that the last attempt was signed with; null if there was none. */
      signed_headers: nullable(Type.Record(Type.String(), Type.String())),
    }),
  ),
});
export type EventDetails = Static<typeof event_details>;

export const event_type_row = Type.Object({ type: Type.String(), summary: Type.String() });
