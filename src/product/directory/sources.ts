import { newId } from '../../catalog/ids.ts';
import type { Fragment, Query, Sql } from '../../platform/db/database.ts';

/** A list of practices that an operator imported. */
export type DirectorySource = {
  id: string;
  name: string;
  /** Null for a file. */
  url: string | null;
  practices: number;
  imported_at: Date | null;
  next_read_at: Date | null;
  failing_since: Date | null;
  failure: string | null;
  held_missing: number | null;
  held_stored: number | null;
};

/** An import in progress. `run` numbers the imports of a source. */
export type Import = {
  id: string;
  source_id: string;
  name: string;
  url: string | null;
  etag: string | null;
  run: number;
};

/** Longer than downloading and reading a large list takes. It is extended by every batch that is stored. */
const import_minutes = 30;
const days_between_reads = 7;
const hours_after_failure = 6;

export function listSources(sql: Query): Promise<DirectorySource[]> {
  return sql<DirectorySource[]>`
    SELECT id, name, url, imported_at, next_read_at, failing_since, failure, held_missing, held_stored,
           (SELECT count(*)::int FROM practices WHERE source_id = directory_sources.id) AS practices
      FROM directory_sources ORDER BY name`;
}

/** Starts an import, of a new source too. Undefined if another process imports the same source. */
export async function startImport(sql: Sql, name: string, url: string | null): Promise<Import | undefined> {
  await sql.pooled`INSERT INTO directory_sources (id, name, url) VALUES (${newId()}, ${name}, ${url})
    ON CONFLICT (name) DO NOTHING`;
  return claim(sql, sql`name = ${name}`);
}

/** Starts the import of a URL that is due. Undefined if there is none. */
export function startDueImport(sql: Sql): Promise<Import | undefined> {
  return claim(
    sql,
    sql`id = (
    SELECT id FROM directory_sources WHERE next_read_at <= now() AND coalesce(importing_until <= now(), true)
     ORDER BY next_read_at LIMIT 1 FOR UPDATE SKIP LOCKED)`,
  );
}

async function claim(sql: Sql, condition: Fragment): Promise<Import | undefined> {
  const [row] = await sql.pooled<Import[]>`
    UPDATE directory_sources SET run = run + 1, import_id = ${newId()},
        importing_until = now() + make_interval(mins => ${import_minutes})
     WHERE ${condition} AND coalesce(importing_until <= now(), true)
    RETURNING import_id AS id, id AS source_id, name, url, etag, run`;
  return row;
}

/** Keeps the import for this process. Throws if another one has taken it over. */
export async function extendImport(tx: Query, { id, source_id }: Import): Promise<void> {
  const [row] = await tx`UPDATE directory_sources SET importing_until = now() + make_interval(mins => ${import_minutes})
    WHERE id = ${source_id} AND import_id = ${id} RETURNING 1`;
  if (!row) throw new Error('The import was taken over by another process.');
}

type Held = { missing: number; stored: number };

/** Ends an import. */
export async function finishImport(
  sql: Query,
  { id, source_id }: Import,
  { etag, held_back }: { etag: string | null; held_back: Held | undefined },
): Promise<void> {
  await sql`UPDATE directory_sources SET import_id = NULL, importing_until = NULL, imported_at = now(), etag = ${etag},
      failing_since = NULL, failure = NULL, held_missing = ${held_back?.missing ?? null},
      held_stored = ${held_back?.stored ?? null}, next_read_at = ${nextRead(sql)}
    WHERE id = ${source_id} AND import_id = ${id}`;
}

/** Ends an import of a URL that has not changed. `last_seen` of its practices stays the time of the last import that read them. */
export async function finishUnchanged(sql: Query, { id, source_id }: Import): Promise<void> {
  await sql`UPDATE directory_sources SET import_id = NULL, importing_until = NULL, failing_since = NULL, failure = NULL,
      next_read_at = ${nextRead(sql)}
    WHERE id = ${source_id} AND import_id = ${id}`;
}

/** Ends an import that failed. The practices of earlier imports stay; a source without any is dropped again. */
export async function failImport(sql: Query, { id, source_id }: Import, failure: string): Promise<void> {
  await sql`UPDATE directory_sources SET import_id = NULL, importing_until = NULL, failure = ${failure},
      failing_since = coalesce(failing_since, now()),
      next_read_at = CASE WHEN url IS NOT NULL THEN now() + make_interval(hours => ${hours_after_failure}) * (0.9 + 0.2 * random()) END
    WHERE id = ${source_id} AND import_id = ${id}`;
  await sql`DELETE FROM directory_sources WHERE id = ${source_id} AND imported_at IS NULL AND import_id IS NULL
    AND NOT EXISTS (SELECT FROM practices WHERE source_id = directory_sources.id)`;
}

/** Returns whether there was a source with this name. Its practices are deleted with it. */
export async function removeSource(sql: Query, name: string): Promise<boolean> {
  const rows = await sql`DELETE FROM directory_sources WHERE name = ${name} RETURNING 1`;
  return rows.length > 0;
}

/** Spread out, so that installations do not read a vendor's list at the same time. */
function nextRead(sql: Query): Fragment {
  return sql`CASE WHEN url IS NOT NULL THEN now() + make_interval(days => ${days_between_reads}) * (0.9 + 0.2 * random()) END`;
}
