import Fastify from 'fastify';
import type { Context } from '../product/context.ts';
import { addProbeRoutes } from './probeRoutes.ts';
import type { Health } from './readiness.ts';
import { routeNotFound, sendError } from './sendError.ts';

/** Serves the probes of a worker at METRICS_PORT, if it is set. Returns how to stop. */
export async function listenForProbes(ctx: Context, health: Health): Promise<() => Promise<void>> {
  const { metrics_port, host } = ctx.config;
  if (metrics_port === undefined) return async () => {};
  const server = Fastify({ logger: false, forceCloseConnections: true, requestTimeout: 10_000 });
  server.setErrorHandler((error, request, reply) => sendError(ctx, error, request, reply));
  server.setNotFoundHandler((request, reply) => sendError(ctx, routeNotFound(request), request, reply));
  addProbeRoutes(ctx, server, health);
  await server.listen({ port: metrics_port, host });
  return () => server.close();
}
