import { readFile, stat, statfs } from 'node:fs/promises';
import { createServer, connect as openSocket } from 'node:net';
import { join } from 'node:path';
import { StartFailure } from '../../catalog/errors.ts';
import { parseUrl } from '../../catalog/parseUrl.ts';
import { type Config, loadConfig, readSecrets } from '../../catalog/settings/config.ts';
import type { Environment } from '../../catalog/settings/settingValues.ts';
import { version } from '../../catalog/version.ts';
import type { Connector } from '../../emr/connector.ts';
import { loadConnectors } from '../../emr/outside/outsideConnectors.ts';
import { connect, type DatabaseAddress, type Sql } from '../../platform/db/database.ts';
import { ensureFolders } from '../../platform/db/embedded/folders.ts';
import { runningPostmaster } from '../../platform/db/embedded/postmaster.ts';
import { port, superuser } from '../../platform/db/embedded/settings.ts';
import { appliedMigrations, databaseFailure, isBeforeFirstRelease, isMigrated } from '../../platform/db/migrate.ts';
import { parseDatabaseUrl } from '../../platform/db/openServer.ts';
import { pingScanner, ScannerFailure } from '../../platform/security/documentScanner.ts';
import { openIdentityProvider } from '../../platform/security/identityProvider.ts';
import { isKeyProvided, readProvidedKeys } from '../../platform/security/keyCommand.ts';
import { checkMasterKey } from '../../platform/security/keys.ts';
import { loadMasterKeys } from '../../platform/security/masterKeys.ts';
import { OutboundFailure } from '../../platform/security/outbound.ts';
import { IdentityFailure } from '../../platform/security/providerClaims.ts';
import { checkTls } from '../../platform/telemetry/syslog.ts';
import { describeMissing, listMissingConnectors, missing_remedy } from '../../product/accounts/linkedConnectors.ts';
import { checkEmailServer, EmailFailure } from '../../product/alerts/channels.ts';
import { loadTls, readBacklog } from '../../product/audit/collector.ts';
import { printJson, printLine } from './output.ts';
import { findQueryLogs } from './proxyLog.ts';
import { findRunning, readReadiness } from './runningService.ts';
import { styleState } from './terminal.ts';

/** The result of a check. A problem says what to do; a warning does not prevent a start. */
type Check = { name: string; status: 'ok' | 'warning' | 'problem'; message: string; remedy?: string };

const oldest_node = [20, 19] as const;
const free_gb_min = 2;
const clock_difference_max_s = 5;
const connect_timeout_ms = 3_000;
/** As the alert. */
const collector_lag_max_s = 300;

/**
 * Checks what the service needs. It changes nothing, except that it creates and removes a file in the data folder. Exit
 * code 1 if there is a problem.
 */
export async function doctorCommand(env: Environment, { json }: { json?: boolean }): Promise<void> {
  const checks = await runChecks(env);
  if (json) printJson({ checks });
  else {
    const marks = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' };
    for (const { name, status, message, remedy } of checks) {
      printLine(styleState(status, marks[status]), `  ${name.padEnd(10)}  ${message}`);
      if (remedy !== undefined) printLine(`${' '.repeat(21)}→ ${remedy}`);
    }
  }
  if (checks.some(({ status }) => status === 'problem')) process.exitCode = 1;
}

async function runChecks(env: Environment): Promise<Check[]> {
  const versions = checkVersions();
  let config: Config;
  try {
    config = await findRunning(env, loadConfig(env));
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    const remedy = 'Correct the setting: see docs/reference/settings.md. The other checks need it.';
    return [versions, problem('settings', error.message, remedy)];
  }
  const mode = config.sandbox ? 'sandbox' : 'production';
  const { checks, connectors } = await checkConnectors(config);
  return [
    versions,
    ok('settings', `valid, ${mode} mode, ${config.base_url}`),
    ...(await checkSecrets(env)),
    ...checks,
    await checkDisk(config),
    await checkPort(config),
    ...(await checkProxyLog(config)),
    ...(await checkDatabase(config, connectors)),
    ...(await checkEmail(config)),
    ...(await checkScanner(config)),
    ...(await checkIssuer(config)),
  ];
}

function checkVersions(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const message = `Chartwire ${version}, Node ${process.versions.node}`;
  const [oldest_major, oldest_minor] = oldest_node;
  if (major > oldest_major || (major === oldest_major && minor >= oldest_minor)) return ok('versions', message);
  return problem('versions', message, `Install Node ${oldest_node.join('.')} or newer.`);
}

/** The secrets that are not in the environment. Their files are for the user of the service, or of its group. */
async function checkSecrets(env: Environment): Promise<Check[]> {
  const sources = readSecrets(env).sources.filter(({ name, text }) => text !== name);
  if (sources.length === 0) return [];
  const name = 'secrets';
  const files = sources.flatMap(({ text, file }) => (file === undefined ? [] : [{ text, file }]));
  const modes = await Promise.all(files.map(async ({ file }) => (await stat(file)).mode));
  const open = files.filter((_, n) => ((modes[n] ?? 0) & 0o004) !== 0).map(({ file }) => file);
  const places = sources.map((source) => `${source.name} (${source.text})`).join(', ');
  const listed = ok(name, `not in the environment: ${places}`);
  if (open.length === 0) return [listed];
  const message = `every user of this machine can read ${open.join(', ')}`;
  return [listed, { name, status: 'warning', message, remedy: `Run: chmod o-r ${open.join(' ')}` }];
}

async function checkDisk({ data_dir }: Config): Promise<Check> {
  const exists = await stat(data_dir).catch(() => undefined);
  if (!exists) return ok('disk', `${data_dir} does not exist yet; the first start creates it`);
  try {
    await ensureFolders(data_dir);
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    return problem('disk', error.message, 'Change the owner of the folder, or set DATA_DIR.');
  }
  const { bavail, bsize } = await statfs(data_dir);
  const free_gb = (bavail * bsize) / 1e9;
  const message = `${free_gb.toFixed(1)} GB free in ${data_dir}`;
  if (free_gb >= free_gb_min) return ok('disk', message);
  return problem('disk', message, `Free some space: at least ${free_gb_min} GB are needed.`);
}

/** Undefined if a module of CONNECTORS could not be loaded. */
type Loaded = ReadonlyMap<string, Connector> | undefined;

/** Loads the connectors from outside as a start does, and lists them. */
async function checkConnectors(config: Config): Promise<{ checks: Check[]; connectors: Loaded }> {
  try {
    const { connectors, outside } = await loadConnectors(config);
    const checks = outside.map(({ name, module, version, entry, sha256 }) =>
      ok('connectors', `${name} from ${module}${version === null ? '' : ` ${version}`} (${entry}, SHA-256 ${sha256})`),
    );
    return { checks, connectors };
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    const remedy = 'Correct CONNECTORS or the module: the service does not start without it.';
    return { checks: [problem('connectors', error.message, remedy)], connectors: undefined };
  }
}

/** Without the loaded connectors, it is not known which are missing. */
async function checkLinked(sql: Sql, connectors: Loaded): Promise<Check[]> {
  const missing = connectors ? await listMissingConnectors(sql, { connectors }) : [];
  return missing.length > 0 ? [problem('connectors', describeMissing(missing), missing_remedy)] : [];
}

/** A used port is fine if Chartwire uses it. */
async function checkPort(config: Config): Promise<Check> {
  const where = `${config.host}:${config.port}`;
  const server = createServer();
  const code = await new Promise<string | undefined>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen(config.port, config.host, () => server.close(() => resolve(undefined)));
  });
  if (code === undefined) return ok('ports', `${where} is free: the service is not running`);
  if (code !== 'EADDRINUSE') {
    return problem(
      'ports',
      `${where} cannot be used (${code})`,
      'Set PORT to a number above 1023, and HOST to an address of this machine.',
    );
  }
  const host = config.host === '0.0.0.0' || config.host === '::' ? 'localhost' : config.host;
  const body = await readReadiness(`http://${host.includes(':') ? `[${host}]` : host}:${config.port}`);
  if (body?.status === 'ready') return ok('ports', `the service is running at ${where} and ready`);
  if (body?.status === 'degraded') {
    const needs = `needs attention: ${body.warnings?.join(', ')}`;
    return problem(
      'ports',
      `the service is running at ${where}, but ${needs}`,
      'See its alerts: chartwire alerts list.',
    );
  }
  if (body?.status === 'not ready') {
    return problem('ports', `the service is running at ${where}, but it is not ready`, 'Check its log.');
  }
  return problem('ports', `another program uses ${where}`, 'Stop it, or set PORT to another number.');
}

/** Only nginx on this machine is known: another proxy's configuration is not looked for. */
async function checkProxyLog({ port }: Config): Promise<Check[]> {
  const [file, ...more] = await findQueryLogs('/etc/nginx', port);
  if (file === undefined) return [];
  const message = `nginx writes query strings, which contain names and MRNs, to its access log (${[file, ...more].join(', ')})`;
  const remedy = 'Use the log format of docs/guides/reverse-proxy.md, and delete the old logs.';
  return [{ name: 'proxy log', status: 'warning', message, remedy }];
}

async function checkDatabase(config: Config, connectors: Loaded): Promise<Check[]> {
  const owner = config.database_url
    ? parseDatabaseUrl('DATABASE_URL', config.database_url)
    : await embeddedAddress(config.data_dir);
  if (!owner) {
    return [ok('database', 'the embedded database is not running; it starts with the service'), await checkKey(config)];
  }
  const sql = connect(owner, { max: 1, connect_timeout_ms });
  try {
    const [server] = await sql<{ version: string; number: number; now: number }[]>`
      SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
        (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;
    if (!server) throw new Error('The query for the version returned no row.');
    return [
      server.number >= 150_000
        ? ok('database', `PostgreSQL ${server.version}`)
        : problem('database', `PostgreSQL ${server.version} is too old`, 'Use version 15 or newer.'),
      checkClock(server.now),
      ...(await checkContent(config, sql, connectors)),
    ];
  } catch (error) {
    const { message } = databaseFailure(config.database_url ? 'DATABASE_URL' : 'The embedded database', owner, error);
    return [problem('database', message, 'Start the server, and check its address and password in DATABASE_URL.')];
  } finally {
    await sql.end({ timeout_ms: 1_000 });
  }
}

/** Undefined if the embedded server is not running. */
async function embeddedAddress(data_dir: string): Promise<DatabaseAddress | undefined> {
  if (!(await stat(data_dir).catch(() => undefined))) return undefined;
  const folders = await ensureFolders(data_dir);
  const running = await runningPostmaster(folders);
  if (running?.socket_folder === undefined) return undefined;
  const password = (await readFile(folders.password_file, 'utf8')).trim();
  return { host: running.socket_folder, port, user: superuser, password, database: 'chartwire', ssl: false };
}

function checkClock(database_ms: number): Check {
  const difference_s = Math.abs(Date.now() - database_ms) / 1000;
  const message = `${difference_s.toFixed(1)} s from the database`;
  if (difference_s <= clock_difference_max_s) return ok('clock', message);
  const remedy = 'Turn on time synchronization (NTP) on both machines: receivers reject webhooks with a wrong time.';
  return problem('clock', message, remedy);
}

async function checkContent(config: Config, sql: Sql, connectors: Loaded): Promise<Check[]> {
  const [table] = await sql<{ exists: boolean }[]>`SELECT to_regclass('schema_migrations') IS NOT NULL AS exists`;
  if (!table?.exists) return [ok('migrations', 'the database is empty; the first start creates the tables')];
  if (isBeforeFirstRelease(await appliedMigrations(sql)))
    return [problem('migrations', 'of a version before 0.1.0', 'Use an empty database, or another DATA_DIR.')];
  if (!(await isMigrated(sql))) {
    const remedy = 'Back up the database, then start this version of the service: it applies them.';
    return [problem('migrations', 'some are missing', remedy), await checkKey(config)];
  }
  return [
    ok('migrations', 'all applied'),
    await checkKey(config, sql),
    ...(await checkLinked(sql, connectors)),
    ...(await checkOutbound(config, sql)),
    ...(await checkCollector(config, sql)),
  ];
}

/** Does not create a key, unlike a start. */
async function checkKey(config: Config, sql?: Sql): Promise<Check> {
  const name = 'master key';
  const file = join(config.data_dir, 'master.key');
  if (!isKeyProvided(config) && !(await stat(file).catch(() => undefined))) {
    const used = sql && (await sql`SELECT FROM master_keys LIMIT 1`).length > 0;
    if (!used) return ok(name, `the first start creates ${file}`);
    const remedy = `Restore ${file} or MASTER_KEY from your backup: stored credentials cannot be decrypted without it.`;
    return problem(name, 'missing, although the database has secrets encrypted with one', remedy);
  }
  try {
    const warnings: string[] = [];
    const log = { warn: (text: string) => void warnings.push(text) };
    const master = await loadMasterKeys({ ...(await readProvidedKeys(config)), log });
    const key_ids = sql ? (await sql<{ id: string }[]>`SELECT id FROM master_keys`).map(({ id }) => id) : [];
    if (sql && key_ids.includes(master.current.id)) await checkMasterKey(sql, master);
    else if (key_ids.length > 0 && !(master.previous && key_ids.includes(master.previous.id))) {
      const remedy = 'Restore the key that the database was used with, in MASTER_KEY or the file master.key.';
      return problem(name, 'this is not the key for this database', remedy);
    }
    const [warning] = warnings;
    if (warning !== undefined) return { name, status: 'warning', message: warning, remedy: `Run: chmod 600 ${file}` };
    if (!isKeyProvided(config)) return ok(name, `from ${file}; back it up`);
    const source = config.master_key_command ? 'from MASTER_KEY_COMMAND' : 'from the settings';
    if (!(await stat(file).catch(() => undefined))) return ok(name, source);
    const message = `${source}; ${file} has another key that is no longer used`;
    return { name, status: 'warning', message, remedy: `Keep a copy for older backups elsewhere, then: rm ${file}` };
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    const by_command = config.master_key_command ?? config.master_key_previous_command;
    const remedy = by_command ? 'Run the program as the user of the service.' : 'Restore the key from your backup.';
    return problem(name, error.message, remedy);
  }
}

/** Whether the EMRs and the collectors of the settings accept connections. */
async function checkOutbound(config: Config, sql: Sql): Promise<Check[]> {
  const rows = await sql<{ emr_address: string }[]>`SELECT DISTINCT emr_address FROM organizations`;
  const settings = [config.audit_anchor_url, config.otel_exporter_otlp_endpoint];
  const urls = [...rows.map((row) => row.emr_address), ...settings].flatMap((text) =>
    text ? (parseUrl(text) ?? []) : [],
  );
  const hosts = [...new Map(urls.map((url) => [url.host, url])).values()];
  if (hosts.length === 0) return [ok('outbound', 'no EMR is linked yet')];
  return Promise.all(
    hosts.map(async (url) => {
      const failure = await connectionFailure(url);
      if (failure === undefined) return ok('outbound', `${url.host} accepts connections`);
      const remedy = 'Check DNS, the firewall and the proxy of this machine. Until then, jobs for this address wait.';
      return problem('outbound', `${url.host} cannot be reached (${failure})`, remedy);
    }),
  );
}

/** Whether the collector of the audit log accepts connections, and what it does not have yet. */
async function checkCollector(config: Config, sql: Sql): Promise<Check[]> {
  const { audit_collector_url: address } = config;
  if (!address) return [];
  const { host, port, url } = address;
  const remedy =
    'Check the settings AUDIT_COLLECTOR_…, DNS and the firewall. Until then, audit records wait and none is lost.';
  try {
    if (url.startsWith('http:')) {
      const failure = await connectionFailure(new URL(url));
      if (failure !== undefined)
        return [problem('collector', `${host}:${port} cannot be reached (${failure})`, remedy)];
    } else await checkTls({ host, port, tls: await loadTls(config) });
  } catch (error) {
    if (!(error instanceof StartFailure || error instanceof OutboundFailure)) throw error;
    return [problem('collector', error.message, remedy)];
  }
  const { waiting, lag_s, failure } = await readBacklog(sql);
  const backlog =
    waiting === 0 ? 'has every audit record' : `lacks ${waiting} audit records, the oldest of ${Math.floor(lag_s)} s`;
  if (lag_s <= collector_lag_max_s) return [ok('collector', `${host}:${port} accepts connections and ${backlog}`)];
  const reason = failure === null ? '' : `: ${failure}`;
  const message = `${host}:${port} accepts connections, but ${backlog}${reason}`;
  return [problem('collector', message, 'Check that a worker is running, and its log.')];
}

/** Whether the mail server for alerts accepts the connection, the certificate and the password. */
async function checkEmail({ alert_smtp_url: server }: Config): Promise<Check[]> {
  if (!server) return [];
  try {
    await checkEmailServer(server);
    return [ok('email', `${server.host} accepts alerts`)];
  } catch (error) {
    if (!(error instanceof EmailFailure)) throw error;
    return [problem('email', error.message, 'Check ALERT_SMTP_URL and the firewall. Alerts are retried for a day.')];
  }
}

/** Whether the document scanner responds. */
async function checkScanner({ document_scanner: scanner }: Config): Promise<Check[]> {
  if (!scanner) return [];
  try {
    await pingScanner(scanner);
    return [ok('scanner', `${scanner.host}:${scanner.port} scans documents`)];
  } catch (error) {
    if (!(error instanceof ScannerFailure)) throw error;
    const remedy = 'Check DOCUMENT_SCANNER, that the scanner is running, and the firewall. Until then, documents wait.';
    return [problem('scanner', error.message, remedy)];
  }
}

/** Whether the provider of single sign-on publishes its metadata. */
async function checkIssuer(config: Config): Promise<Check[]> {
  const provider = openIdentityProvider(config);
  if (!provider) return [];
  const { host } = new URL(config.oidc_issuer ?? '');
  try {
    await provider.check();
    return [ok('sign-in', `${host} is ready for single sign-on`)];
  } catch (error) {
    if (!(error instanceof IdentityFailure)) throw error;
    const remedy = 'Check OIDC_ISSUER, DNS and the firewall. Until then, operators cannot use single sign-on.';
    return [problem('sign-in', `single sign-on is not ready: ${error.message} (${error.code})`, remedy)];
  } finally {
    await provider.close();
  }
}

function connectionFailure({ hostname, port, protocol }: URL): Promise<string | undefined> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = openSocket({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) });
    const end = (failure: string | undefined) => {
      socket.destroy();
      resolve(failure);
    };
    socket.setTimeout(connect_timeout_ms, () => end('no response'));
    socket.once('connect', () => end(undefined));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? 'error'));
  });
}

function ok(name: string, message: string): Check {
  return { name, status: 'ok', message };
}

function problem(name: string, message: string, remedy: string): Check {
  return { name, status: 'problem', message, remedy };
}
