import { resolve } from 'node:path';
import { StartFailure } from './errors.ts';

type Setting<T> = {
  description: string;
  example: string;
  /** The default, as text for the reference page. */
  default: string;
  parse: (value: string | undefined, env: Environment, name: string) => T;
};
type Environment = Record<string, string | undefined>;

/** The settings catalogue. Nothing else reads the environment. `.env.example` is generated from it. */
export const settings = {
  PORT: number('Port for the API, the dashboard and the docs.', 4000, 0, 65535),
  HOST: text('Address to listen on.', '127.0.0.1'),
  BASE_URL: {
    description: 'Public URL of the service, as clients and browsers see it.',
    example: 'https://chartwire.example.org',
    default: 'http://HOST:PORT',
    parse: (value, env) => {
      if (value) return address('BASE_URL', value, ['http:', 'https:']).replace(/\/+$/, '');
      const host = env.HOST?.trim() || '127.0.0.1';
      const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
      return `http://${shown}:${env.PORT?.trim() || 4000}`;
    },
  } satisfies Setting<string>,
  DATA_DIR: {
    description: 'Folder for the embedded database, the generated master key and sandbox.json.',
    example: './data',
    default: './data',
    parse: (value) => resolve(value || './data'),
  } satisfies Setting<string>,
  DATABASE_URL: {
    description: 'Connection URL of a PostgreSQL 15 or newer. If unset, an embedded PostgreSQL in DATA_DIR is used.',
    example: 'postgres://chartwire:secret@db.example.org:5432/chartwire',
    default: 'embedded',
    parse: (value) => (value ? postgresAddress('DATABASE_URL', value) : undefined),
  } satisfies Setting<string | undefined>,
  DATABASE_POOL: number('Database connections per process, shared by requests and jobs.', 10, 2, 200),
  MASTER_KEY: {
    description:
      'Key that encrypts all other keys: 32 bytes, as 64 hexadecimal digits or base64. Generate one with: openssl rand -hex 32. Back it up, but not together with the database.',
    example: '<64 hexadecimal digits>',
    default: 'required when SANDBOX is off; otherwise generated into DATA_DIR/master.key',
    parse: (value, env) => {
      if (value) return masterKey('MASTER_KEY', value);
      if (sandbox(env.SANDBOX?.trim(), env)) return undefined;
      throw new StartFailure('MASTER_KEY must be set when the sandbox is off. Generate one with: openssl rand -hex 32');
    },
  } satisfies Setting<Buffer | undefined>,
  MASTER_KEY_PREVIOUS: {
    description: 'A second master key that is accepted during a rotation. SECURITY.md describes the steps.',
    example: '',
    default: 'none',
    parse: (value) => (value ? masterKey('MASTER_KEY_PREVIOUS', value) : undefined),
  } satisfies Setting<Buffer | undefined>,
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
    parse: (value) => (value ? postgresAddress('LARKSPUR_DATABASE_URL', value) : undefined),
  } satisfies Setting<string | undefined>,
  OWNER_EMAIL: text(
    'Email address of the owner account created at the first start (not in the sandbox).',
    'owner@localhost',
  ),
  OUTBOUND_ALLOW: {
    description:
      'Hosts that may be called even if they resolve to private addresses, such as an EMR in your own network: comma-separated host names or addresses, with an optional port.',
    example: 'emr.internal,10.1.2.3:8443',
    default: 'none',
    parse: (value) => list(value),
  } satisfies Setting<string[]>,
  LOG_LEVEL: {
    description: 'Log level: fatal, error, warn, info, debug, trace or silent.',
    example: 'info',
    default: 'info',
    parse: (value) =>
      oneOf('LOG_LEVEL', value || 'info', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  } satisfies Setting<string>,
  RATE_LIMIT: number('Average requests per second allowed per client, per API process.', 100, 1, 1_000_000),
  RATE_BURST: number('Burst of requests allowed per client, per API process.', 200, 1, 1_000_000),
  WORKER_JOBS: number('Jobs a worker process runs in parallel.', 16, 1, 500),
  WORKER_DELIVERIES: number('Webhook deliveries a worker process makes in parallel.', 32, 1, 500),
  LEASE_SECONDS: number('Seconds without a heartbeat after which another worker takes over the work.', 15, 2, 600),
  REQUESTS_DAYS: number('Days to keep the request log. The audit trail is kept forever.', 7, 1, 365),
  SYNC_MINUTES: number('Minutes between syncs of each organization with its EMR.', 15, 1, 10_080),
} as const satisfies Record<string, Setting<unknown>>;

type Name = keyof typeof settings;
type Values = { [K in Name as Lowercase<K & string>]: ReturnType<(typeof settings)[K]['parse']> };

/** The parsed settings of one process. */
export type Config = Readonly<Values>;

/** Parses every setting. The first invalid one throws a StartFailure that says what to write instead. */
export function loadConfig(env: Environment): Config {
  const entries = Object.entries(settings).map(([name, setting]) => [
    name.toLowerCase(),
    (setting as Setting<unknown>).parse(env[name]?.trim(), env, name),
  ]);
  // The keys and types match the table; TypeScript loses them in fromEntries.
  return Object.freeze(Object.fromEntries(entries)) as Config;
}

function text(description: string, fallback: string): Setting<string> {
  return { description, example: fallback, default: fallback, parse: (value) => value || fallback };
}

function number(description: string, fallback: number, min: number, max: number): Setting<number> {
  return {
    description,
    example: String(fallback),
    default: String(fallback),
    parse: (value, _env, name) => {
      if (!value) return fallback;
      const parsed = /^\d+$/.test(value) ? Number(value) : Number.NaN;
      if (parsed >= min && parsed <= max) return parsed;
      throw new StartFailure(`${name} must be a whole number from ${min} to ${max}, not '${value}'.`);
    },
  };
}

function sandbox(value: string | undefined, env: Environment): boolean {
  if (!value) return env.NODE_ENV !== 'production';
  return oneOf('SANDBOX', value, ['on', 'off']) === 'on';
}

function oneOf<T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value.toLowerCase());
  if (found !== undefined) return found;
  throw new StartFailure(`${name} must be one of ${allowed.join(', ')}, not '${value}'.`);
}

function list(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((item) => item.trim().toLowerCase())
    .filter((item) => item !== '');
}

function address(name: string, value: string, protocols: string[]): string {
  if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
  throw new StartFailure(`${name} must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}.`);
}

/** The value is not repeated in the error: it contains a password. */
function postgresAddress(name: string, value: string): string {
  return address(name, value, ['postgres:', 'postgresql:']);
}

function masterKey(name: string, value: string): Buffer {
  const key = /^[0-9a-f]{64}$/i.test(value) ? Buffer.from(value, 'hex') : Buffer.from(value, 'base64');
  if (key.length === 32) return key;
  throw new StartFailure(
    `${name} must be 32 bytes, written as 64 hexadecimal digits or as base64. Generate one with: openssl rand -hex 32`,
  );
}
