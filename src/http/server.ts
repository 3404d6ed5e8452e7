import multipart from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import Fastify from 'fastify';
import { apiError } from '../catalog/errors.ts';
import { newId } from '../catalog/ids.ts';
import type { ClientScope } from '../platform/db/fragments.ts';
import type { Context } from '../product/context.ts';
import { documentsMax } from '../product/jobs/enqueue.ts';
import type { Caller } from './auth/authenticate.ts';
import { limitDashboard } from './auth/origins.ts';
import { createRefusalRecords } from './auth/refusalRecords.ts';
import { acceptJson, formLimiter } from './bodies.ts';
import { body_bytes_max, type Endpoint } from './endpoint.ts';
import { type AddressLimit, type AddressLimiting, createAddressLimit } from './limits/addressLimit.ts';
import { endConnectionsOnClose, limitConnections, trackStreams } from './limits/connections.ts';
import { createQuotas } from './limits/quotas.ts';
import { createSharedLimits, rateLimiter } from './limits/rateLimit.ts';
import { answerOtherMethods } from './otherMethods.ts';
import { recordResponse } from './requestAudit.ts';
import { isLogged, loggedRequest, pathMask, traceRequests } from './requestLog.ts';
import { addRoute } from './route.ts';
import { connectErrorSender, parseErrorSender, sendError, toApiError } from './sendError.ts';

/** One year, the minimum for browsers' preload lists. Not for subdomains, which may belong to others. */
const hsts = 'max-age=31536000';

/** Per link: the page polls every second, and can be loaded ten times in a row. */
const link_limits = { per_second: 5, burst: 250 };

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
    clientErrorHandler: parseErrorSender(ctx.config.base_url),
  });
  limitConnections(ctx, server);
  server.server.on('connect', connectErrorSender(ctx.config.base_url));
  endConnectionsOnClose(server, isDraining);
  const streams = trackStreams(server);
  traceRequests(ctx, server);
  const { rate_limit, rate_burst, address_rate_limit, address_rate_burst } = ctx.config;
  const shared = createSharedLimits(ctx.notifications);
  server.addHook('onReady', shared.listen);
  const address_limit = createAddressLimit(
    shared.share('address', rateLimiter(address_rate_limit, address_rate_burst)),
  );
  server.decorate('address_limit', address_limit);
  server.decorate('recordRefusal', createRefusalRecords(ctx));
  addRequestHook(ctx, server, address_limit);
  limitDashboard(ctx, server);
  const other_methods = answerOtherMethods(server);
  addResponseHooks(ctx, server, { address_limit, maskPath: pathMask(endpoints) });
  server.setErrorHandler(async (error, request, reply) => {
    const { status } = toApiError(error, request);
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
  const limitLink = shared.share('link', rateLimiter(link_limits.per_second, link_limits.burst));
  const limitQuota = createQuotas(shared);
  const limitForms = formLimiter(documentsMax(ctx.config.uploads_parallel));
  for (const endpoint of endpoints) {
    addRoute(ctx, server, endpoint, { limit, limitLink, limitQuota, limitForms, address_limit, streams });
  }
  return server;
}

function addRequestHook(ctx: Context, server: FastifyInstance, address_limit: AddressLimit): void {
  const https = ctx.config.base_url.startsWith('https:');
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    if (https) reply.header('strict-transport-security', hsts);
    if (countHosts(request.raw.rawHeaders) > 1) return done(apiError('request_malformed'));
    const { address_limiting = 'every_request', endpoint } = request.routeOptions.config;
    if (address_limiting !== 'every_request') return done();
    address_limit.count(request, endpoint?.cost ?? 1).then(() => done(), done);
  });
}

function addResponseHooks(
  ctx: Context,
  server: FastifyInstance,
  { address_limit, maskPath }: { address_limit: AddressLimit; maskPath: ReturnType<typeof pathMask> },
): void {
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
    if (!isLogged(request, endpoint)) return done();
    const response_bytes = Number(reply.getHeader('content-length') ?? Number.NaN);
    const logged = { ...fields, response_bytes: Number.isNaN(response_bytes) ? null : response_bytes };
    ctx.request_log.add(loggedRequest(request, endpoint, logged, { maskPath, sandbox: ctx.config.sandbox }));
    done();
  });
}

/** Node takes the first of several Host headers, a proxy may take the last. RFC 9112 requires to refuse them. */
function countHosts(raw_headers: readonly string[]): number {
  let hosts = 0;
  for (let n = 0; n < raw_headers.length; n += 2) {
    if (raw_headers[n]?.length === 4 && raw_headers[n]?.toLowerCase() === 'host') hosts++;
  }
  return hosts;
}

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
    /** The values in its message. */
    error_values?: Readonly<Record<string, string>>;
  }
}
