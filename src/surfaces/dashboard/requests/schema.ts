import { Type } from 'typebox';
import { date_time, id, nullable, patientDetail } from '../../../model/fields.ts';

/** A logged request, without its body and URL. */
export const request_row = Type.Object({
  id,
  at: date_time,
  /** Null for unauthenticated requests. */
  client_id: nullable(Type.String()),
  client_name: nullable(Type.String()),
  account: nullable(Type.String()),
  endpoint: Type.String(),
  method: Type.String(),
  status: Type.Integer(),
  duration_ms: Type.Integer(),
  /** The code of the error response. */
  code: nullable(Type.String()),
  /** The path of a request to an unknown route, with everything masked that is not part of a declared path. */
  path: nullable(Type.String()),
  /** The field that the error response names. */
  field: nullable(Type.String()),
  job_id: nullable(Type.Integer()),
  /** Null if it was not known when the response started. */
  response_bytes: nullable(Type.Integer()),
  /** The path that was sent; null outside of the sandbox. It can contain an MRN, or a name in a wrong place. */
  sent_path: patientDetail(nullable(Type.String())),
  /** What the error response said; null if parts of it are not stored, because they can be about a patient. */
  message: nullable(Type.String()),
  /** What to do about the error. */
  remedy: nullable(Type.String()),
});

export const request_search = Type.Object({
  id: Type.Optional(id),
  client_id: Type.Optional(Type.String({ maxLength: 100 })),
  endpoint: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  status: Type.Optional(Type.Enum(['2xx', '4xx', '5xx', 'failed'])),
  duration_ms_min: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000 })),
  /** A request ID, or a part of a path. */
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  from: Type.Optional(date_time),
  /** Exclusive. */
  to: Type.Optional(date_time),
  before: Type.Optional(id),
  page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
});

export const request_page = {
  rows: Type.Array(request_row),
  /** The value of `before` for the next page; null on the last page. */
  next: nullable(id),
};
