import { createHash } from 'node:crypto';
import multipart from '@fastify/multipart';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import type { Context, LoggedRequest } from '../context.ts';
import { apiError } from '../errors.ts';
import { newId } from '../ids.ts';
import { authenticate, type Known } from './authenticate.ts';
import { refuseRole } from './authenticateOperator.ts';
import { endConnectionsOnClose } from './closeConnections.ts';
import { type Endpoint, JsonText, Replayed, WithHeaders } from './endpoint.ts';
import { readIdempotencyKey, runOnce } from './idempotency.ts';
import { rateLimiter } from './rateLimit.ts';
import { type Form, openTurns, readForm } from './readForm.ts';
import { openTrail, recordAnswer } from './requestAudit.ts';
import { answerError, answerUnread, apiErrorOf } from './sendError.ts';
import { readQuery, refuseUnstorable, validator } from './validate.ts';

const body_bytes_max = 1_048_576;

/** The machine that every endpoint is handed to: it knows the caller, checks the request, answers. */
export function buildServer(ctx: Context, endpoints: readonly Endpoint[]): FastifyInstance {
  const server = Fastify({
    logger: false,
    bodyLimit: body_bytes_max,
    genReqId: newId,
    exposeHeadRoutes: false,
    // Slow senders are cut off; a body of 1 MB takes far less.
    requestTimeout: 30_000,
    routerOptions: { maxParamLength: 500 },
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => answerError(ctx, error, request, reply),
    clientErrorHandler: answerUnread,
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
    ctx.log.info({ ...fields, request_id: request.id, client: request.known?.client?.public_id ?? '' }, 'request');
    if (isLogged(request)) ctx.request_log.add(logged(request, fields));
  });
  server.setErrorHandler(async (error, request, reply) => {
    const { status } = apiErrorOf(error, request);
    const told = await recordAnswer(ctx, request, status).then(
      () => error,
      (failure: unknown) => failure,
    );
    return answerError(ctx, told, request, reply);
  });
  server.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? '';
    const error = apiError('route_not_found', { method: request.method, path: path.slice(0, 200) });
    return answerError(ctx, error, request, reply);
  });
  readJson(server);
  server.register(multipart);

  const limit = rateLimiter(ctx.config.rate_limit, ctx.config.rate_burst);
  const turns = openTurns();
  for (const endpoint of endpoints) {
    if (!endpoint.sandbox || ctx.config.sandbox) addRoute(ctx, server, endpoint, limit, turns);
  }
  return server;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    endpoint?: Endpoint;
  }
  interface FastifyRequest {
    known?: Known;
    /** The code of the error it was answered with. */
    code?: string;
  }
}

function readJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    const source = String(text);
    if (source.trim() === '') return done(null, undefined);
    try {
      const body: unknown = JSON.parse(source);
      // Only an escape can bring in what cannot be stored; the look at every string is kept for such texts.
      if (/\\u(0000|d[89a-f])/i.test(source)) refuseUnstorable(body);
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
  turns: ReturnType<typeof openTurns>,
): void {
  const checkBody = endpoint.body && validator(endpoint.body, 'body');
  const nothing = { type: 'object', properties: {} } as TObject;
  const query_schema = endpoint.query ?? nothing;
  const checkQuery = validator(query_schema, 'query');
  server.route({
    method: endpoint.method,
    url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { endpoint },
    // Before the body is read: a stranger's request costs a look-up, not a parse.
    onRequest: async (request, reply) => {
      // What an operator is shown is health data or a key to it: no cache keeps it.
      if (endpoint.path.startsWith('/dashboard/')) reply.header('cache-control', 'no-store');
      request.known = await authenticate(ctx, endpoint, request);
      const trail = openTrail(ctx, request, request.known);
      if (trail) request.trail = trail;
      if (request.known.operator) refuseRole(endpoint, request.known.operator);
      // Operators share no client's rate: looking at a busy client must not slow it down.
      if (request.known.client && !request.known.operator) spend(reply, limit(request.known.client.id));
      const expired = request.known.account?.status === 'login_required';
      if (expired && endpoint.auth === 'account' && !endpoint.while_expired) throw apiError('login_required');
      const { needs } = endpoint;
      // A connector without it has an empty list; that this very server lacks it is told.
      if (needs && request.known.account?.offers?.includes(needs.operation) === false) {
        throw apiError('operation_not_offered', { operation: needs.label });
      }
    },
    handler: async (request, reply) => {
      if (endpoint.file_field === undefined) return answer(request, reply, undefined);
      // The form is read in its turn: a file is held in memory until its request is answered.
      const { file_field } = endpoint;
      return turns(async () => answer(request, reply, await readForm(request, file_field)));
    },
  });

  const answer = async (request: FastifyRequest, reply: FastifyReply, form: Form | undefined) => {
    const raw_query = request.query as Record<string, unknown>;
    refuseUnstorable(raw_query);
    refuseUnstorable(request.params);
    const query = readQuery(query_schema, raw_query);
    checkQuery(query);
    const body = checkBody ? bodyOf(request, form) : undefined;
    if (body) checkBody?.(body);
    const { client, account, link, operator } = request.known ?? {};
    const mutates = endpoint.method === 'POST' || endpoint.method === 'PATCH';
    const idempotency =
      mutates && !operator
        ? readIdempotencyKey(request.headers['idempotency-key'], account?.id ?? client?.id, {
            endpoint: endpoint.id,
            params: request.params,
            body: form?.file ? { ...body, file: hashOf(form.file.content) } : (body ?? null),
          })
        : undefined;
    const { trail } = request;
    const recordInTransaction = trail?.recordInTransaction ?? (async () => {});
    const answered = await endpoint.handle({
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
      auditPatients: trail?.auditPatients ?? (() => {}),
      auditSubject: trail?.auditSubject ?? (() => {}),
      auditStatement: trail?.auditStatement,
      recordInTransaction,
      inTransaction: (work: Parameters<typeof runOnce>[3]) =>
        runOnce(ctx, client?.id ?? '', idempotency, async (tx) => {
          const answer = await work(tx);
          await recordInTransaction(tx);
          return answer;
        }),
    } as never);
    await recordAnswer(ctx, request, reply.statusCode);
    return send(reply, answered);
  };
}

function bodyOf(request: FastifyRequest, form: Form | undefined): Record<string, unknown> {
  if (form) return form.fields;
  // The parser of forms is there for the endpoints that take one, and for no other.
  if (request.isMultipart()) throw apiError('media_type_unsupported', { expected: 'application/json' });
  const body = request.body === undefined ? {} : request.body;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw apiError('body_not_object');
  return body as Record<string, unknown>;
}

/** Requests of applications and of Link; what the dashboard asks for would bury them. */
function isLogged({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.endpoint?.path.startsWith('/dashboard/') === false;
}

function logged(
  request: FastifyRequest,
  { endpoint, status, duration_ms }: Pick<LoggedRequest, 'endpoint' | 'status' | 'duration_ms'>,
): LoggedRequest {
  return {
    id: request.id,
    client_id: request.known?.client?.id ?? null,
    account_id: request.known?.account?.id ?? null,
    endpoint,
    method: request.method,
    status,
    duration_ms,
    code: request.code ?? null,
  };
}

function spend(reply: FastifyReply, allowance: ReturnType<ReturnType<typeof rateLimiter>>): void {
  reply.header('ratelimit-limit', allowance.limit);
  reply.header('ratelimit-remaining', allowance.remaining);
  reply.header('ratelimit-reset', allowance.reset_s);
  if (!allowance.allowed) throw apiError('rate_limited', undefined, { retry_after_s: allowance.reset_s });
}

function send(reply: FastifyReply, answer: unknown): FastifyReply {
  if (answer instanceof JsonText) return reply.type('application/json; charset=utf-8').send(answer.text);
  if (answer instanceof Replayed) return reply.header('idempotency-replayed', 'true').send(answer.body);
  if (answer instanceof WithHeaders) return reply.headers(answer.headers).send(answer.body);
  return reply.send(answer);
}

function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
