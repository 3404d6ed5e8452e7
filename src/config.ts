import { resolve } from 'node:path';
import { StartFailure } from './errors.ts';

type Setting<T> = {
  about: string;
  example: string;
  /** What holds when the setting is absent, in words for the reference page. */
  default: string;
  parse: (value: string | undefined, env: Environment, name: string) => T;
};
type Environment = Record<string, string | undefined>;

/** Every setting of the service. Nothing else reads the environment; `.env.example` is generated from here. */
export const settings = {
  PORT: number('Port of the API and the pages.', 4000, 0, 65535),
  HOST: text('Address to listen on.', '127.0.0.1'),
  BASE_URL: {
    about: 'Public address of the service, as clients and browsers see it.',
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
    about: 'Folder of the embedded database, the generated master key and sandbox.json.',
    example: './data',
    default: './data',
    parse: (value) => resolve(value || './data'),
  } satisfies Setting<string>,
  DATABASE_URL: {
    about: 'PostgreSQL 15 or newer. Unset: the embedded PostgreSQL in DATA_DIR.',
    example: 'postgres://chartwire:secret@db.example.org:5432/chartwire',
    default: 'embedded',
    parse: (value) => (value ? postgresAddress('DATABASE_URL', value) : undefined),
  } satisfies Setting<string | undefined>,
  DATABASE_POOL: number('Database connections that requests and jobs share, per process.', 10, 2, 200),
  MASTER_KEY: {
    about:
      'Key that wraps all other keys: 32 bytes as 64 hexadecimal digits or base64. Make one: openssl rand -hex 32. Keep it apart from database backups.',
    example: '<64 hexadecimal digits>',
    default: 'required when SANDBOX is off; otherwise generated into DATA_DIR/master.key',
    parse: (value, env) => {
      if (value) return masterKey('MASTER_KEY', value);
      if (sandbox(env.SANDBOX?.trim(), env)) return undefined;
      throw new StartFailure('MASTER_KEY must be set when the sandbox is off. Make one with: openssl rand -hex 32');
    },
  } satisfies Setting<Buffer | undefined>,
  MASTER_KEY_PREVIOUS: {
    about: 'The master key before the present one, while keys are being re-wrapped after a rotation.',
    example: '',
    default: 'none',
    parse: (value) => (value ? masterKey('MASTER_KEY_PREVIOUS', value) : undefined),
  } satisfies Setting<Buffer | undefined>,
  SANDBOX: {
    about:
      'on: starts the Larkspur EMR, seeds a client with a linked account, offers /sandbox endpoints and allows http to this machine. Never on with real patients.',
    example: 'on',
    default: 'on; off when NODE_ENV is production',
    parse: sandbox,
  } satisfies Setting<boolean>,
  LARKSPUR_PORT: number('Port of the Larkspur EMR (sandbox only).', 4100, 0, 65535),
  LARKSPUR_DATABASE_URL: {
    about: "Where Larkspur's data live (sandbox only).",
    example: 'postgres://larkspur:secret@db.example.org:5432/larkspur',
    default: 'a second database of the same PostgreSQL, named as the first with _larkspur behind it',
    parse: (value) => (value ? postgresAddress('LARKSPUR_DATABASE_URL', value) : undefined),
  } satisfies Setting<string | undefined>,
  OWNER_EMAIL: text(
    'E-mail address of the owner who is made at the first start (not in the sandbox).',
    'owner@localhost',
  ),
  OUTBOUND_ALLOW: {
    about:
      'Hosts that may be called although they resolve to private addresses (an EMR in your own network): comma-separated names or addresses, with or without a port.',
    example: 'emr.internal,10.1.2.3:8443',
    default: 'none',
    parse: (value) => list(value),
  } satisfies Setting<string[]>,
  LOG_LEVEL: {
    about: 'How much is logged: fatal, error, warn, info, debug, trace or silent.',
    example: 'info',
    default: 'info',
    parse: (value) =>
      oneOf('LOG_LEVEL', value || 'info', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  } satisfies Setting<string>,
  RATE_LIMIT: number('Requests per second a client may make on average, per API process.', 100, 1, 1_000_000),
  RATE_BURST: number('Requests a client may make at once after a pause, per API process.', 200, 1, 1_000_000),
  WORKER_JOBS: number('Jobs a worker process carries out at the same time.', 16, 1, 500),
  WORKER_DELIVERIES: number('Webhook deliveries a worker process makes at the same time.', 32, 1, 500),
  LEASE_SECONDS: number('After this long without a sign of life, work of a dead worker is taken over.', 15, 2, 600),
  REQUESTS_DAYS: number('How long the log of requests is kept. The audit trail is kept for good.', 7, 1, 365),
  SYNC_MINUTES: number('How often the records of every organization are read anew from its EMR.', 15, 1, 10_080),
} as const satisfies Record<string, Setting<unknown>>;

type Name = keyof typeof settings;
type Values = { [K in Name as Lowercase<K & string>]: ReturnType<(typeof settings)[K]['parse']> };

/** The settings of one process, in their own types. */
export type Config = Readonly<Values>;

/** Reads every setting. The first malformed one is a StartFailure: one sentence that says what to write instead. */
export function loadConfig(env: Environment): Config {
  const entries = Object.entries(settings).map(([name, setting]) => [
    name.toLowerCase(),
    (setting as Setting<unknown>).parse(env[name]?.trim(), env, name),
  ]);
  // The keys and types of the result are those of the table, which TypeScript cannot follow through fromEntries.
  return Object.freeze(Object.fromEntries(entries)) as Config;
}

function text(about: string, fallback: string): Setting<string> {
  return { about, example: fallback, default: fallback, parse: (value) => value || fallback };
}

function number(about: string, fallback: number, min: number, max: number): Setting<number> {
  return {
    about,
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
  throw new StartFailure(`${name} must be an address that starts with ${protocols.map((p) => `${p}//`).join(' or ')}.`);
}

/** Not echoed back: the address holds a password. */
function postgresAddress(name: string, value: string): string {
  return address(name, value, ['postgres:', 'postgresql:']);
}

function masterKey(name: string, value: string): Buffer {
  const key = /^[0-9a-f]{64}$/i.test(value) ? Buffer.from(value, 'hex') : Buffer.from(value, 'base64');
  if (key.length === 32) return key;
  throw new StartFailure(
    `${name} must be 32 bytes, written as 64 hexadecimal digits or as base64. Make one with: openssl rand -hex 32`,
  );
}
