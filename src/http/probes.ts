import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Fastify from 'fastify';
import { apiError } from '../catalog/errors.ts';
import { parseId } from '../catalog/ids.ts';
import { isMigrated } from '../platform/db/migrate.ts';
import { gone_after_s } from '../platform/db/processes.ts';
import { hashToken, sameHash } from '../platform/security/signatures.ts';
import { type ClientKeys, clientKeys } from '../platform/security/signingKeys.ts';
import { hasEmrApp } from '../product/accounts/emrApps.ts';
import type { Context } from '../product/context.ts';
import { measureQueues } from '../product/jobs/queueDepth.ts';
import { type AppOfClient, countKeySetFetches } from '../product/link/keySetFetches.ts';
import { sandbox_label } from '../product/link/registrations.ts';
import { listAddresses } from './loopback.ts';
import { routeNotFound, sendError } from './sendError.ts';

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

/** Serves the probes of a worker at METRICS_PORT, if it is set. Returns how to stop. */
export async function listenForProbes(ctx: Context, health: Health): Promise<() => Promise<void>> {
  const { metrics_port, host } = ctx.config;
  if (metrics_port === undefined) return async () => {};
  const server = Fastify({ logger: false, forceCloseConnections: true, requestTimeout: 10_000 });
  server.setErrorHandler((error, request, reply) => sendError(ctx, error, request, reply));
  server.setNotFoundHandler((request, reply) => sendError(ctx, routeNotFound(request), request, reply));
  addProbeRoutes(ctx, server, health);
  await server.listen({ port: metrics_port, host: listAddresses(host)[0] });
  return () => server.close();
}

/** The state of this process, apart from its database. */
export type Health = {
  started: () => boolean;
  /** About to stop. */
  draining: () => boolean;
  /** Whether its own workers run. Undefined if it has none. */
  workers: () => boolean | undefined;
  /** Whether its last heartbeat could be stored. */
  writable: () => boolean;
};

/** What needs attention although requests are served. Codes only: anyone may read them. */
export const readiness_warnings = ['no_workers', 'emr_unreachable', 'endpoint_failing'] as const;
export type ReadinessWarning = (typeof readiness_warnings)[number];

/**
 * `degraded`: serves requests, but something else does not work. An API process without any worker stays in its load
 * balancer: it stores writes, which run once a worker is back.
 */
export type Readiness = {
  status: 'ready' | 'degraded' | 'not ready';
  checks: Record<'started' | 'accepting' | 'database' | 'migrations' | 'writable' | 'workers', boolean>;
  warnings: ReadinessWarning[];
};

export async function readReadiness(ctx: Context, health: Health): Promise<Readiness> {
  const { in_database, ...database } = await readDatabase(ctx);
  const own_workers = health.workers();
  const required = {
    started: health.started(),
    accepting: !health.draining(),
    ...database,
    writable: database.database && health.writable(),
  };
  const workers = own_workers ?? in_database.workers;
  const warnings = readiness_warnings.filter((warning) => (warning === 'no_workers' ? !workers : in_database[warning]));
  const ready = Object.values(required).every(Boolean) && own_workers !== false;
  const status = !ready ? 'not ready' : warnings.length > 0 ? 'degraded' : 'ready';
  return { status, checks: { ...required, workers }, warnings };
}

type InDatabase = { workers: boolean; emr_unreachable: boolean; endpoint_failing: boolean };

/** Shorter failures are retried without anyone having to know. */
const tolerated_s = 30;

/** On connections of its own: requests and sign-ins that use up the others must not make a process look dead. */
async function readDatabase({ db }: Pick<Context, 'db'>): Promise<{
  database: boolean;
  migrations: boolean;
  in_database: InDatabase;
}> {
  const unknown = { workers: false, emr_unreachable: false, endpoint_failing: false };
  try {
    if (!(await isMigrated(db.probes))) return { database: true, migrations: false, in_database: unknown };
    const [in_database = unknown] = await db.probes<InDatabase[]>`
      SELECT EXISTS (SELECT FROM processes WHERE working AND seen_at > now() - make_interval(secs => ${gone_after_s}))
               AS workers,
             EXISTS (SELECT FROM emr_outages WHERE last_failure_at >= since + make_interval(secs => ${tolerated_s}))
               AS emr_unreachable,
             EXISTS (SELECT FROM webhook_endpoints WHERE status = 'enabled' AND paused_at IS NULL
                AND failing_since <= now() - make_interval(secs => ${tolerated_s})) AS endpoint_failing`;
    return { database: true, migrations: true, in_database };
  } catch {
    return { database: false, migrations: false, in_database: unknown };
  }
}

/**
 * Routes that are not declared as endpoints, because they serve tools rather than clients and have their own formats
 * (the OpenAPI document, a JWK set).
 */
export function addSystemRoutes(ctx: Context, server: FastifyInstance, openapi_document: () => object): void {
  let document: Buffer | undefined;
  server.get('/openapi.json', async (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(openapi_document()));
    return reply.type('application/json; charset=utf-8').send(document);
  });
  const fetches = countKeySetFetches(ctx);
  server.addHook('onClose', () => fetches.flushed());
  // EMRs fetch it to verify the signatures of a client.
  server.get<{ Params: { client_id: string; label: string } }>(
    '/.well-known/jwks/:client_id/:label.json',
    async (request, reply) => {
      const published_set = await findKeySet(ctx, request.params);
      if (!published_set) throw apiError('route_not_found', { method: 'GET', path: '/.well-known/jwks' });
      const { keys, app } = published_set;
      if (app) fetches.add(app);
      return reply.header('cache-control', 'public, max-age=3600').send(await keys.published());
    },
  );
}

/** The keys of a client, by the label of one of its EMR apps. */
async function findKeySet(
  ctx: Context,
  { client_id: public_id, label }: { client_id: string; label: string },
): Promise<{ keys: ClientKeys; app: AppOfClient | undefined } | undefined> {
  const [client] = await ctx.db.system<{ id: string }[]>`SELECT id FROM clients WHERE public_id = ${public_id}`;
  if (!client) return undefined;
  const app_id = parseId(label);
  const app = app_id && (await hasEmrApp(ctx, client.id, app_id)) ? { client_id: client.id, app_id } : undefined;
  if (!app && !(ctx.config.sandbox && label === sandbox_label)) return undefined;
  return { keys: clientKeys(ctx, client.id), app };
}
