import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { StartFailure } from './catalog/errors.ts';
import type { KeyPurpose } from './catalog/keyPurposes.ts';
import type { Config, ProcessRole } from './catalog/settings/config.ts';
import { version } from './catalog/version.ts';
import { type LoadedConnectors, loadConnectors } from './emr/outside/outsideConnectors.ts';
import { isRead } from './http/endpoint.ts';
import { listAddresses, listenOnIpv6Loopback, redirectToName } from './http/loopback.ts';
import type { Document } from './http/openapi/document.ts';
import { composeOpenApi } from './http/openapi/openApi.ts';
import { servePages } from './http/pages/servePages.ts';
import { addProbeRoutes, addSystemRoutes, type Health, listenForProbes } from './http/probes.ts';
import { buildServer } from './http/server.ts';
import { openDatabase } from './platform/db/database.ts';
import { ensureFolders } from './platform/db/embedded/folders.ts';
import { fairSlots } from './platform/db/fairSlots.ts';
import { createLookups } from './platform/db/lookups.ts';
import { createNotifications } from './platform/db/notifications.ts';
import { type DatabaseServer, openServer, parseDatabaseUrl } from './platform/db/openServer.ts';
import { emrRules, webhookRules } from './platform/security/addresses.ts';
import { openIdentityProvider } from './platform/security/identityProvider.ts';
import { loadKeys } from './platform/security/keys.ts';
import { openKeyUnwraps } from './platform/security/keyUnwraps.ts';
import { createOutbound } from './platform/security/outbound.ts';
import { createLog } from './platform/telemetry/log.ts';
import { createMetrics } from './platform/telemetry/metrics.ts';
import { openTelemetry } from './platform/telemetry/openTelemetry.ts';
import { traceCalls } from './platform/telemetry/telemetry.ts';
import { startHeartbeat } from './platform/worker/heartbeat.ts';
import { checkLinkedConnectors } from './product/accounts/linkedConnectors.ts';
import { startAlerts } from './product/alerts/evaluateAlerts.ts';
import { openAudit, recordRotation } from './product/audit/openAudit.ts';
import { openRequestLog } from './product/audit/requests.ts';
import { sealLastRecords } from './product/audit/seals.ts';
import { listAuditTriggers } from './product/audit/verification.ts';
import { openSecretUses } from './product/clients/secrets.ts';
import type { Audit, Context } from './product/context.ts';
import { documentsMax } from './product/jobs/enqueue.ts';
import { measureQueues } from './product/jobs/queueDepth.ts';
import { createFirstOwner } from './product/operators/localAccounts.ts';
import { checkGeneration } from './product/records/changes.ts';
import { serveReceiver } from './product/webhooks/receiver/serveReceiver.ts';
import { startWorkers, type Workers } from './product/workers.ts';
import { endpoints } from './surfaces/api/endpoints.ts';
import { startLive } from './surfaces/dashboard/app/live.ts';
import { dashboardEndpoints } from './surfaces/dashboard/endpoints.ts';
import { serveDashboard } from './surfaces/dashboard/serveDashboard.ts';
import { serveClientLibraries } from './surfaces/docs/clientLibraries.ts';
import { serveDocs, type TryItValues } from './surfaces/docs/site.ts';
import { link_endpoints } from './surfaces/linkpage/endpoints.ts';
import { serveLink } from './surfaces/linkpage/serveLink.ts';
import { banner, ownerFileNotice, ownerNotice, tryItValues } from './surfaces/sandbox/banner.ts';
import { createSandboxEmr, type SandboxEmr } from './surfaces/sandbox/sandboxEmr.ts';
import { type Sandbox, seedSandbox, waitForFirstSync } from './surfaces/sandbox/seedSandbox.ts';

export type Service = {
  base_url: string;
  sandbox: Sandbox | undefined;
  ctx: Context;
  /** Reports for DRAIN_SECONDS that it is not ready, but still serves: load balancers stop sending requests meanwhile. */
  drain(): Promise<void>;
  close(): Promise<void>;
};

/** An alert message that takes longer than this to send is sent again after the next start. */
const alerts_grace_ms = 1_000;

/** What to call when the service stops, last added first. */
type Closers = (() => Promise<unknown>)[];

/** Starts everything in order. `close` stops it in reverse order, and so does a failed start. */
export async function startService(
  config: Config,
  options: { role: ProcessRole; print: (text: string) => void },
): Promise<Service> {
  const closers: Closers = [];
  const close = async () => {
    for (let closer = closers.pop(); closer; closer = closers.pop()) await closer();
  };
  try {
    return { ...(await start(config, options, closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(
  config: Config,
  { role, print }: { role: ProcessRole; print: (text: string) => void },
  closers: Closers,
): Promise<Omit<Service, 'close'>> {
  // First, so that nothing has changed if a module is refused.
  const loaded = await loadConnectors(config);
  const server = await openServer(config, (line) => print(`${line}\n`));
  closers.push(server.release);
  const ctx = await openContext({ config, role, loaded, print }, server, closers);
  await checkLinkedConnectors(ctx);

  let started = false;
  let draining = false;
  let workers: Workers | undefined;
  let sandbox: Sandbox | undefined;
  const health: Health = {
    started: () => started,
    draining: () => draining,
    workers: () => workers?.alive() ?? (role === 'api' ? undefined : false),
    writable: () => heartbeat.writable(),
  };
  const heartbeat = await startHeartbeat(ctx.db, { role, working: () => workers?.alive() ?? false }, (error) =>
    ctx.log.error({ err: error }, 'the database cannot be written to'),
  );
  closers.push(heartbeat.stop);
  const pages: SandboxPages = {
    tryItValues: config.sandbox && role === 'all' ? async () => sandbox && tryItValues(ctx, sandbox) : undefined,
    findSandboxEmr: () => sandbox && createSandboxEmr(sandbox),
  };
  const http = role === 'worker' ? undefined : await listen(ctx, health, pages, closers);
  if (role === 'worker') closers.push(await startProbes(ctx, health));
  const base_url = http?.base_url ?? config.base_url;
  if (role !== 'api') {
    const running = await startWorkers(ctx);
    workers = running;
    await heartbeat.beat();
    // In parallel, so that both together take no longer than one grace period.
    closers.push(() => Promise.all([running.stop(), http?.close()]));
  }
  if (config.sandbox && role === 'all') sandbox = await startSandbox(ctx, server, base_url, closers);
  const alerts = startAlerts(ctx);
  closers.push(() => alerts.stop(alerts_grace_ms));
  const owner = config.sandbox || role === 'worker' ? undefined : await createFirstOwner(ctx);
  started = true;
  if (owner) print(await announceOwner(config, base_url, owner));
  // hasColors also follows NO_COLOR.
  const color = process.stdout.isTTY === true && process.stdout.hasColors();
  if (sandbox) print(banner(sandbox, join(config.data_dir, 'sandbox.json'), { color }));
  else print(role === 'worker' ? 'The worker is ready.\n' : `Chartwire is ready at ${base_url}\n`);
  const drain = async () => {
    draining = true;
    if (http) await pause(config.drain_seconds * 1000);
  };
  return { base_url, sandbox, ctx, drain };
}

/** What is printed stays in a log, unless a person watches. Then the password goes to a file instead. */
async function announceOwner(
  { data_dir }: Config,
  base_url: string,
  owner: { email: string; password: string },
): Promise<string> {
  if (process.stdout.isTTY) return ownerNotice(base_url, owner);
  const file = join(data_dir, 'first-owner-password.txt');
  await writeFile(file, `${owner.password}\n`, { mode: 0o600 });
  return ownerFileNotice(base_url, owner.email, file);
}

/** Undefined for JSON lines. The readable form is loaded only if a person watches. */
async function logDestination({ log_format }: Config): Promise<{ write(line: string): void } | undefined> {
  const format = log_format ?? (process.stdout.isTTY ? 'text' : 'json');
  if (format === 'json') return undefined;
  const { terminalLog } = await import('./platform/telemetry/terminalLog.ts');
  return terminalLog(process.stdout, new Set(endpoints.filter(isRead).map(({ id }) => id)));
}

async function openContext(
  {
    config,
    role,
    loaded,
    print,
  }: {
    config: Config;
    role: ProcessRole;
    loaded: LoadedConnectors;
    print: (text: string) => void;
  },
  server: DatabaseServer,
  closers: Closers,
): Promise<Context> {
  await ensureFolders(config.data_dir);
  const telemetry = await openTelemetry(config, () => log);
  const log = createLog(
    config.log_level,
    await logDestination(config),
    telemetry.enabled ? telemetry.logFields : undefined,
  );
  const db = openDatabase(server.roles, config.database_pool);
  closers.push(db.close);
  await db.checkRoles();
  await checkGeneration(db.system);
  const metrics = createMetrics();
  const unwraps = openKeyUnwraps(db.system, role, (error) => log.warn({ err: error }, 'unwrapped keys not counted'));
  closers.push(unwraps.close);
  const onUnwrap = (purpose: KeyPurpose) => {
    metrics.key_unwraps.inc({ purpose });
    unwraps.count(purpose);
  };
  const keys = await loadKeys(config, db.system, { print, record: recordRotation, onUnwrap });
  const emr_outbound = traceCalls(createOutbound(emrRules(config)), telemetry);
  const webhook_outbound = createOutbound(webhookRules(config));
  closers.push(emr_outbound.close, webhook_outbound.close);
  const identity_provider = openIdentityProvider(config);
  if (identity_provider) closers.push(identity_provider.close);
  const lookups = createLookups();
  const notifications = createNotifications(db, (error) => log.warn({ err: error }, 'notification not sent'));
  await notifications.listen('chartwire_access', (payload) => {
    lookups.clear();
    // Undefined: a notification may have been missed.
    if (payload !== 'keys' && payload !== undefined) return;
    keys.key_ring.reload().catch((error) => log.error({ err: error }, 'key file not read'));
  });
  telemetry.exportMetrics(metrics.registry, () => measureQueues({ db, metrics, config }));
  closers.push(telemetry.close);
  const audit = await openAudit(db, keys.system_keys);
  await recordOutsideConnectors(audit, loaded);
  for (const reason of await listAuditTriggers(db.system)) {
    log.error({ reason }, 'a trigger or rule can drop audit records before they are stored: remove it');
  }
  closers.push(() =>
    sealLastRecords({ db, system_keys: keys.system_keys }).catch((error) =>
      log.warn({ err: error }, 'the last audit records were not added to the chain'),
    ),
  );
  closers.push(audit.close);
  const request_log = openRequestLog({ db, metrics });
  closers.push(request_log.close);
  const secret_uses = openSecretUses({ db, log });
  closers.push(secret_uses.close);
  const { base_url } = config;
  return {
    config,
    base_url,
    log,
    metrics,
    telemetry,
    db,
    notifications,
    lookups,
    ...keys,
    audit,
    request_log,
    secret_uses,
    emr_outbound,
    webhook_outbound,
    identity_provider,
    connectors: loaded.connectors,
    document_slots: fairSlots({ total: documentsMax(config.uploads_parallel), per_client: 'share' }),
  };
}

/** Their code runs with all rights of this process. Not a client's record, and none if there are only built-in ones. */
async function recordOutsideConnectors(audit: Audit, { outside }: LoadedConnectors): Promise<void> {
  if (outside.length === 0) return;
  const entry = { client_id: null, actor_kind: 'system', actor: 'service', action: 'connectors.load' } as const;
  await audit.record({ ...entry, outcome: 'loaded', detail: { connectors: outside } });
}

/** What the pages show in sandbox mode. Functions, because the sandbox starts after the server listens. */
type SandboxPages = {
  tryItValues: (() => Promise<TryItValues | undefined>) | undefined;
  findSandboxEmr: () => SandboxEmr | undefined;
};

/** Listens before the rest has started, so that a port in use is reported immediately. /readyz reports when all is up. */
async function listen(
  ctx: Context,
  health: Health,
  sandbox_pages: SandboxPages,
  closers: Closers,
): Promise<{ base_url: string; close(): Promise<void> }> {
  const { port, host } = ctx.config;
  const live = await startLive(ctx);
  const dashboard = dashboardEndpoints({ live, findSandboxEmr: sandbox_pages.findSandboxEmr });
  const available = [...endpoints, ...link_endpoints, ...dashboard].filter(
    (each) => !each.sandbox || ctx.config.sandbox,
  );
  // When it is first requested: it takes longer than all other steps up to listening.
  let described: Document | undefined;
  const document = () => {
    described ??= composeOpenApi(available, { version, base_url: ctx.base_url });
    return described;
  };
  const http = buildServer(ctx, available, health.draining);
  // An open stream would keep its connection open forever.
  addProbeRoutes(ctx, http, health);
  addSystemRoutes(ctx, http, document);
  servePages(http, (pages) => {
    // Link runs in pages of other sites, which expect messages from the origin that they have loaded it from.
    serveLink(ctx, pages);
    serveClientLibraries(pages);
    pages.register(async (named) => {
      named.addHook('onRequest', redirectToName(ctx));
      serveDocs(named, document, sandbox_pages.tryItValues);
      serveDashboard(ctx, named);
    });
  });
  serveReceiver(ctx, http);
  let closeIpv6 = () => {};
  const close = () => {
    closeIpv6();
    return http.close();
  };
  closers.push(close);
  try {
    const [first, ipv6] = listAddresses(host);
    const address = await http.listen({ port, host: first });
    const url = new URL(address);
    if (ipv6) closeIpv6 = await listenOnIpv6Loopback(http, Number(url.port));
    // Port 0 means any free port.
    if (port === 0) ctx.base_url = ipv6 ? `http://${host}:${url.port}` : address;
    return { base_url: ctx.base_url, close };
  } catch (error) {
    throw listenFailure(error, 'PORT', port, host);
  }
}

/** A worker serves nothing else. */
async function startProbes(ctx: Context, health: Health): Promise<() => Promise<void>> {
  const { metrics_port = 0, host } = ctx.config;
  try {
    return await listenForProbes(ctx, health);
  } catch (error) {
    throw listenFailure(error, 'METRICS_PORT', metrics_port, host);
  }
}

/**
 * Starts Larkspur in this process and seeds the sandbox. Its database is on the same server as ours. Its code is loaded
 * only here: a service for real practices never runs it.
 */
async function startSandbox(
  ctx: Context,
  server: DatabaseServer,
  base_url: string,
  closers: Closers,
): Promise<Sandbox> {
  const { larkspur_port: port, larkspur_database_url: url } = ctx.config;
  const [host] = listAddresses(ctx.config.host);
  const database = url ? parseDatabaseUrl('LARKSPUR_DATABASE_URL', url) : await server.sibling('larkspur');
  const { startLarkspur } = await import('../larkspur/start.ts');
  const larkspur = await startLarkspur({ database, host, port }).catch((error: unknown) => {
    if (!isOutdated(error)) throw listenFailure(error, 'LARKSPUR_PORT', port, host);
    const remedy = 'Drop it, or set LARKSPUR_DATABASE_URL to an empty database.';
    throw new StartFailure(`${error.message} ${remedy}`, { cause: error });
  });
  closers.push(larkspur.close);
  const staff = larkspur.staff.map(({ username, password, totp_secret, role }) => ({
    username,
    password,
    totp_secret,
    role,
  }));
  const { control_token, example } = larkspur;
  const sandbox = await seedSandbox(ctx, base_url, { url: larkspur.url, control_token, staff, example });
  ctx.notifications.notify('chartwire_jobs', '');
  await waitForFirstSync(ctx, sandbox.access_token);
  return sandbox;
}

/** Recognized by its code, because Larkspur's classes are loaded for the sandbox only. */
function isOutdated(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'OUTDATED_DATABASE';
}

function listenFailure(error: unknown, setting: string, port: number, host: string): unknown {
  const code = (error as { code?: string }).code;
  if (code === 'EADDRINUSE') {
    return new StartFailure(
      `Port ${port} is already in use. Stop the program that uses it, or set ${setting} to another port.`,
    );
  }
  if (code === 'EACCES')
    return new StartFailure(`This user may not open port ${port}. Set ${setting} to a port above 1023.`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new StartFailure(`HOST is ${host}, which is not an address of this machine.`);
  }
  return error;
}
