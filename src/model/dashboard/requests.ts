import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../fields.ts';

/** A request as it was answered: no body, no address. */
export const request_row = Type.Object({
  id,
  at: date_time,
  /** null when nobody was known: wrong credentials, or an endpoint that needs none. */
  client_id: nullable(Type.String()),
  client_name: nullable(Type.String()),
  account: nullable(Type.String()),
  endpoint: Type.String(),
  method: Type.String(),
  status: Type.Integer(),
  duration_ms: Type.Integer(),
  /** The code of the error it was answered with. */
  code: nullable(Type.String()),
});
export type RequestRow = Static<typeof request_row>;

export const request_search = Type.Object({
  id: Type.Optional(id),
  client_id: Type.Optional(Type.String({ maxLength: 100 })),
  endpoint: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  status: Type.Optional(Type.Enum(['2xx', '4xx', '5xx', 'failed'])),
  duration_ms_min: Type.Optional(Type.Integer({ minimum: 0 })),
  before: Type.Optional(id),
  page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
});
export type RequestSearch = Static<typeof request_search>;

export const request_page = {
  rows: Type.Array(request_row),
  /** `before` of the next page; null at the end. */
  next: nullable(id),
};
