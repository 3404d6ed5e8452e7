import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, apiError } from '../catalog/errors.ts';
import { newId } from '../catalog/ids.ts';
import { errorDocUrl, findRemedy } from '../catalog/remedies.ts';
import { document_bytes_max } from '../model/requests/documents.ts';
import type { Context } from '../product/context.ts';
import { body_bytes_max, type Endpoint } from './endpoint.ts';
import { quotaBodyMax } from './limits/quotas.ts';

/** Errors of Fastify and Node that the caller caused, by code. */
const caller_errors: Record<string, (endpoint: Endpoint | undefined) => ApiError> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: (endpoint) => {
    const expected = endpoint?.file_field === undefined ? 'application/json' : 'multipart/form-data';
    return apiError('media_type_unsupported', { expected });
  },
  FST_ERR_CTP_BODY_TOO_LARGE: (endpoint) => apiError('body_too_large', { limit: formatBodyLimit(endpoint) }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => apiError('body_not_json'),
  FST_ERR_BAD_URL: () => apiError('invalid_field', { rule: 'The request URL is not valid.' }),
  FST_ERR_MAX_PARAM_LENGTH: () => apiError('invalid_field', { rule: 'The request URL is too long.' }),
};

/** Sends every error response, in one format. Unexpected errors reveal nothing but the request id. */
export function sendError(ctx: Context, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { endpoint } = request.routeOptions.config;
  const api_error = toApiError(error, request);
  if (api_error.status >= 500) {
    ctx.log.error({ request_id: request.id, endpoint: endpoint?.id ?? '', err: error }, 'request failed');
  }
  request.code = api_error.code;
  request.error_values = api_error.values;
  if (api_error.field !== undefined) request.error_field = api_error.field;
  if (api_error.retry_after_s !== undefined) reply.header('retry-after', api_error.retry_after_s);
  if (!request.caller && leavesBodyUnread(request, api_error)) reply.header('connection', 'close');
  reply.status(api_error.status);
  // No hook has run yet if the URL could not be decoded.
  reply.header('x-request-id', request.id);
  return reply.send(composeBody(api_error, request.id, ctx.config.base_url));
}

/**
 * To keep a connection open, Node reads the rest of the body, however large it is. A request that did not authenticate
 * ends its connection instead if its body has no stated length or is larger than any that we accept, or if its address is
 * over the limit. Small bodies are read: a new connection would cost more. Others are read because some clients report a
 * closed connection instead of the response.
 */
function leavesBodyUnread({ headers }: FastifyRequest, { code }: ApiError): boolean {
  const read_max = code === 'rate_limited' ? body_bytes_max.none : 2 * document_bytes_max;
  return 'transfer-encoding' in headers || Number(headers['content-length'] ?? 0) > read_max;
}

function formatBodyLimit(endpoint: Endpoint | undefined): string {
  const bytes = (endpoint && quotaBodyMax(endpoint)) ?? body_bytes_max[endpoint?.auth ?? 'none'];
  return bytes >= 1_048_576 ? `${bytes / 1_048_576} MB` : `${bytes / 1024} KB`;
}

export function toApiError(error: unknown, request: FastifyRequest): ApiError {
  return mapError(error, request.routeOptions.config.endpoint, request.headers['idempotency-key'] !== undefined);
}

/** Whether the database was slow or unavailable, which no request causes by what it contains. */
export function isDatabaseFailure(error: unknown): boolean {
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  return !(error instanceof ApiError) && (code === query_canceled || isDatabaseUnavailable(code));
}

/** The error for a request that no route matches. */
export function routeNotFound({ method, url }: FastifyRequest): ApiError {
  const path = url.split('?')[0] ?? '';
  return apiError('route_not_found', { method, path: path.slice(0, 200) });
}

/** Responds on the socket itself when Node could not parse the request. */
export function parseErrorSender(base_url: string): (error: { code?: string }, socket: Socket) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    sendOnSocket(socket, (parse_errors[error.code ?? ''] ?? (() => apiError('request_malformed')))(), base_url);
  };
}

/** Node reports CONNECT as an event with a bare socket. */
export function connectErrorSender(base_url: string): (request: unknown, socket: Duplex) => void {
  return (_request, socket) => {
    socket.on('error', () => socket.destroy());
    sendOnSocket(socket, apiError('method_not_allowed', { method: 'CONNECT', allowed: 'none' }), base_url);
  };
}

function sendOnSocket(socket: Duplex, api_error: ApiError, base_url: string): void {
  const id = newId();
  const body = JSON.stringify(composeBody(api_error, id, base_url));
  socket.end(
    `HTTP/1.1 ${api_error.status} ${STATUS_CODES[api_error.status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${id}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n${body}`,
  );
}

const parse_errors: Record<string, () => ApiError> = {
  HPE_HEADER_OVERFLOW: () => apiError('headers_too_large'),
  ERR_HTTP_REQUEST_TIMEOUT: () => apiError('request_timeout'),
};

/** The body of an error; of an expired link, exactly the prescribed fields. */
export function composeBody(
  {
    code,
    message,
    field,
    errors,
    ids,
  }: Pick<ApiError, 'code' | 'message' | 'field' | 'errors'> & Partial<Pick<ApiError, 'ids'>>,
  request_id: string,
  base_url: string,
) {
  if (code === 'login_required') return { success: false, error: code, message };
  return {
    success: false,
    message,
    code,
    request_id,
    ...(field === undefined ? {} : { field }),
    ...(errors === undefined ? {} : { errors }),
    ...ids,
    remedy: findRemedy(code),
    doc_url: errorDocUrl(base_url, code),
  };
}

function mapError(error: unknown, endpoint: Endpoint | undefined, keyed: boolean): ApiError {
  if (error instanceof ApiError) return error;
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  const callerError = caller_errors[code];
  if (callerError) return callerError(endpoint);
  // Another request with the same key held its lock for five seconds (product/jobs/enqueue.ts, idempotency.ts).
  if (code === '55P03' && keyed) return apiError('idempotency_key_running', undefined, { retry_after_s: 1 });
  if (code === query_canceled) return apiError('database_slow', undefined, { retry_after_s: 5 });
  if (isDatabaseUnavailable(code)) return apiError('database_unavailable', undefined, { retry_after_s: 1 });
  return apiError('internal');
}

/** SQLSTATE of a statement that exceeded `statement_timeout`. */
const query_canceled = '57014';

/**
 * Connection errors of the driver, for which the process may have no file descriptor left (EMFILE, ENFILE); SQLSTATE
 * classes 08 (connection), 57P (shutdown), 53 (resources); lock timeouts; a disk that fails (58030); a former primary
 * that allows no writes (25006).
 */
function isDatabaseUnavailable(code: string): boolean {
  return /^(CONNECTION_|CONNECT_TIMEOUT|ECONN|EMFILE|ENFILE|ENOENT|EPIPE|08|25006|57P0|53|55P03|58030|3D000|55000)/.test(
    code,
  );
}
