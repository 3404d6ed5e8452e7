import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import type { DatabaseAddress } from '../../sql/address.ts';
import { connect, type Sql } from '../../sql/connect.ts';

export type FreshDatabase = {
  name: string;
  /** For DATABASE_URL: `?host=` names the folder of the unix socket. */
  url: string;
  address: DatabaseAddress;
  drop(): Promise<void>;
};

/** A database for one test file, empty or cloned from a template. */
export async function freshDatabase(name = 'test', template = 'template1'): Promise<FreshDatabase> {
  const unique = `${name}_${randomBytes(6).toString('hex')}`;
  await onServer(async (sql) => {
    // file_copy: 30 ms for a database of 60 tables, where the default strategy takes 70 to 110.
    await sql`create database ${sql(unique)} template ${sql(template)} strategy file_copy`;
  });
  const address = toAddress(unique);
  return {
    name: unique,
    url: toUrl(address),
    address,
    drop: () => onServer((sql) => sql`drop database if exists ${sql(unique)} with (force)`),
  };
}

/**
 * A database to clone from, created once per run by its first user; others wait for it. `create` must close
 * its connections: PostgreSQL does not clone a database that is in use.
 */
export async function template(name: string, create: (address: DatabaseAddress) => Promise<unknown>): Promise<string> {
  const finished = `template_${name}`;
  await onServer(async (sql) => {
    await sql`select pg_advisory_lock(hashtext(${finished}))`;
    const databases = await sql`select from pg_database where datname = ${finished}`;
    if (databases.length > 0) return;
    // Renamed when it is complete, so that a failed `create` leaves no incomplete template.
    const unfinished = await freshDatabase(`unfinished_${name}`);
    try {
      await create(unfinished.address);
      await sql`alter database ${sql(unfinished.name)} rename to ${sql(finished)}`;
    } catch (error) {
      await unfinished.drop();
      throw error;
    }
  });
  return finished;
}

/** Runs `work` on one connection to the maintenance database; session locks end with it. */
export async function onServer(work: (sql: Sql) => PromiseLike<unknown>): Promise<void> {
  await onDatabase(toAddress('postgres'), work);
}

/** Only ends tests that hang, as the timeouts in vitest.config.ts. */
export const connect_timeout_ms = 60_000;

/** Runs `work` on one connection to a database. */
export async function onDatabase<T>(address: DatabaseAddress, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = connect(address, { max: 1, connect_timeout_ms });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout_ms: 5_000 });
  }
}

function toAddress(database: string): DatabaseAddress {
  return { ...inject('postgres'), database, ssl: false };
}

export function toUrl({ host, port, user, password, database }: DatabaseAddress): string {
  return `postgres://${user}:${password}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}
