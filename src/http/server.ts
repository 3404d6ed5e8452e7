import { createHash } from 'node:crypto';
import multipart from '@fastify/multipart';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import type { Context, LoggedRequest } from '../context.ts';
import { apiError } from '../errors.ts';
import { newId } from '../ids.ts';
import { authenticate, type Caller } from './authenticate.ts';
import { requireRole } from './authenticateOperator.ts';
import { endConnectionsOnClose } from './closeConnections.ts';
import { type Endpoint, JsonText, Replayed, type Surface, WithHeaders } from './endpoint.ts';
import { readIdempotencyKey, runOnce } from './idempotency.ts';
import { rateLimiter } from './rateLimit.ts';
import { type Form, formLimiter, readForm } from './readForm.ts';
import { openRequestAudit, recordResponse } from './requestAudit.ts';
import { apiErrorOf, sendError, sendParseError } from './sendError.ts';
import { readQuery, rejectUnstorable, validator } from './validate.ts';

const body_bytes_max = 1_048_576;

const policies: Record<Surface, { cache_control?: string; logged: boolean }> = {
  api: { logged: true },
  link_page: { logged: true },
  // Responses contain health data or secrets, and the page's own requests would flood the request log.
  dashboard: { cache_control: 'no-store', logged: false },
};

/** Serves the declared endpoints: authentication, rate limits, validation, idempotency, audit and error responses. */
export function buildServer(ctx: Context, endpoints: readonly Endpoint[]): FastifyInstance {
  const server = Fastify({
    logger: false,
    bodyLimit: body_bytes_max,
    genReqId: newId,
    exposeHeadRoutes: false,
    // Ends slow requests; a body of 1 MB takes far less.
    requestTimeout: 30_000,
    routerOptions: { maxParamLength: 500 },
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => sendError(ctx, error, request, reply),
    clientErrorHandler: sendParseError,
  });
  endConnectionsOnClose(server);
  server.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  server.addHook('onResponse', async (request, reply) => {
    const endpoint = request.routeOptions.config.endpoint?.id ?? 'unknown';
    const seconds = reply.elapsedTime / 1000;
    ctx.metrics.requests.observe({ endpoint, status: reply.statusCode }, seconds);
    const fields = { endpoint, status: reply.statusCode, duration_ms: Math.round(reply.elapsedTime) };
    ctx.log.info({ ...fields, request_id: request.id, client: request.caller?.client?.public_id ?? '' }, 'request');
    if (isLogged(request)) ctx.request_log.add(loggedRequest(request, fields));
  });
  server.setErrorHandler(async (error, request, reply) => {
    const { status } = apiErrorOf(error, request);
    const sent = await recordResponse(ctx, request, status).then(
      () => error,
      (failure: unknown) => failure,
    );
    return sendError(ctx, sent, request, reply);
  });
  server.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? '';
    const error = apiError('route_not_found', { method: request.method, path: path.slice(0, 200) });
    return sendError(ctx, error, request, reply);
  });
  parseJson(server);
  server.register(multipart);

  const limit = rateLimiter(ctx.config.rate_limit, ctx.config.rate_burst);
  const limitForms = formLimiter();
  for (const endpoint of endpoints) {
    addRoute(ctx, server, endpoint, limit, limitForms);
  }
  return server;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    endpoint?: Endpoint;
  }
  interface FastifyRequest {
    caller?: Caller;
    /** The code of the error response. */
    code?: string;
  }
}

function parseJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    const source = String(text);
    if (source.trim() === '') return done(null, undefined);
    try {
      const body: unknown = JSON.parse(source);
      // Only an escape sequence can produce such a character, so other bodies skip the check.
      if (/\\u(0000|d[89a-f])/i.test(source)) rejectUnstorable(body);
      done(null, body);
    } catch (error) {
      done(error instanceof SyntaxError ? apiError('body_not_json') : (error as Error));
    }
  });
}

function addRoute(
  ctx: Context,
  server: FastifyInstance,
  endpoint: Endpoint,
  limit: ReturnType<typeof rateLimiter>,
  limitForms: ReturnType<typeof formLimiter>,
): void {
  const { cache_control } = policies[endpoint.surface];
  const checkBody = endpoint.body && validator(endpoint.body, 'body');
  const no_query = { type: 'object', properties: {} } as TObject;
  const query_schema = endpoint.query ?? no_query;
  const checkQuery = validator(query_schema, 'query');
  server.route({
    method: endpoint.method,
    url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { endpoint },
    // Runs before the body is read: an unauthenticated request costs a lookup, not a parse.
    onRequest: async (request, reply) => {
      if (cache_control) reply.header('cache-control', cache_control);
      const caller = await authenticate(ctx, endpoint, request);
      request.caller = caller;
      const audit = openRequestAudit(ctx, request, caller);
      if (audit) request.audit = audit;
      if (caller.operator) requireRole(endpoint, caller.operator);
      // An operator's requests do not count against the client's rate limit.
      if (caller.client && !caller.operator) applyRateLimit(reply, limit(caller.client.id));
      const expired = caller.account?.status === 'login_required';
      if (expired && endpoint.auth === 'account' && !endpoint.while_expired) throw apiError('login_required');
      const { needs } = endpoint;
      // Null means everything the connector supports. A list it does not support at all is empty, not an error.
      if (needs && caller.account?.offers?.includes(needs.operation) === false) {
        throw apiError('operation_not_offered', { operation: needs.label });
      }
    },
    handler: async (request, reply) => {
      const { file_field } = endpoint;
      if (file_field === undefined) return respond(request, reply, undefined);
      return limitForms(async () => respond(request, reply, await readForm(request, file_field)));
    },
  });

  const respond = async (request: FastifyRequest, reply: FastifyReply, form: Form | undefined) => {
    const raw_query = request.query as Record<string, unknown>;
    rejectUnstorable(raw_query);
    rejectUnstorable(request.params);
    const query = readQuery(query_schema, raw_query);
    checkQuery(query);
    const body = checkBody ? bodyOf(request, form) : undefined;
    if (body) checkBody?.(body);
    const { client, account, link, operator } = request.caller ?? {};
    const mutates = endpoint.method === 'POST' || endpoint.method === 'PATCH';
    const idempotency =
      mutates && !operator
        ? readIdempotencyKey(request.headers['idempotency-key'], account?.id ?? client?.id, {
            endpoint: endpoint.id,
            params: request.params,
            body: form?.file ? { ...body, file: hashOf(form.file.content) } : (body ?? null),
          })
        : undefined;
    const { audit } = request;
    const recordInTransaction = audit?.recordInTransaction ?? (async () => {});
    const response = await endpoint.handle({
      ctx,
      headers: request.headers,
      client,
      account,
      link,
      operator,
      body,
      query,
      params: request.params,
      file: form?.file?.content,
      idempotency,
      auditPatients: audit?.auditPatients ?? (() => {}),
      auditSubject: audit?.auditSubject ?? (() => {}),
      auditStatement: audit?.auditStatement,
      recordInTransaction,
      inTransaction: (work: Parameters<typeof runOnce>[3]) =>
        runOnce(ctx, client?.id ?? '', idempotency, async (tx) => {
          const result = await work(tx);
          await recordInTransaction(tx);
          return result;
        }),
    } as never);
    await recordResponse(ctx, request, reply.statusCode);
    return send(reply, response);
  };
}

function bodyOf(request: FastifyRequest, form: Form | undefined): Record<string, unknown> {
  if (form) return form.fields;
  // The form parser is registered for all routes but only meant for endpoints with `file_field`.
  if (request.isMultipart()) throw apiError('media_type_unsupported', { expected: 'application/json' });
  const body = request.body === undefined ? {} : request.body;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw apiError('body_not_object');
  return body as Record<string, unknown>;
}

function isLogged({ routeOptions }: FastifyRequest): boolean {
  const { endpoint } = routeOptions.config;
  return endpoint !== undefined && policies[endpoint.surface].logged;
}

function loggedRequest(
  request: FastifyRequest,
  { endpoint, status, duration_ms }: Pick<LoggedRequest, 'endpoint' | 'status' | 'duration_ms'>,
): LoggedRequest {
  return {
    id: request.id,
    client_id: request.caller?.client?.id ?? null,
    account_id: request.caller?.account?.id ?? null,
    endpoint,
    method: request.method,
    status,
    duration_ms,
    code: request.code ?? null,
  };
}

function applyRateLimit(reply: FastifyReply, allowance: ReturnType<ReturnType<typeof rateLimiter>>): void {
  reply.header('ratelimit-limit', allowance.limit);
  reply.header('ratelimit-remaining', allowance.remaining);
  reply.header('ratelimit-reset', allowance.reset_s);
  if (!allowance.allowed) throw apiError('rate_limited', undefined, { retry_after_s: allowance.reset_s });
}

function send(reply: FastifyReply, response: unknown): FastifyReply {
  if (response instanceof JsonText) return reply.type('application/json; charset=utf-8').send(response.text);
  if (response instanceof Replayed) return reply.header('idempotency-replayed', 'true').send(response.body);
  if (response instanceof WithHeaders) return reply.headers(response.headers).send(response.body);
  return reply.send(response);
}

function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
