import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { ApiError, apiError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Endpoint } from './endpoint.ts';

/** Errors of Fastify and Node that are the caller's doing, as ours. */
const callers: Record<string, (endpoint: Endpoint | undefined) => ApiError> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: (endpoint) => {
    const expected = endpoint?.file_field === undefined ? 'application/json' : 'multipart/form-data';
    return apiError('media_type_unsupported', { expected });
  },
  FST_ERR_CTP_BODY_TOO_LARGE: () => apiError('body_too_large', { limit: '1 MB' }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => apiError('body_not_json'),
  FST_ERR_BAD_URL: () => apiError('invalid_field', { rule: 'The request URL is not valid.' }),
  FST_ERR_MAX_PARAM_LENGTH: () => apiError('invalid_field', { rule: 'The request URL is too long.' }),
};

/** Every error leaves here, in one shape; what is not a refusal of ours tells nothing but its request id. */
export function answerError(ctx: Context, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { endpoint } = request.routeOptions.config;
  const known = apiErrorOf(error, request);
  if (known.status >= 500) {
    ctx.log.error({ request_id: request.id, endpoint: endpoint?.id ?? '', err: error }, 'request failed');
  }
  request.code = known.code;
  if (known.retry_after_s !== undefined) reply.header('retry-after', known.retry_after_s);
  reply.status(known.status);
  // An address that cannot be decoded is answered before any hook has run.
  reply.header('x-request-id', request.id);
  return reply.send(bodyOf(known, request.id));
}

/** What an error is answered as. */
export function apiErrorOf(error: unknown, request: FastifyRequest): ApiError {
  return asApiError(error, request.routeOptions.config.endpoint, request.headers['idempotency-key'] !== undefined);
}

/** Answers what Node could not even read as a request; there is nothing but the socket to answer on. */
export function answerUnread(error: { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const known = (unread[error.code ?? ''] ?? (() => apiError('request_malformed')))();
  const id = newId();
  const body = JSON.stringify(bodyOf(known, id));
  socket.end(
    `HTTP/1.1 ${known.status} ${STATUS_CODES[known.status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${id}\r\nconnection: close\r\n\r\n${body}`,
  );
}

const unread: Record<string, () => ApiError> = {
  HPE_HEADER_OVERFLOW: () => apiError('headers_too_large'),
  ERR_HTTP_REQUEST_TIMEOUT: () => apiError('request_timeout'),
};

function bodyOf(known: ApiError, request_id: string) {
  if (known.code === 'login_required') return { success: false, error: known.code, message: known.message };
  return {
    success: false,
    message: known.message,
    code: known.code,
    request_id,
    ...(known.field === undefined ? {} : { field: known.field }),
  };
}

function asApiError(error: unknown, endpoint: Endpoint | undefined, keyed: boolean): ApiError {
  if (error instanceof ApiError) return error;
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  const caller = callers[code];
  if (caller) return caller(endpoint);
  // A wait of five seconds for another holder of the same key, see jobs/enqueue.ts and api/idempotency.ts.
  if (code === '55P03' && keyed) return apiError('idempotency_key_running', undefined, { retry_after_s: 1 });
  if (isDatabaseGone(code)) return apiError('database_unavailable', undefined, { retry_after_s: 1 });
  return apiError('internal');
}

/** Connection trouble of postgres.js and the classes 08 (connection), 57P (shutdown), 53 (no resources) and a lock not got. */
function isDatabaseGone(code: string): boolean {
  return /^(CONNECTION_|CONNECT_TIMEOUT|ECONN|ENOENT|EPIPE|08|57P0|53|55P03|3D000|55000)/.test(code);
}
