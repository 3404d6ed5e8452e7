import { StartFailure } from '../errors.ts';

/** Where a PostgreSQL database is. `host` may be a folder: that of a unix socket. */
export type DatabaseAddress = {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  ssl: false | 'require' | 'prefer' | 'verify-full';
};

/** Reads a postgres:// URL; `?host=/folder` names a unix socket, `?sslmode=` is that of libpq. */
export function parseDatabaseUrl(name: string, text: string): DatabaseAddress {
  const url = new URL(text);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (!database) throw new StartFailure(`${name} must name a database, as in postgres://user:password@host:5432/name.`);
  const sslmode = url.searchParams.get('sslmode') ?? 'disable';
  const ssl = {
    disable: false,
    allow: 'prefer',
    prefer: 'prefer',
    require: 'require',
    'verify-full': 'verify-full',
  } as const;
  if (!(sslmode in ssl)) throw new StartFailure(`${name} has an unknown sslmode; use disable, require or verify-full.`);
  return {
    host: url.searchParams.get('host') ?? (url.hostname || 'localhost'),
    port: Number(url.searchParams.get('port') ?? (url.port || 5432)),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database,
    ssl: ssl[sslmode as keyof typeof ssl],
  };
}
