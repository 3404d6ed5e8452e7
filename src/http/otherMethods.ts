import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { apiError } from '../catalog/errors.ts';
import { routeNotFound } from './sendError.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route only reports that nothing is at its paths. */
    not_found?: true;
  }
}

type Route = { pattern: RegExp; wildcard: boolean; methods: string[] };

/**
 * Responds to methods that a path does not have: OPTIONS with 204, others with 405, both with `Allow`. No CORS header is
 * sent, so browsers do not let pages of other origins call the API. Call it before routes are added.
 */
export function answerOtherMethods(server: FastifyInstance): {
  /** Responds to a request that no route handles. */
  handle: (request: FastifyRequest, reply: FastifyReply) => FastifyReply;
} {
  const routes: Route[] = [];
  /** Methods of the paths without parameters: `/v1/patients/fetch` is no ID, whatever else `/v1/patients/{id}` has. */
  const fixed = new Map<string, string[]>();
  server.addHook('onRoute', ({ url, method, config }) => {
    if (config?.not_found) return;
    if (!/[:*]/.test(url)) fixed.set(url, [...(fixed.get(url) ?? []), ...[method].flat()]);
    routes.push({ pattern: toPattern(url), wildcard: url.includes('*'), methods: [method].flat() });
  });
  const allowedAt = (path: string): string[] => {
    const own = fixed.get(path);
    if (own) return [...new Set(own)].sort();
    const matching = routes.filter(({ pattern }) => pattern.test(path));
    const specific = matching.filter(({ wildcard }) => !wildcard);
    const methods = (specific.length > 0 ? specific : matching).flatMap((route) => route.methods);
    return [...new Set(methods)].sort();
  };
  const handle = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const allowed = allowedAt(readPath(request));
    if (allowed.length === 0 || allowed.includes(request.method)) throw routeNotFound(request);
    reply.header('allow', [...allowed, 'OPTIONS'].join(', '));
    if (request.method === 'OPTIONS') return reply.status(204).send();
    throw apiError('method_not_allowed', { method: request.method, allowed: allowed.join(', ') });
  };
  server.addHook('onRequest', async (request, reply) => {
    // Here, before Fastify looks at the body, and because a scope may have a page of its own for paths that are not found.
    const has_page = ['GET', 'HEAD'].includes(request.method) && allowedAt(readPath(request)).length === 0;
    const path = readPath(request);
    const is_fixed = fixed.has(path) && request.routeOptions.url !== path && !request.is404;
    if ((request.is404 && !has_page) || (is_fixed && !fixed.get(path)?.includes(request.method))) {
      return handle(request, reply);
    }
  });
  return { handle };
}

function readPath({ url }: FastifyRequest): string {
  return url.split('?')[0] ?? '';
}

function toPattern(url: string): RegExp {
  const parts = url.split(/(:\w+|\*)/).map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}
