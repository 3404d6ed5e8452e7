import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Fastify from 'fastify';
import type { TObject } from 'typebox';
import { apiError } from '../catalog/errors.ts';
import { newId } from '../catalog/ids.ts';
import type { ClientScope } from '../platform/db/fragments.ts';
import type { Context } from '../product/context.ts';
import { documentsMax } from '../product/jobs/uploads.ts';
import { anonymous, authenticate, type Caller, credentialOf } from './auth/authenticate.ts';
import { requireFreshSignIn, requireRole, requireSetup } from './auth/authenticateOperator.ts';
import { acceptJson, type Form, type FormLimiter, formLimiter, readForm, requireReadableBody } from './bodies.ts';
import { body_bytes_max, bodyPart, type Endpoint, JsonText, Replayed, takesKey, WithHeaders } from './endpoint.ts';
import { showToOperator } from './hidePatients.ts';
import { readIdempotencyKey, runOnce } from './idempotency.ts';
import { type AddressLimit, type AddressLimiting, openAddressLimit } from './limits/addressLimit.ts';
import { endConnectionsOnClose, limitConnections, openStreams, type Streams } from './limits/connections.ts';
import { applyRateLimit, openSharedLimits, type RateLimiter, rateLimiter } from './limits/rateLimit.ts';
import { answerOtherMethods } from './otherMethods.ts';
import { openRequestAudit, recordResponse } from './requestAudit.ts';
import { isLogged, loggedRequest, pathMask, traceRequests } from './requestLog.ts';
import { apiErrorOf, sendConnectError, sendError, sendParseError } from './sendError.ts';
import { reader, rejectUnstorable } from './validate.ts';

/** One year, the minimum for browsers' preload lists. Not for subdomains, which may belong to others. */
const json_type = 'application/json; charset=utf-8';
const hsts = 'max-age=31536000';

/** Serves the declared endpoints: authentication, rate limits, validation, idempotency, audit and error responses. */
export function buildServer(ctx: Context, endpoints: readonly Endpoint[], isDraining = () => false): FastifyInstance {
  const server = Fastify({
    logger: false,
    bodyLimit: body_bytes_max.none,
    // The remote address is the one that the nearest proxy in the list reports.
    trustProxy: ctx.config.trusted_proxies.length > 0 ? ctx.config.trusted_proxies : false,
    genReqId: newId,
    // HEAD is answered as GET, except by routes that say otherwise.
    exposeHeadRoutes: true,
    // Ends slow requests; a body of 1 MB takes far less.
    requestTimeout: 30_000,
    routerOptions: { maxParamLength: 500 },
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => sendError(ctx, error, request, reply),
    clientErrorHandler: sendParseError,
  });
  limitConnections(ctx, server);
  server.server.on('connect', sendConnectError);
  endConnectionsOnClose(server, isDraining);
  const streams = openStreams(server);
  traceRequests(ctx, server);
  const { rate_limit, rate_burst, address_rate_limit, address_rate_burst } = ctx.config;
  const shared = openSharedLimits(ctx.notifications);
  server.addHook('onReady', shared.listen);
  const address_limit = openAddressLimit(shared.share('address', rateLimiter(address_rate_limit, address_rate_burst)));
  server.decorate('address_limit', address_limit);
  const maskPath = pathMask(endpoints);
  const https = ctx.config.base_url.startsWith('https:');
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    if (https) reply.header('strict-transport-security', hsts);
    if (countHosts(request.raw.rawHeaders) > 1) return done(apiError('request_malformed'));
    const { address_limiting = 'every_request', endpoint } = request.routeOptions.config;
    if (address_limiting !== 'every_request') return done();
    address_limit.count(request, endpoint?.address_cost ?? 1).then(() => done(), done);
  });
  const other_methods = answerOtherMethods(server);
  server.addHook('onSend', (_request, reply, payload, done) => {
    // Most responses contain health data or tokens. Those that may be cached say so (page files, public keys).
    if (!reply.hasHeader('cache-control') && !reply.raw.hasHeader('cache-control')) {
      reply.header('cache-control', 'no-store');
    }
    done(null, payload);
  });
  server.addHook('onResponse', (request, reply, done) => {
    // Read once: Fastify creates the options at each access.
    const { address_limiting = 'every_request', endpoint } = request.routeOptions.config;
    if (address_limiting === 'every_request') {
      address_limit.chargeBodies(request, Number(reply.getHeader('content-length') ?? 0));
    }
    const { statusCode: status, elapsedTime } = reply;
    const fields = { endpoint: endpoint?.id ?? 'unknown', status, duration_ms: Math.round(elapsedTime) };
    ctx.metrics.requests.observe({ endpoint: fields.endpoint, status }, elapsedTime / 1000);
    const { id: request_id, method, code = '' } = request;
    const client = request.caller?.client?.public_id ?? '';
    ctx.log.info({ ...fields, method, code, request_id, client }, 'request');
    if (isLogged(request, endpoint)) ctx.request_log.add(loggedRequest(request, endpoint, fields, maskPath));
    done();
  });
  server.setErrorHandler(async (error, request, reply) => {
    const { status } = apiErrorOf(error, request);
    const sent = await recordResponse(ctx, request, status).then(
      () => error,
      (failure: unknown) => failure,
    );
    return sendError(ctx, sent, request, reply);
  });
  server.setNotFoundHandler(async (request, reply) => other_methods.handle(request, reply));
  acceptJson(server);
  server.register(multipart);

  const limit = shared.share('client', rateLimiter(rate_limit, rate_burst));
  const limitForms = formLimiter(documentsMax(ctx.config.uploads_parallel));
  for (const endpoint of endpoints) {
    addRoute(ctx, server, endpoint, { limit, limitForms, address_limit, streams });
  }
  return server;
}

/** Node takes the first of several Host headers, a proxy may take the last. RFC 9112 requires to refuse them. */
function countHosts(raw_headers: readonly string[]): number {
  let hosts = 0;
  for (let n = 0; n < raw_headers.length; n += 2) {
    if (raw_headers[n]?.length === 4 && raw_headers[n]?.toLowerCase() === 'host') hosts++;
  }
  return hosts;
}

type Limits = {
  limit: RateLimiter;
  limitForms: FormLimiter;
  address_limit: AddressLimit;
  streams: Streams;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    endpoint?: Endpoint;
    address_limiting?: AddressLimiting;
  }
  interface FastifyInstance {
    /** For routes that are not declared endpoints and authenticate by themselves. */
    address_limit: AddressLimit;
  }
  interface FastifyRequest {
    caller?: Caller;
    /** When the caller was identified. */
    admitted_ms?: number;
    scope?: ClientScope;
    /** The code of the error response, and the field that it names. */
    code?: string;
    error_field?: string;
  }
}

/** How long after its headers a request is still admitted by them. */
const admitted_for_ms = 500;

const no_fields = { type: 'object', properties: {} } as TObject;

function addRoute(
  ctx: Context,
  server: FastifyInstance,
  endpoint: Endpoint,
  { limit, limitForms, address_limit, streams }: Limits,
): void {
  const readBody = endpoint.method === 'GET' ? undefined : reader(endpoint.body ?? no_fields, bodyPart(endpoint));
  const readQuery = reader(endpoint.query ?? no_fields, 'query');
  const admit = async (request: FastifyRequest) => {
    request.admitted_ms = performance.now();
    request.caller =
      endpoint.auth === 'none'
        ? anonymous
        : await address_limit.authenticate(request, credentialOf(ctx, endpoint, request.headers), () =>
            authenticate(ctx, endpoint, request),
          );
  };
  const requireRights = (request: FastifyRequest) => {
    const { operator, client } = request.caller ?? anonymous;
    if (!operator) return;
    requireSetup(ctx, endpoint, operator);
    request.scope = requireRole(endpoint, operator, client);
    requireFreshSignIn(endpoint, operator);
  };
  const requireAccount = ({ account }: Caller) => {
    const expired = account?.status === 'login_required';
    if (expired && endpoint.auth === 'account' && !endpoint.while_expired) throw apiError('login_required');
    const { needs } = endpoint;
    // Null means everything the connector supports. A list it does not support at all is empty, not an error.
    if (needs && account?.capabilities?.includes(needs.operation) === false) {
      throw apiError('operation_not_offered', { operation: needs.label });
    }
  };
  /** A body may take half a minute to arrive. What was revoked meanwhile does not count for the request. */
  const admitAgain = async (request: FastifyRequest) => {
    if (performance.now() - (request.admitted_ms ?? 0) < admitted_for_ms) return;
    await admit(request);
    requireRights(request);
    requireAccount(request.caller ?? anonymous);
  };
  server.route({
    method: endpoint.method,
    url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { endpoint, address_limiting: endpoint.auth === 'none' ? 'every_request' : 'failures' },
    exposeHeadRoute: endpoint.head !== false && !endpoint.stream,
    bodyLimit: body_bytes_max[endpoint.auth],
    // Runs before the body is read: an unauthenticated request costs a lookup, not a parse.
    onRequest: async (request, reply) => {
      await admit(request);
      const { caller = anonymous } = request;
      const audit = openRequestAudit(ctx, request, caller);
      if (audit) request.audit = audit;
      requireRights(request);
      // An operator's requests do not count against the client's rate limit.
      if (caller.client && !caller.operator) applyRateLimit(reply, limit(caller.client.id));
      requireAccount(caller);
      if (endpoint.method !== 'GET') requireReadableBody(request.headers);
    },
    handler: async (request, reply) => {
      const { file_field } = endpoint;
      if (file_field === undefined) return respond(request, reply, undefined);
      const client_id = request.caller?.client?.id ?? '';
      return limitForms(client_id, request, async () => respond(request, reply, await readForm(request, file_field)));
    },
  });

  const respond = async (request: FastifyRequest, reply: FastifyReply, form: Form | undefined) => {
    await admitAgain(request);
    const raw_query = request.query as Record<string, unknown>;
    rejectUnstorable(raw_query);
    rejectUnstorable(request.params);
    const query = readQuery(raw_query);
    const body = readBody?.(bodyOf(request, form));
    const { client, account, link, operator } = request.caller ?? {};
    const idempotency =
      takesKey(endpoint) && !operator
        ? readIdempotencyKey(idempotencyKeys(request), account?.id ?? client?.id, {
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
      address: request.ip,
      client,
      account,
      link,
      operator,
      scope: request.scope,
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
    const shown = await showToOperator(ctx, endpoint, request, response);
    await recordResponse(ctx, request, reply.statusCode);
    if (shown instanceof WithHeaders && shown.body instanceof Readable) {
      streams.add(shown.body, client?.id);
    }
    return send(reply, shown);
  };
}

/** As sent: Node joins the values of a repeated header. */
function idempotencyKeys({ headers, raw }: FastifyRequest): readonly string[] | undefined {
  return headers['idempotency-key'] === undefined ? undefined : raw.headersDistinct['idempotency-key'];
}

function bodyOf(request: FastifyRequest, form: Form | undefined): Record<string, unknown> {
  if (form) return form.fields;
  // The form parser is registered for all routes but only meant for endpoints with `file_field`.
  if (request.isMultipart()) throw apiError('media_type_unsupported', { expected: 'application/json' });
  const body = request.body === undefined ? {} : request.body;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw apiError('body_not_object');
  return body as Record<string, unknown>;
}

function send(reply: FastifyReply, response: unknown): FastifyReply {
  // As bytes: Node would count the characters of a text first and encode it into a buffer three times its size.
  if (response instanceof JsonText) return reply.type(json_type).send(Buffer.from(response.text));
  if (response instanceof Replayed) return reply.header('idempotency-replayed', 'true').send(response.body);
  if (response instanceof WithHeaders) return reply.headers(response.headers).send(response.body);
  return reply.send(response);
}

function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
