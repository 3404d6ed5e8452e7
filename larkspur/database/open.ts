import postgres from 'postgres';

export type DatabaseAddress = string | postgres.Options<Record<string, postgres.PostgresType>>;
export type Sql = postgres.Sql;
/** What a statement needs: the pool or a transaction. */
export type Query = postgres.ISql;
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/**
 * Columns are snake_case in the tables and camelCase everywhere else; dates are MM/DD/YYYY, and times on the practice's
 * wall MM/DD/YYYY HH:MM, everywhere but in the tables.
 */
export function openDatabase(address: DatabaseAddress): Sql {
  const settings: postgres.Options<Record<string, postgres.PostgresType>> = {
    max: 10,
    connect_timeout: 10,
    // The driver's own pause triples with every failure of any connection of the pool, up to 20 s.
    backoff: () => 0.1 + Math.random() * 0.2,
    onnotice: () => {},
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    types: {
      us_date: { to: OID_DATE, from: [OID_DATE], serialize: toIsoDate, parse: toUsDate },
      wall_time: { to: OID_TIMESTAMP, from: [OID_TIMESTAMP], serialize: toIsoTime, parse: toUsTime },
    },
  };
  if (typeof address !== 'string') return postgres({ ...address, ...settings });
  const { url, host } = withoutSocketFolder(address);
  return postgres(url, host === undefined ? settings : { ...settings, host });
}

const OID_DATE = 1082;
const OID_TIMESTAMP = 1114;

/** `?host=/folder` is how PostgreSQL's own tools write a unix socket in an address; the driver takes it only as an option. */
function withoutSocketFolder(address: string): { url: string; host?: string } {
  const url = new URL(address);
  const host = url.searchParams.get('host');
  if (host === null) return { url: address };
  url.searchParams.delete('host');
  return { url: url.href, host };
}

function toIsoDate(date: unknown): string {
  const [month, day, year] = String(date).split('/');
  return `${year}-${month}-${day}`;
}

function toUsDate(date: string): string {
  const [year, month, day] = date.split('-');
  return `${month}/${day}/${year}`;
}

function toIsoTime(time: unknown): string {
  const [date, clock] = String(time).split(' ');
  return `${toIsoDate(date)} ${clock}`;
}

function toUsTime(time: string): string {
  const [date = '', clock = ''] = time.split(' ');
  return `${toUsDate(date)} ${clock.slice(0, 5)}`;
}
