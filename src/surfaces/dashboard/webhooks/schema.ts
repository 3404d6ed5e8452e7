import { type Static, Type } from 'typebox';
import { certificate_info } from '../../../model/certificate.ts';
import { date_time, id, nullable, patientDetail, webhook_url } from '../../../model/fields.ts';

export const webhook_row = Type.Object({
  id: Type.String(),
  url: webhook_url,
  status: Type.Enum(['enabled', 'disabled']),
  disabled_reason: nullable(Type.String()),
  /** Null: all types. */
  event_types: nullable(Type.Array(Type.String())),
  /** Null: all organizations. */
  org_ids: nullable(Type.Array(Type.String())),
  /** Whether it receives events about changes that staff made in the EMR. */
  sync_events: Type.Boolean(),
  paused_since: nullable(date_time),
  created_at: date_time,
  failing_since: nullable(date_time),
  /** Of a failing endpoint: the error of the last attempt at the next due delivery. */
  problem: patientDetail(nullable(Type.String())),
  last_success_at: nullable(date_time),
  /** In the last 24 hours. */
  tries_day: Type.Integer(),
  successes_day: Type.Integer(),
  /** Deliveries that wait for their next attempt. */
  pending: Type.Integer(),
  /** Whether this is the built-in receiver. */
  built_in: Type.Boolean(),
  /** What the receiver is shown in the TLS handshake; null: nothing. */
  certificate: nullable(certificate_info),
});
export type WebhookRow = Static<typeof webhook_row>;

/** The attempts of one hour. */
export const webhook_bin = Type.Object({ at: date_time, delivered: Type.Integer(), failed: Type.Integer() });
export type WebhookBin = Static<typeof webhook_bin>;

/** The last failed attempt, with the beginning of the response. */
export const webhook_error = Type.Object({
  at: date_time,
  status_code: nullable(Type.Integer()),
  problem: patientDetail(nullable(Type.String())),
  snippet: patientDetail(nullable(Type.String())),
  event_id: Type.String(),
  event_type: Type.String(),
});
export type WebhookError = Static<typeof webhook_error>;

/** The only response that shows the secret. */
export const webhook_secret = Type.Object({ webhook_id: Type.String(), webhook_secret: Type.String() });

/** The result of a test event. */
export const webhook_test_result = Type.Object({
  delivered: Type.Boolean(),
  status_code: nullable(Type.Integer()),
  problem: patientDetail(nullable(Type.String())),
  snippet: patientDetail(nullable(Type.String())),
  duration_ms: Type.Integer(),
  /** The body that was sent. */
  body: Type.String(),
});

/** How the built-in receiver responds. */
const response_fields = {
  /** Null: it closes the connection. */
  status: nullable(Type.Integer()),
  delay_ms: Type.Integer(),
};

export const receiver = Type.Object({
  webhook_id: Type.String(),
  url: webhook_url,
  endpoint_status: Type.Enum(['enabled', 'disabled']),
  ...response_fields,
  /** For how many requests; null: until it is changed. */
  times: nullable(Type.Integer()),
});
export type ReceiverState = Static<typeof receiver>;

export const received_row = Type.Object({
  id,
  at: date_time,
  method: Type.String(),
  body_bytes: Type.Integer(),
  verdict: Type.Enum(['valid', 'wrong', 'late', 'missing']),
  event_id: nullable(Type.String()),
  event_type: nullable(Type.String()),
  attempt: nullable(Type.String()),
  ...response_fields,
});

export const received_request = Type.Object({
  ...received_row.properties,
  /** Anyone can send anything to the receiver. */
  headers: patientDetail(Type.Record(Type.String(), Type.String())),
  body: patientDetail(Type.String()),
});
