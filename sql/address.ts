/** Where a PostgreSQL database is. `host` may be the folder of a unix socket. */
export type DatabaseAddress = {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  ssl: false | 'require' | 'prefer' | 'verify-full';
};

const ssl = {
  disable: false,
  allow: 'prefer',
  prefer: 'prefer',
  require: 'require',
  'verify-full': 'verify-full',
} as const;

/** Reads a postgres:// URL; `?host=/folder` names a unix socket, `?sslmode=` is that of libpq. */
export function parseAddress(text: string): DatabaseAddress {
  const url = new URL(text);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (!database) throw new AddressError('must name a database, as in postgres://user:password@host:5432/name');
  const sslmode = url.searchParams.get('sslmode') ?? 'disable';
  if (!(sslmode in ssl)) throw new AddressError('has an unknown sslmode; use disable, require or verify-full');
  return {
    host: url.searchParams.get('host') ?? (url.hostname || 'localhost'),
    port: Number(url.searchParams.get('port') ?? (url.port || 5432)),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database,
    ssl: ssl[sslmode as keyof typeof ssl],
  };
}

/** The message completes a sentence that starts with the name of a setting. */
export class AddressError extends Error {}
