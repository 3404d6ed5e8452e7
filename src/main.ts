import { join } from 'node:path';
import { startLarkspur } from '../larkspur/start.ts';
import { endpoints } from './api/endpoints.ts';
import { openAudit } from './audit/openAudit.ts';
import { openRequestLog } from './audit/openRequestLog.ts';
import { createFirstOwner } from './clients/createOperator.ts';
import type { Config } from './config.ts';
import { connectors } from './connectors/index.ts';
import type { Context } from './context.ts';
import { dashboardEndpoints } from './dashboard/endpoints.ts';
import { openLive } from './dashboard/overview/live.ts';
import { serveDashboard } from './dashboard/serveDashboard.ts';
import { parseDatabaseUrl } from './db/address.ts';
import { openDatabase } from './db/database.ts';
import { openFolders } from './db/embedded/folders.ts';
import { openLookups } from './db/lookups.ts';
import { openNotifications } from './db/notifications.ts';
import { type DatabaseServer, openServer } from './db/openServer.ts';
import { serveDocs, type TryItValues } from './docs/serveDocs.ts';
import { StartFailure } from './errors.ts';
import { buildServer } from './http/server.ts';
import { addPlainRoutes, type Health } from './http/systemRoutes.ts';
import { link_endpoints, serveLink } from './linkpage/serveLink.ts';
import { openLog } from './log.ts';
import { openMetrics } from './metrics.ts';
import { openApi } from './openapi/openApi.ts';
import { serveReceiver } from './receiver/serveReceiver.ts';
import { banner, ownerNotice } from './sandbox/banner.ts';
import { laySandbox, type Sandbox } from './sandbox/laySandbox.ts';
import { type Clinic, openClinic } from './sandbox/openClinic.ts';
import { tryItValues } from './sandbox/tryItValues.ts';
import { untilSynced } from './sandbox/untilSynced.ts';
import { openKeys } from './security/openKeys.ts';
import { createOutbound } from './security/outbound.ts';
import { version } from './version.ts';
import { startWorkers, type Workers } from './workers.ts';

/** Which part of the service a process is. Any number of processes share one database. */
export const roles = ['all', 'api', 'worker'] as const;
export type Role = (typeof roles)[number];

export type Service = { base_url: string; sandbox: Sandbox | undefined; ctx: Context; close(): Promise<void> };

/** Opens every door once, in order; `close` shuts them in the opposite order. */
export async function startService(
  config: Config,
  options: { role: Role; print: (text: string) => void },
): Promise<Service> {
  const doors: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (let door = doors.pop(); door; door = doors.pop()) await door();
  };
  try {
    return { ...(await open(config, options, doors)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(
  config: Config,
  { role, print }: { role: Role; print: (text: string) => void },
  doors: (() => Promise<unknown>)[],
): Promise<Omit<Service, 'close'>> {
  const server = await openServer(config, (line) => print(`${line}\n`));
  doors.push(server.release);
  const ctx = await openContext(config, server, doors, print);

  let started = false;
  let workers: Workers | undefined;
  let sandbox: Sandbox | undefined;
  const health = { started: () => started, workers: () => workers?.alive() ?? role === 'api' };
  const tried = config.sandbox && role === 'all' ? async () => sandbox && tryItValues(ctx, sandbox) : undefined;
  const http =
    role === 'worker'
      ? undefined
      : await listen(ctx, health, { tried, clinic: () => sandbox && openClinic(sandbox) }, doors);
  const base_url = http?.base_url ?? config.base_url;
  if (role !== 'api') {
    const running = await startWorkers(ctx);
    workers = running;
    // Both at once: each may take its grace, and the two of them together no longer than one.
    doors.push(() => Promise.all([running.stop(), http?.close()]));
  }
  if (config.sandbox && role === 'all') sandbox = await openSandbox(ctx, server, base_url, doors);
  const owner = config.sandbox || role === 'worker' ? undefined : await createFirstOwner(ctx);
  started = true;
  if (owner) print(ownerNotice(base_url, owner));
  if (sandbox) print(banner(sandbox, join(config.data_dir, 'sandbox.json')));
  else print(role === 'worker' ? 'The worker is ready.\n' : `Chartwire is ready at ${base_url}\n`);
  return { base_url, sandbox, ctx };
}

async function openContext(
  config: Config,
  server: DatabaseServer,
  doors: (() => Promise<unknown>)[],
  print: (text: string) => void,
): Promise<Context> {
  await openFolders(config.data_dir);
  const log = openLog(config.log_level);
  const db = openDatabase(server.roles, config.database_pool);
  doors.push(db.close);
  await db.checkRoles();
  const keys = await openKeys(config, db.system, print);
  const outbound = createOutbound({ sandbox: config.sandbox, allow: config.outbound_allow });
  doors.push(outbound.close);
  const lookups = openLookups();
  const notifications = openNotifications(db, (error) => log.warn({ err: error }, 'a notification was not sent'));
  await notifications.listen('chartwire_access', (payload) => {
    lookups.clear();
    if (payload === 'keys')
      keys.key_ring.reload().catch((error) => log.error({ err: error }, 'the key file was not read'));
  });
  const metrics = openMetrics();
  const audit = await openAudit(db, keys.system_keys);
  doors.push(audit.close);
  const request_log = openRequestLog({ db, metrics });
  doors.push(request_log.close);
  const { base_url } = config;
  // A table of this service's own: what is added to it, another service in the same process does not see.
  const own = new Map(connectors);
  return {
    config,
    base_url,
    log,
    metrics,
    db,
    notifications,
    lookups,
    ...keys,
    audit,
    request_log,
    outbound,
    connectors: own,
  };
}

/** What the pages of a sandbox know of it; it opens after they do. */
type Sandboxed = { tried: (() => Promise<TryItValues | undefined>) | undefined; clinic: () => Clinic | undefined };

/** Listens before the rest is up, so that a taken port is told at once; /readyz says when it is. */
async function listen(
  ctx: Context,
  health: Health,
  { tried, clinic }: Sandboxed,
  doors: (() => Promise<unknown>)[],
): Promise<{ base_url: string; close(): Promise<void> }> {
  const { port, host, base_url } = ctx.config;
  const offered = endpoints.filter((each) => !each.sandbox || ctx.config.sandbox);
  const document = openApi(offered, { version, base_url });
  const live = await openLive(ctx);
  const http = buildServer(ctx, [...endpoints, ...link_endpoints, ...dashboardEndpoints({ live, clinic })]);
  // A stream that looks on would keep its connection open for ever.
  http.addHook('preClose', async () => live.close());
  addPlainRoutes(ctx, http, document, health);
  serveDocs(http, document, tried);
  serveLink(ctx, http);
  serveDashboard(http);
  serveReceiver(ctx, http);
  const close = () => http.close();
  doors.push(close);
  try {
    const address = await http.listen({ port, host });
    // Port 0 asks for any free one.
    if (port === 0) ctx.base_url = address;
    return { base_url: ctx.base_url, close };
  } catch (error) {
    throw listenFailure(error, 'PORT', port, host);
  }
}

/** Larkspur in this process, its database beside ours, and what a newcomer needs to begin. */
async function openSandbox(
  ctx: Context,
  server: DatabaseServer,
  base_url: string,
  doors: (() => Promise<unknown>)[],
): Promise<Sandbox> {
  const { larkspur_port: port, larkspur_database_url: url, host } = ctx.config;
  const database = url ? parseDatabaseUrl('LARKSPUR_DATABASE_URL', url) : await server.sibling('larkspur');
  const larkspur = await startLarkspur({ database, host, port }).catch((error: unknown) => {
    throw listenFailure(error, 'LARKSPUR_PORT', port, host);
  });
  doors.push(larkspur.close);
  const staff = larkspur.staff.map(({ username, password, totp_secret, role }) => ({
    username,
    password,
    totp_secret,
    role,
  }));
  const { control_token, example } = larkspur;
  const sandbox = await laySandbox(ctx, base_url, { url: larkspur.url, control_token, staff, example });
  ctx.notifications.notify('chartwire_jobs');
  await untilSynced(ctx, sandbox.access_token);
  return sandbox;
}

function listenFailure(error: unknown, setting: string, port: number, host: string): unknown {
  const code = (error as { code?: string }).code;
  if (code === 'EADDRINUSE') {
    return new StartFailure(`Port ${port} is already in use. Stop what uses it, or set ${setting} to another port.`);
  }
  if (code === 'EACCES')
    return new StartFailure(`This user may not open port ${port}. Set ${setting} to one above 1023.`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new StartFailure(`HOST is ${host}, which is not an address of this machine.`);
  }
  return error;
}
