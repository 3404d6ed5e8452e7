import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { DatabaseAddress } from './database.ts';
import { migrate } from './migrate.ts';

/** A part of the copy. Parts of a table are named in their order. */
export type CopyPart = { path: string; bytes: number; content: AsyncIterable<Buffer> };

/** All rows as of one moment, in the text format of COPY, which other versions of PostgreSQL can read. */
export type TableCopy = {
  migrations: string[];
  /** Everything that was committed before this time is in the copy. */
  taken_at: Date;
  audit_position: number;
  /** The size of the tables on disk, from which the size of the copy can be guessed. */
  bytes: number;
  parts(): AsyncGenerator<CopyPart>;
  close(): Promise<void>;
};

type Table = { name: string; columns: string[] };
type Sequence = { name: string; last_value: string };
type Manifest = { migrations: string[]; tables: Table[]; sequences: Sequence[] };

const manifest_file = 'manifest.json';
const part_bytes = 4_194_304;

/** Reads as the owner, who must be a superuser: policies hide rows from others. */
export async function startTableCopy(owner: DatabaseAddress): Promise<TableCopy> {
  const session = await openSession(owner);
  try {
    const clock = await session.query<{ at: Date }>('SELECT clock_timestamp() AS at');
    await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const manifest = await readManifest(session);
    const { rows } = await session.query<{ position: string; bytes: string }>(`
      SELECT coalesce((SELECT position FROM audit_head), 0) AS position, pg_database_size(current_database()) AS bytes`);
    return {
      migrations: manifest.migrations,
      taken_at: clock.rows[0]?.at ?? new Date(),
      audit_position: Number(rows[0]?.position),
      bytes: Number(rows[0]?.bytes),
      parts: () => readParts(session, manifest),
      close: () => session.end(),
    };
  } catch (error) {
    await session.end();
    throw error;
  }
}

/**
 * Loads a copy from a folder into an empty database: creates the schema that the copy was made of, then inserts the rows.
 * Later migrations are applied by the next start.
 */
export async function loadTableCopy(owner: DatabaseAddress, folder: string): Promise<void> {
  // Written by readParts.
  const manifest: Manifest = JSON.parse(await readFile(join(folder, manifest_file), 'utf8'));
  await migrate(owner, { names: manifest.migrations });
  const session = await openSession(owner);
  try {
    // Neither foreign keys nor triggers: the tables come in any order, and rows in every state.
    await session.query('SET session_replication_role = replica');
    await session.query('BEGIN');
    await session.query(`TRUNCATE ${manifest.tables.map(({ name }) => pg.escapeIdentifier(name)).join()}`);
    for (const table of manifest.tables) {
      const target = session.query(
        copyFrom(`COPY ${pg.escapeIdentifier(table.name)} (${listColumns(table)}) FROM STDIN`),
      );
      await pipeline(Readable.from(readTable(join(folder, table.name))), target);
    }
    for (const { name, last_value } of manifest.sequences) {
      await session.query('SELECT setval($1::regclass, $2)', [pg.escapeIdentifier(name), last_value]);
    }
    await session.query('COMMIT');
  } finally {
    await session.end();
  }
}

async function openSession(owner: DatabaseAddress): Promise<pg.Client> {
  const session = new pg.Client({ ...owner, ssl: false });
  session.on('error', () => {});
  await session.connect();
  return session;
}

async function readManifest(session: pg.Client): Promise<Manifest> {
  const migrations = await session.query<{ name: string }>('SELECT name FROM schema_migrations ORDER BY name');
  const tables = await session.query<Table>(`
    SELECT table_name AS name, array_agg(column_name::text ORDER BY ordinal_position) AS columns
      FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND is_generated = 'NEVER'
       AND table_name <> 'schema_migrations'
     GROUP BY table_name ORDER BY table_name`);
  const sequences = await session.query<Sequence>(`
    SELECT sequencename AS name, last_value::text FROM pg_sequences
     WHERE schemaname = 'public' AND last_value IS NOT NULL`);
  return { migrations: migrations.rows.map(({ name }) => name), tables: tables.rows, sequences: sequences.rows };
}

async function* readParts(session: pg.Client, manifest: Manifest): AsyncGenerator<CopyPart> {
  yield toPart(manifest_file, [Buffer.from(JSON.stringify(manifest))]);
  for (const table of manifest.tables) {
    const text = `COPY (SELECT ${listColumns(table)} FROM ${pg.escapeIdentifier(table.name)}) TO STDOUT`;
    let [chunks, bytes, number]: [Buffer[], number, number] = [[], 0, 0];
    const next = () => {
      const part = toPart(`${table.name}/${String(number).padStart(8, '0')}`, chunks);
      [chunks, bytes, number] = [[], 0, number + 1];
      return part;
    };
    for await (const chunk of session.query(copyTo(text))) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= part_bytes) yield next();
    }
    yield next();
  }
}

function toPart(path: string, chunks: readonly Buffer[]): CopyPart {
  return { path, bytes: chunks.reduce((sum, { length }) => sum + length, 0), content: Readable.from(chunks) };
}

async function* readTable(folder: string): AsyncGenerator<Buffer> {
  for (const name of (await readdir(folder)).sort()) yield* createReadStream(join(folder, name));
}

function listColumns({ columns }: Table): string {
  return columns.map((name) => pg.escapeIdentifier(name)).join();
}
