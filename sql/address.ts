import { isIPv4 } from 'node:net';

/** The address of a PostgreSQL database. `host` may be the folder of a Unix socket. */
export type DatabaseAddress = {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** `verify`: TLS with a certificate that is valid for the host. */
  ssl: false | 'verify';
  /** A file with the certificate authorities to trust instead of those of Node. */
  ssl_root_cert?: string;
  /**
   * Set if the address is a connection pooler in transaction mode, such as PgBouncer. It gets no startup options; with
   * `prepare` off no named statements either, because the next transaction may run on another connection.
   */
  pooler?: { prepare: boolean };
};

/**
 * `require` and `verify-ca` also verify the host, which libpq does not: encryption without it stops nobody who can read
 * the traffic from answering it. `allow` and `prefer` are missing, because they fall back to plain text.
 */
const ssl_modes = { disable: false, require: 'verify', 'verify-ca': 'verify', 'verify-full': 'verify' } as const;

/**
 * Parses a postgres:// URL. `?host=/folder` is a Unix socket. Without `?sslmode=`, databases on other machines are
 * connected to with verified TLS, and those on this machine without TLS.
 */
export function parseAddress(text: string): DatabaseAddress {
  const url = new URL(text);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (!database) throw new AddressError('must name a database, as in postgres://user:password@host:5432/name');
  const host = url.searchParams.get('host') ?? (url.hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost');
  const ssl_root_cert = url.searchParams.get('sslrootcert');
  return {
    host,
    port: Number(url.searchParams.get('port') ?? (url.port || 5432)),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database,
    ssl: parseSsl(url.searchParams.get('sslmode') ?? (isLocal(host) ? 'disable' : 'verify-full')),
    ...(ssl_root_cert ? { ssl_root_cert } : {}),
  };
}

/** The message completes a sentence that starts with the name of a setting. */
export class AddressError extends Error {}

function parseSsl(mode: string): DatabaseAddress['ssl'] {
  if (isMode(mode)) return ssl_modes[mode];
  throw new AddressError('must have an sslmode of disable, require, verify-ca or verify-full');
}

function isMode(mode: string): mode is keyof typeof ssl_modes {
  return Object.hasOwn(ssl_modes, mode);
}

/** A Unix socket or a loopback address. */
function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
