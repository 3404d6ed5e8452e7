import type { FastifyInstance } from 'fastify';
import type { Context } from '../product/context.ts';
import type { OpenSpan } from '../platform/telemetry/telemetry.ts';
import { statusAttributes } from '../platform/telemetry/traceCalls.ts';

declare module 'fastify' {
  interface FastifyRequest {
    span?: OpenSpan;
  }
}

/**
 * A span per request to a declared endpoint. Must be called before other hooks are added, so that they run in the span.
 * Hooks with callbacks, because what an async hook enters is left again when it returns.
 */
export function traceRequests({ telemetry }: Pick<Context, 'telemetry'>, server: FastifyInstance): void {
  if (!telemetry.enabled) return;
  server.addHook('onRequest', (request, _reply, done) => {
    const { endpoint } = request.routeOptions.config;
    if (!endpoint) return done();
    const { method, path: route, id } = endpoint;
    const { traceparent } = request.headers;
    request.span = telemetry.open(`${method} ${route}`, {
      kind: 'server',
      parent: typeof traceparent === 'string' ? traceparent : undefined,
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'chartwire.endpoint': id,
        'chartwire.request_id': request.id,
      },
    });
    request.span.run(done);
  });
  // Once more: the body is parsed on events of the connection, which are outside the span.
  server.addHook('preHandler', ({ span }, _reply, done) => (span ? span.run(done) : done()));
  server.addHook('onResponse', (request, reply, done) => {
    const { span, caller, code } = request;
    if (!span) return done();
    span.end({
      ...(caller?.client && { 'chartwire.client_id': caller.client.public_id }),
      ...(caller?.account && { 'chartwire.account_id': caller.account.id }),
      ...statusAttributes(reply.statusCode, 500),
      ...(reply.statusCode >= 500 && code !== undefined && { 'error.type': code }),
    });
    span.run(done);
  });
}
