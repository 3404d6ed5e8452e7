import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { isMigrated } from '../db/migrate.ts';

/** The state of this process, apart from its database: whether it has started and its workers are running. */
export type Health = { started: () => boolean; workers: () => boolean };

/**
 * Routes that are not declared as endpoints, because they serve tools rather than clients and have their own formats
 * (Prometheus text, the OpenAPI document, a JWK set).
 */
export function addSystemRoutes(ctx: Context, server: FastifyInstance, openapi_document: object, health: Health): void {
  server.get('/healthz', async () => ({ status: 'ok' }));
  server.get('/readyz', async (_request, reply) => {
    const checks = {
      started: health.started(),
      ...(await databaseChecks(ctx)),
      workers: health.workers(),
    };
    const ready = Object.values(checks).every(Boolean);
    return reply.status(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', checks });
  });
  server.get('/metrics', async (_request, reply) => {
    // Without the database, the metrics of the process itself are still reported, but not those of the queues.
    await measureQueues(ctx).catch(() => forgetQueues(ctx));
    return reply.type(ctx.metrics.registry.contentType).send(await ctx.metrics.registry.metrics());
  });
  server.get('/openapi.json', async () => openapi_document);
  // EMRs fetch it to verify our signatures.
  server.get('/.well-known/jwks.json', async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=3600').send(await ctx.signing_keys.published()),
  );
}

async function databaseChecks(ctx: Context): Promise<{ database: boolean; migrations: boolean }> {
  try {
    return { database: true, migrations: await isMigrated(ctx.db.system) };
  } catch {
    return { database: false, migrations: false };
  }
}

function forgetQueues(ctx: Context): void {
  ctx.metrics.waiting.reset();
  ctx.metrics.lag.reset();
}

async function measureQueues(ctx: Context): Promise<void> {
  const [row] = await ctx.db.system<Record<'queued' | 'parked' | 'deliveries' | 'job_lag' | 'delivery_lag', number>[]>`
    SELECT (SELECT count(*) FROM jobs WHERE state IN ('queued', 'running') AND NOT parked) AS queued,
           (SELECT count(*) FROM jobs WHERE parked) AS parked,
           (SELECT count(*) FROM deliveries WHERE ready_at IS NOT NULL) AS deliveries,
           (SELECT coalesce(extract(epoch FROM now() - min(ready_at)), 0)::float8 FROM lanes
             WHERE ready_at <= now() AND (locked_until IS NULL OR locked_until <= now())) AS job_lag,
           (SELECT coalesce(extract(epoch FROM now() - min(ready_at)), 0)::float8 FROM deliveries
             WHERE ready_at <= now() AND (locked_until IS NULL OR locked_until <= now())) AS delivery_lag`;
  if (!row) return;
  ctx.metrics.waiting.set({ queue: 'jobs' }, row.queued);
  ctx.metrics.waiting.set({ queue: 'parked' }, row.parked);
  ctx.metrics.waiting.set({ queue: 'deliveries' }, row.deliveries);
  ctx.metrics.lag.set({ queue: 'jobs' }, row.job_lag);
  ctx.metrics.lag.set({ queue: 'deliveries' }, row.delivery_lag);
}
