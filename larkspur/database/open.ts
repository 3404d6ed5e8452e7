import { type DatabaseAddress as Address, parseAddress } from '../../sql/address.ts';
import { connect, type Sql } from '../../sql/connect.ts';

export type { Sql } from '../../sql/connect.ts';
export type { Fragment, Query } from '../../sql/statement.ts';

export type DatabaseAddress = string | (Omit<Address, 'ssl'> & { ssl?: Address['ssl'] });

/**
 * Opens the database. Columns are snake_case in tables and camelCase in code. In code, dates are MM/DD/YYYY and local
 * times MM/DD/YYYY HH:MM.
 */
export async function openDatabase(address: DatabaseAddress): Promise<Sql> {
  const parsed = typeof address === 'string' ? parseAddress(address) : { ssl: false as const, ...address };
  return connect(parsed, {
    max: 10,
    application_name: 'larkspur',
    // PostgreSQL accepts MM/DD/YYYY and returns YYYY-MM-DD.
    settings: { DateStyle: 'ISO,MDY' },
    naming: { toColumn, fromColumn },
    parsers: { date: toUsDate, timestamp: toUsTime },
  });
}

function toColumn(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function fromColumn(column: string): string {
  return column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function toUsDate(date: string): string {
  const [year, month, day] = date.split('-');
  return `${month}/${day}/${year}`;
}

function toUsTime(time: string): string {
  const [date = '', clock = ''] = time.split(' ');
  return `${toUsDate(date)} ${clock.slice(0, 5)}`;
}
