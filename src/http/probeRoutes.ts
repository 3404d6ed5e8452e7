import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { apiError } from '../catalog/errors.ts';
import type { Context } from '../product/context.ts';
import { measureQueues } from '../product/jobs/queueDepth.ts';
import { hashToken, sameHash } from '../platform/security/hash.ts';
import { type Health, readReadiness } from './readiness.ts';

/** Health, readiness and metrics: for load balancers, supervisors and Prometheus. Workers serve them at METRICS_PORT. */
export function addProbeRoutes(ctx: Context, server: FastifyInstance, health: Health): void {
  // Limiting a probe could get a healthy process restarted. Both cost no more than an error response.
  const exempt = { config: { address_limiting: 'exempt' } } as const;
  const read = shared(() => readReadiness(ctx, health));
  server.get('/healthz', exempt, async () => ({ status: 'ok' }));
  server.get('/readyz', exempt, async (_request, reply) => {
    const readiness = await read();
    return reply.status(readiness.status === 'not ready' ? 503 : 200).send(readiness);
  });
  const readMetrics = shared(async () => {
    ctx.metrics.database_writable.set(health.writable() ? 1 : 0);
    await measureQueues(ctx);
    return ctx.metrics.registry.metrics();
  });
  server.get('/metrics', async (request, reply) => {
    if (!mayReadMetrics(ctx, request, reply)) throw apiError('metrics_token_invalid');
    return reply.type(ctx.metrics.registry.contentType).send(await readMetrics());
  });
}

function mayReadMetrics({ config }: Context, request: FastifyRequest, reply: FastifyReply): boolean {
  const { metrics_token } = config;
  if (metrics_token === undefined) return true;
  const [, sent = ''] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (sameHash(hashToken(sent), hashToken(metrics_token))) return true;
  reply.header('www-authenticate', 'Bearer');
  return false;
}

/** Requests that arrive while the same work is in progress wait for its result. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}
