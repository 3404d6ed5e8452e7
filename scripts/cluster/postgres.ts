import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseAddress } from '../../sql/address.ts';
import { connect, type Sql } from '../../sql/connect.ts';
import { freePort } from '../freePort.ts';
import type { Program } from '../serviceProcess.ts';
import { postgres_programs, run, startSystemProgram, until } from './programs.ts';

/** Passwords of servers that exist only during the run. */
export const passwords = { postgres: 'run-superuser', chartwire: 'run-owner', replication: 'run-replication' };

/** One PostgreSQL server on this machine. */
export async function startPostgres(folder: string): Promise<{ port: number; program: Program }> {
  const port = await freePort();
  createFolder(folder);
  const data = join(folder, 'data');
  const password_file = join(folder, 'password');
  createFile(password_file, passwords.postgres);
  run(
    [join(postgres_programs, 'initdb'), '-D', data, '-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', password_file],
    {
      as_postgres: true,
    },
  );
  const settings = { port, unix_socket_directories: folder, shared_buffers: '32MB', max_connections: 100 };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const program = startSystemProgram([join(postgres_programs, 'postgres'), '-D', data, ...options], {
    log_file: join(folder, 'log'),
    as_postgres: true,
  });
  await until('PostgreSQL accepts connections', () =>
    asSuperuser(port, async (sql) => (await sql`SELECT 1`).length > 0),
  );
  return { port, program };
}

/** A database with an owner that may create the roles of the service, and nothing more. */
export async function createOwner(port: number, database: string): Promise<DatabaseAddress> {
  await asSuperuser(port, async (sql) => {
    const [owner] = await sql`SELECT FROM pg_roles WHERE rolname = 'chartwire'`;
    if (!owner) await sql.unsafe(`CREATE ROLE chartwire LOGIN CREATEROLE PASSWORD '${passwords.chartwire}'`);
    await sql`CREATE DATABASE ${sql(database)} OWNER chartwire`;
  });
  return ownerAddress(port, database);
}

export function ownerAddress(port: number, database: string): DatabaseAddress {
  return { host: '127.0.0.1', port, user: 'chartwire', password: passwords.chartwire, database, ssl: false };
}

export function toUrl({ user, password, host, port, database }: DatabaseAddress): string {
  return `postgres://${user}:${password}@${host}:${port}/${database}`;
}

export async function asSuperuser<T>(port: number, work: (sql: Sql) => Promise<T>, database = 'postgres'): Promise<T> {
  const address = { ...ownerAddress(port, database), user: 'postgres', password: passwords.postgres };
  return withConnection(address, work);
}

export async function withConnection<T>(address: DatabaseAddress, work: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connect(address, { max: 1, connect_timeout_ms: 5_000 });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout_ms: 2_000 });
  }
}

/** Creates a folder of the system user `postgres`. */
export function createFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  giveToPostgres(path);
}

/** Writes a file that only the system user `postgres` can read. */
export function createFile(path: string, content: string): void {
  writeFileSync(path, content, { mode: 0o600 });
  giveToPostgres(path);
}

function giveToPostgres(path: string): void {
  const [uid, gid] = ['-u', '-g'].map((option) => Number(run(['id', option, 'postgres'])));
  chownSync(path, uid ?? 0, gid ?? 0);
}
