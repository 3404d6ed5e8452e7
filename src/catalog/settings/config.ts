import { resolve } from 'node:path';
import { StartFailure } from '../errors.ts';
import { alert_settings } from './alertSettings.ts';
import { collector_settings } from './collectorSettings.ts';
import { key_settings } from './keySettings.ts';
import { operator_settings } from './operatorSettings.ts';
import { type ResolvedSecrets, resolveSecrets } from './secretSources.ts';
import {
  address,
  choice,
  type Environment,
  isLoopback,
  list,
  networks,
  number,
  offOrOn,
  oneOf,
  pairs,
  postgresAddress,
  privateAddress,
  type Setting,
  sampler_names,
  sandbox,
  share,
  tcpAddress,
  text,
} from './settingValues.ts';

/** In the sandbox, browsers reach the service as localhost, which may be either address. Passkeys need a name. */
function defaultHost(env: Environment): string {
  return sandbox(env.SANDBOX?.trim(), env) ? 'localhost' : '127.0.0.1';
}

/** Which part of the service a process runs. Any number of processes can share one database. */
export const process_roles = ['all', 'api', 'worker'] as const;
export type ProcessRole = (typeof process_roles)[number];

/** The settings catalogue. Nothing else reads the environment. `.env.example` is generated from it. */
export const settings = {
  PORT: number('Port for the API, the dashboard and the docs.', 4000, 0, 65535),
  HOST: {
    description: 'Address to listen on. localhost: both loopback addresses, 127.0.0.1 and ::1.',
    example: '127.0.0.1',
    default: 'localhost in the sandbox, otherwise 127.0.0.1',
    parse: (value, env) => value || defaultHost(env),
  } satisfies Setting<string>,
  BASE_URL: {
    description: 'Public URL of the service, as clients and browsers see it.',
    example: 'https://chartwire.example.org',
    default: 'http://HOST:PORT; in production https is required, unless both are on this machine',
    parse: (value, env) => {
      const host = env.HOST?.trim() || defaultHost(env);
      const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
      const base_url = value
        ? address('BASE_URL', value, ['http:', 'https:']).replace(/\/+$/, '')
        : `http://${shown.includes(':') ? `[${shown}]` : shown}:${env.PORT?.trim() || 4000}`;
      const plain_text = base_url.startsWith('http:') && !(isLoopback(new URL(base_url).hostname) && isLoopback(host));
      if (!plain_text || sandbox(env.SANDBOX?.trim(), env)) return base_url;
      throw new StartFailure(
        'BASE_URL must be the https:// address of a reverse proxy when the sandbox is off: requests contain credentials and health data. See docs/guides/reverse-proxy.md.',
      );
    },
  } satisfies Setting<string>,
  DATA_DIR: {
    description: 'Folder for the embedded database, the generated master key and sandbox.json.',
    example: './data',
    default: './data',
    parse: (value) => resolve(value || './data'),
  } satisfies Setting<string>,
  DATABASE_URL: {
    description:
      'Connection URL of a PostgreSQL server, version 15 or newer. If unset, an embedded PostgreSQL in DATA_DIR is used. If the server is on another machine, TLS with a valid certificate is required: ?sslrootcert=/path names the CA file of a private authority, ?sslmode=disable turns TLS off.',
    example: 'postgres://chartwire:secret@db.example.org:5432/chartwire',
    default: 'embedded',
    secret: true,
    parse: (value) => (value ? postgresAddress('DATABASE_URL', value) : undefined),
  } satisfies Setting<string | undefined>,
  DATABASE_LISTEN_URL: {
    description:
      'Direct connection URL of the same database if DATABASE_URL is a connection pooler in transaction mode, such as PgBouncer. Used for notifications between processes and for migrations, which need a session of their own. The service then sends no startup options; migrations set the timeouts of its roles.',
    example: 'postgres://chartwire:secret@db.example.org:5432/chartwire',
    default: 'DATABASE_URL',
    secret: true,
    parse: (value, env, name) => {
      if (!value) return undefined;
      if (env.DATABASE_URL?.trim()) return postgresAddress(name, value);
      throw new StartFailure(`${name} is set, so DATABASE_URL must be set too: the URL of the connection pooler.`);
    },
  } satisfies Setting<string | undefined>,
  DATABASE_PREPARE: {
    description:
      'off: does not use named prepared statements, which PgBouncer before 1.21 does not support in transaction mode. Requires DATABASE_LISTEN_URL.',
    example: 'on',
    default: 'on',
    parse: (value, env, name) => {
      const prepare = oneOf(name, value || 'on', ['on', 'off']) === 'on';
      if (prepare || env.DATABASE_LISTEN_URL?.trim()) return prepare;
      throw new StartFailure(
        `${name} is off, so DATABASE_LISTEN_URL must be set: the URL of the database without the connection pooler, through which no notifications arrive.`,
      );
    },
  } satisfies Setting<boolean>,
  ALLOW_NOBODY: {
    description:
      'on: root may run the embedded database as the user "nobody" if the user chartwire-db cannot be created. Any process running as "nobody" can then read and change the database. Same as the option --allow-nobody.',
    example: 'on',
    default: 'on in the sandbox, with a warning; otherwise off',
    parse: (value, env) =>
      value ? oneOf('ALLOW_NOBODY', value, ['on', 'off']) === 'on' : sandbox(env.SANDBOX?.trim(), env),
  } satisfies Setting<boolean>,
  DATABASE_POOL: number('Database connections per process, shared by requests and jobs.', 10, 2, 200),
  ...key_settings,
  SANDBOX: {
    description:
      'on: starts the Larkspur EMR, seeds a client with a linked account, enables the /sandbox endpoints and allows http to this machine. Never use it with real patients.',
    example: 'on',
    default: 'on; off when NODE_ENV is production',
    parse: sandbox,
  } satisfies Setting<boolean>,
  LARKSPUR_PORT: number('Port of the Larkspur EMR (sandbox only).', 4100, 0, 65535),
  LARKSPUR_DATABASE_URL: {
    description: 'Database for Larkspur (sandbox only).',
    example: 'postgres://larkspur:secret@db.example.org:5432/larkspur',
    default: 'a second database on the same server, with the suffix _larkspur',
    secret: true,
    parse: (value) => (value ? postgresAddress('LARKSPUR_DATABASE_URL', value) : undefined),
  } satisfies Setting<string | undefined>,
  ...operator_settings,
  CONNECTORS: {
    description:
      'Connectors from outside: comma-separated names of packages, which are looked for in the working directory and the service’s folder, and paths of folders or files (./my-emr). Their code runs with all rights of the service, and is checked at every start. All processes of an installation need the same value.',
    example: '@acme/chartwire-greenfield,./my-emr',
    default: 'none: only the built-in ones',
    parse: (value) => [...new Set((value ?? '').split(',').map((item) => item.trim()))].filter((item) => item !== ''),
  } satisfies Setting<string[]>,
  OUTBOUND_ALLOW_EMR: {
    description:
      'EMRs that may be called even if they resolve to private addresses or use http, such as an EMR on your own network: comma-separated host names or addresses, with an optional port.',
    example: 'emr.internal,10.1.2.3:8443',
    default: 'none',
    parse: (value, env) => list(value || env.OUTBOUND_ALLOW),
  } satisfies Setting<string[]>,
  OUTBOUND_ALLOW_WEBHOOKS: {
    description:
      'The same for webhook endpoints. Every client can then send its events to these hosts, so list only receivers, never an EMR or an internal service.',
    example: 'hooks.internal:8443',
    default: 'none',
    parse: (value) => list(value),
  } satisfies Setting<string[]>,
  OUTBOUND_ALLOW: {
    description: 'A short name of OUTBOUND_ALLOW_EMR, used if that is not set. It does not apply to webhooks.',
    example: 'emr.internal',
    default: 'none',
    parse: (value) => list(value),
  } satisfies Setting<string[]>,
  AUDIT_ANCHOR_FILE: {
    description:
      'File to which the end of the audit log is appended once a minute, in addition to DATA_DIR/audit.anchor. Put it where the service cannot change it (chattr +a, a WORM volume): removed audit records are then detected even if the whole machine was compromised.',
    example: '/var/log/chartwire/audit.anchors',
    default: 'none',
    parse: (value) => (value ? resolve(value) : undefined),
  } satisfies Setting<string | undefined>,
  AUDIT_ANCHOR_URL: {
    description:
      'URL that you control, to which the end of the audit log is sent once a minute (POST, JSON). Store the lines: chartwire audit verify --anchor-file reads them.',
    example: 'https://log.example.org/chartwire',
    default: 'none',
    secret: true,
    parse: (value) => (value ? privateAddress('AUDIT_ANCHOR_URL', value) : undefined),
  } satisfies Setting<string | undefined>,
  AUDIT_VERIFY_HOURS: number('Hours between verifications of the whole audit log.', 24, 1, 8_760),
  ...collector_settings,
  ...alert_settings,
  LOG_LEVEL: choice(
    'Log level: fatal, error, warn, info, debug, trace or silent.',
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
  ),
  LOG_FORMAT: {
    description: 'Log format: json, or text, which has one readable line per request and omits successful reads.',
    example: 'json',
    default: 'text on a terminal, except with NODE_ENV=production; otherwise json',
    parse: (value, { NODE_ENV }) => {
      const chosen = value || (NODE_ENV === 'production' ? 'json' : '');
      return chosen === '' ? undefined : oneOf('LOG_FORMAT', chosen, ['json', 'text'] as const);
    },
  } satisfies Setting<'json' | 'text' | undefined>,
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    description:
      'URL of an OpenTelemetry collector (OTLP over HTTP, JSON). Traces are sent to /v1/traces below it, metrics to /v1/metrics. They contain no health data.',
    example: 'http://127.0.0.1:4318',
    default: 'none: nothing is exported',
    parse: (value, _env, name) => (value ? address(name, value, ['http:', 'https:']) : undefined),
  } satisfies Setting<string | undefined>,
  OTEL_EXPORTER_OTLP_HEADERS: {
    description: 'Headers for the collector: comma-separated name=value pairs, with percent-encoded values.',
    example: 'api-key=secret',
    default: 'none',
    secret: true,
    parse: (value, _env, name) => pairs(name, value),
  } satisfies Setting<Record<string, string>>,
  OTEL_SERVICE_NAME: text('Name of the service in traces and exported metrics.', 'chartwire'),
  OTEL_TRACES_SAMPLER: choice(
    `Which requests are traced: ${sampler_names.join(', ')}. The parentbased samplers follow the caller's traceparent header, if there is one.`,
    sampler_names,
    'parentbased_always_on',
  ),
  OTEL_TRACES_SAMPLER_ARG: {
    description: 'Share of requests that the ratio samplers trace, from 0 to 1.',
    example: '0.1',
    default: '1',
    parse: (value, _env, name) => share(name, value || '1'),
  } satisfies Setting<number>,
  OTEL_METRIC_EXPORT_INTERVAL: number('Milliseconds between metric exports.', 60_000, 100, 3_600_000),
  RATE_LIMIT: number('Average requests per second allowed per client, per API process.', 100, 1, 1_000_000),
  RATE_BURST: number('Burst of requests allowed per client, per API process.', 200, 1, 1_000_000),
  ADDRESS_RATE_LIMIT: number(
    'Average requests per second without valid credentials allowed per remote address, per API process.',
    50,
    1,
    1_000_000,
  ),
  ADDRESS_RATE_BURST: number(
    'Burst of requests without valid credentials allowed per remote address, per API process.',
    500,
    50,
    1_000_000,
  ),
  TRUSTED_PROXIES: {
    description:
      'Reverse proxies whose X-Forwarded-For header names the remote address: comma-separated addresses or networks. Without it, everyone behind a proxy shares one ADDRESS_RATE_LIMIT.',
    example: '127.0.0.1,10.0.0.0/8',
    default: 'none',
    parse: (value, _env, name) => networks(name, list(value)),
  } satisfies Setting<string[]>,
  CLIENT_CERTIFICATE_HEADER: {
    description:
      'Header in which the TRUSTED_PROXIES forward the certificate that a caller presented in its TLS handshake: PEM (percent-encoded) or DER (base64). Needed for clients with registered certificates. The proxy must remove the header from what callers send.',
    example: 'x-client-certificate',
    default: 'none: certificates of callers are not read',
    parse: (value, env, name) => {
      if (!value) return undefined;
      if (!/^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/.test(value)) {
        throw new StartFailure(`${name} must be the name of a header, such as x-client-certificate, not '${value}'.`);
      }
      if (env.TRUSTED_PROXIES?.trim()) return value.toLowerCase();
      throw new StartFailure(`${name} is set, so TRUSTED_PROXIES must be set too: anyone could send the header.`);
    },
  } satisfies Setting<string | undefined>,
  METRICS_PORT: {
    description:
      'Port on which a process with the role worker serves /metrics, /healthz and /readyz, at HOST. The metrics of jobs and deliveries are those of the workers. Other processes serve them at PORT.',
    example: '4001',
    default: 'none',
    parse: (value, _env, name) => (value ? number('', 0, 0, 65535).parse(value, {}, name) : undefined),
  } satisfies Setting<number | undefined>,
  METRICS_TOKEN: {
    description: 'If set, GET /metrics requires this bearer token (Prometheus: authorization.credentials).',
    example: '<a long random text>',
    default: 'none',
    secret: true,
    parse: (value, _env, name) => {
      if (!value) return undefined;
      if (value.length >= 16) return value;
      throw new StartFailure(`${name} must have at least 16 characters. Generate one with: openssl rand -hex 32`);
    },
  } satisfies Setting<string | undefined>,
  DRAIN_SECONDS: number(
    'Seconds for which a stopping process keeps serving requests while GET /readyz returns 503, so that a load balancer stops using it. Must be longer than the load balancer takes to notice; 0 without one. The supervisor must wait this long plus 30 s before it kills the process.',
    0,
    0,
    300,
  ),
  UPLOADS_PARALLEL: number(
    'Documents a process holds in memory at once, counted separately for uploads and for jobs that send them. A small heap lowers the limit.',
    8,
    1,
    100,
  ),
  PDF_JAVASCRIPT: offOrOn(
    'on: also accepts PDF documents that contain JavaScript, and protected ones that cannot be checked.',
  ),
  DOCUMENT_SCANNER: {
    description:
      'Virus scanner (clamd, or a server with its protocol) that checks documents before they are sent to an EMR: tcp://host:port, port 3310 if omitted. The connection is not encrypted, so the scanner must be on this machine or on a network that you trust.',
    example: 'tcp://127.0.0.1:3310',
    default: 'none: documents are not scanned',
    parse: (value, _env, name) => (value ? tcpAddress(name, value, 3310) : undefined),
  } satisfies Setting<{ host: string; port: number } | undefined>,
  WORKER_JOBS: number('Jobs a worker process runs in parallel. One client gets at most half of them.', 32, 1, 500),
  WORKER_DELIVERIES: number(
    'Webhook deliveries a worker process makes in parallel. One client gets at most half of them.',
    64,
    1,
    500,
  ),
  WEBHOOK_ENDPOINTS: number('Webhook endpoints a client can have.', 20, 1, 10_000),
  LEASE_SECONDS: number('Seconds without a heartbeat after which another worker takes over the work.', 15, 2, 600),
  EVENT_DAYS: number('Days to keep events with their payloads and delivery attempts.', 30, 1, 30),
  JOB_INPUT_DAYS: number(
    'Days to keep the request and the timeline of a finished job. Its type, state and times are kept.',
    90,
    1,
    3650,
  ),
  UNLINKED_DAYS: number(
    'Days to keep the cached records of a practice after its last account was unlinked.',
    30,
    1,
    3650,
  ),
  REQUESTS_DAYS: number(
    'Days to keep the request log, which is deleted by whole days (UTC). The audit log is kept forever.',
    7,
    1,
    365,
  ),
  SYNC_MINUTES: number('Minutes between syncs of each organization with its EMR.', 15, 1, 10_080),
  SYNC_REQUESTS_PER_HOUR: number(
    'Requests per hour that a sync sends to the EMR of its organization. One that has sent as many goes on in the next hour where it stopped, and postpones the next sync; one that read its lists in full, by at most an hour.',
    6000,
    60,
    1_000_000,
  ),
  SYNC_REMOVALS_PERCENT: number(
    'Percentage of a list that a sync can remove without confirmation. 100: no limit.',
    20,
    1,
    100,
  ),
  SYNC_REMOVALS_COUNT: number(
    'Number of records that a sync can remove from a list without confirmation, whatever the percentage.',
    10,
    0,
    1_000_000,
  ),
} as const satisfies Record<string, Setting<unknown>>;

type Name = keyof typeof settings;
type Values = { [K in Name as Lowercase<K & string>]: ReturnType<(typeof settings)[K]['parse']> };

/** The parsed settings of one process. */
export type Config = Readonly<Values>;

/** The settings that are secrets. Each can also come from a file or a systemd credential. */
export const secret_names: readonly string[] = Object.entries(settings)
  .filter(([, setting]) => (setting as Setting<unknown>).secret === true)
  .map(([name]) => name);

/** The secrets of an environment with their values, and where each one is set. */
export function readSecrets(env: Environment): ResolvedSecrets {
  return resolveSecrets(env, { secrets: secret_names, settings: Object.keys(settings) });
}

/**
 * Parses every setting. The first invalid one throws a StartFailure that says what to write instead. `overrides` replace
 * what the environment says, wherever it says it: also secrets that are in files.
 */
export function loadConfig(env: Environment, overrides: Environment = {}): Config {
  const resolved = { ...env, ...readSecrets(env).values, ...overrides };
  const entries = Object.entries(settings).map(([name, setting]) => [
    name.toLowerCase(),
    (setting as Setting<unknown>).parse(resolved[name]?.trim(), resolved, name),
  ]);
  // The keys and types match the table; TypeScript loses them in fromEntries.
  return Object.freeze(Object.fromEntries(entries)) as Config;
}
