import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type OpenSpan, statusAttributes } from '../platform/telemetry/telemetry.ts';
import type { Context, LoggedRequest } from '../product/context.ts';
import type { Endpoint, Surface } from './endpoint.ts';
import { storedValues } from './loggedError.ts';

const policies: Record<Surface, { logged: boolean }> = {
  api: { logged: true },
  link_page: { logged: true },
  // The page's own requests would flood the request log.
  dashboard: { logged: false },
};

/** A request over the limit of its address or its link is not logged: the flood would fill the log. */
export function isLogged({ code, caller, url }: FastifyRequest, endpoint: Endpoint | undefined): boolean {
  if (code === 'rate_limited' && (!caller || caller.link || caller.practice)) return false;
  if (code === 'route_not_found' || code === 'method_not_allowed') return !url.startsWith('/dashboard');
  return endpoint !== undefined && policies[endpoint.surface].logged;
}

/** What the request log stores. */
export function loggedRequest(
  request: FastifyRequest,
  endpoint: Endpoint | undefined,
  fields: Pick<LoggedRequest, 'endpoint' | 'status' | 'duration_ms' | 'response_bytes'>,
  { maskPath, sandbox }: { maskPath: (url: string) => string; sandbox: boolean },
): LoggedRequest {
  return {
    id: request.id,
    client_id: request.caller?.client?.id ?? null,
    account_id: request.caller?.account?.id ?? null,
    ...fields,
    method: request.method,
    code: request.code ?? null,
    path: endpoint ? null : maskPath(request.url),
    field: declaredField(request.error_field, endpoint),
    job_id: request.audit?.jobId() ?? null,
    message_values: storedValues(request.error_values),
    sent_path: sandbox ? readSentPath(request.url) : null,
  };
}

const sent_path_max = 300;

/** The path of a request to the API. Other paths, such as those of Link, can contain a token. */
function readSentPath(url: string): string | null {
  const [path = ''] = url.split(/[?#]/);
  return path.startsWith('/v1/') ? path.slice(0, sent_path_max) : null;
}

/** The field at fault, if the endpoint declares it: any other name is the caller's text. */
function declaredField(error_field: string | undefined, endpoint: Endpoint | undefined): string | null {
  if (error_field === undefined) return null;
  const { body, query, params } = endpoint ?? {};
  const declared = [body, query, params].some((schema) => isDeclared(schema, error_field.split(/\.|(?=\[)/)));
  return declared ? error_field : null;
}

type Node = { properties?: Record<string, Node>; items?: Node; anyOf?: Node[] };

function isDeclared(schema: Node | undefined, [name, ...rest]: string[]): boolean {
  if (name === undefined || schema === undefined) return schema !== undefined;
  if (schema.anyOf) return schema.anyOf.some((branch) => isDeclared(branch, [name, ...rest]));
  if (name.startsWith('[')) return isDeclared(schema.items, rest);
  const { properties = {} } = schema;
  return isDeclared(Object.hasOwn(properties, name) ? properties[name] : undefined, rest);
}

const segments_max = 8;

/**
 * Returns a function for the path of a request that no endpoint matches, as it may be logged. Of its segments only those
 * remain that occur in declared paths, or differ from one in case, plural or separator only: any other one could be an
 * MRN, a name or a token.
 */
export function pathMask(endpoints: readonly Endpoint[]): (url: string) => string {
  const known_segments = new Set(endpoints.flatMap(({ path }) => path.split('/').map(fold)));
  return (url) => {
    const [path = ''] = url.split(/[?#]/);
    const segments = path.split('/').slice(1);
    const shown = segments.slice(0, segments_max).map((segment) => (isKnown(segment) ? segment : '{…}'));
    return `/${shown.join('/')}${segments.length > segments_max ? '/…' : ''}`;
  };

  function isKnown(segment: string): boolean {
    return segment === '' || (/^[\w-]{1,60}$/.test(segment) && known_segments.has(fold(segment)));
  }
}

function fold(segment: string): string {
  return segment.toLowerCase().replaceAll('_', '-').replace(/s$/, '');
}

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
