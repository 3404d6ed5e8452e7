import postgres from 'postgres';

export type DatabaseAddress = string | postgres.Options<Record<string, postgres.PostgresType>>;
export type Sql = postgres.Sql;
/** What a statement needs: the pool or a transaction. */
export type Query = postgres.ISql;
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** Columns are snake_case in the tables and camelCase everywhere else; dates are MM/DD/YYYY everywhere but in the tables. */
export function openDatabase(address: DatabaseAddress): Sql {
  const settings: postgres.Options<Record<string, postgres.PostgresType>> = {
    max: 10,
    onnotice: () => {},
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    types: { us_date: { to: OID_DATE, from: [OID_DATE], serialize: toIsoDate, parse: toUsDate } },
  };
  return typeof address === 'string' ? postgres(address, settings) : postgres({ ...address, ...settings });
}

const OID_DATE = 1082;

function toIsoDate(date: unknown): string {
  const [month, day, year] = String(date).split('/');
  return `${year}-${month}-${day}`;
}

function toUsDate(date: string): string {
  const [year, month, day] = date.split('-');
  return `${month}/${day}/${year}`;
}
