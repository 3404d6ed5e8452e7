import { type Static, Type } from 'typebox';
import { date_time, id, nullable, patientDetail, webhook_url } from '../fields.ts';

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
export type ReceivedRow = Static<typeof received_row>;

export const received_request = Type.Object({
  ...received_row.properties,
  /** Anyone can send anything to the receiver. */
  headers: patientDetail(Type.Record(Type.String(), Type.String())),
  body: patientDetail(Type.String()),
});
export type ReceivedRequest = Static<typeof received_request>;
