import type { FastifyInstance } from 'fastify';
import { hasEmrApp } from '../accounts/emrApps.ts';
import type { Context } from '../context.ts';
import { isMigrated } from '../db/migrate.ts';
import { apiError } from '../errors.ts';
import { parseId } from '../ids.ts';
import { measureQueues } from '../jobs/queueDepth.ts';
import { sandbox_label } from '../link/registrationUrls.ts';
import { type ClientKeys, clientKeys } from '../security/signingKeys.ts';

/** The state of this process, apart from its database: whether it has started, its workers run, and it is about to stop. */
export type Health = { started: () => boolean; draining: () => boolean; workers: () => boolean };

/**
 * Routes that are not declared as endpoints, because they serve tools rather than clients and have their own formats
 * (Prometheus text, the OpenAPI document, a JWK set).
 */
export function addSystemRoutes(
  ctx: Context,
  server: FastifyInstance,
  openapi_document: () => object,
  health: Health,
): void {
  // Limiting a probe could get a healthy process restarted. Both cost no more than an error response.
  const exempt = { config: { address_limiting: 'exempt' } } as const;
  const checkDatabase = shared(() => databaseChecks(ctx));
  server.get('/healthz', exempt, async () => ({ status: 'ok' }));
  server.get('/readyz', exempt, async (_request, reply) => {
    const checks = {
      started: health.started(),
      accepting: !health.draining(),
      ...(await checkDatabase()),
      workers: health.workers(),
    };
    const ready = Object.values(checks).every(Boolean);
    return reply.status(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', checks });
  });
  const readMetrics = shared(async () => {
    await measureQueues(ctx);
    return ctx.metrics.registry.metrics();
  });
  server.get('/metrics', async (_request, reply) =>
    reply.type(ctx.metrics.registry.contentType).send(await readMetrics()),
  );
  let document: Buffer | undefined;
  server.get('/openapi.json', async (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(openapi_document()));
    return reply.type('application/json; charset=utf-8').send(document);
  });
  // EMRs fetch it to verify the signatures of a client.
  server.get<{ Params: { client_id: string; label: string } }>(
    '/.well-known/jwks/:client_id/:label.json',
    async (request, reply) => {
      const keys = await findKeySet(ctx, request.params);
      if (!keys) throw apiError('route_not_found', { method: 'GET', path: '/.well-known/jwks' });
      return reply.header('cache-control', 'public, max-age=3600').send(await keys.published());
    },
  );
}

/** The keys of a client, by the label of one of its EMR apps. */
async function findKeySet(
  ctx: Context,
  { client_id: public_id, label }: { client_id: string; label: string },
): Promise<ClientKeys | undefined> {
  const [client] = await ctx.db.system<{ id: string }[]>`SELECT id FROM clients WHERE public_id = ${public_id}`;
  if (!client) return undefined;
  const app_id = parseId(label);
  const known =
    (ctx.config.sandbox && label === sandbox_label) || (app_id && (await hasEmrApp(ctx, client.id, app_id)));
  return known ? clientKeys(ctx, client.id) : undefined;
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

async function databaseChecks(ctx: Context): Promise<{ database: boolean; migrations: boolean }> {
  try {
    return { database: true, migrations: await isMigrated(ctx.db.system) };
  } catch {
    return { database: false, migrations: false };
  }
}
