import { gunzipSync, gzipSync } from 'node:zlib';
import type { ExportBatch, ExportedRecords, ExportManifest } from '../../emr/bulkExports.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { Fragment, Query, Sql, Tx } from '../../platform/db/database.ts';
import { SealFailure } from '../../platform/security/seal.ts';
import type { Context } from '../context.ts';
import type { Scope } from './readRecords.ts';

/** An export that has not ended is in one of the first four states. */
export type ExportState = 'kicking_off' | 'running' | 'downloading' | 'reading' | 'done' | 'failed';

export type StoredExport = {
  account_id: string;
  /** Whether that account is linked, and its session has not expired. */
  account_active: boolean;
  target: string;
  types: string[];
  state: ExportState;
  /** The sync that started it. */
  run: number;
  /** Null: all records. */
  since: string | null;
  /** Until the next step is due; after the end, until the next export may start. */
  wait_ms: number;
  age_s: number;
  ended_s: number | null;
  errors_in_a_row: number;
  failures: number;
  status_url_sealed: Buffer | null;
  manifest_sealed: Buffer | null;
  files: number;
  files_done: number;
  chunks: number;
  names_deleted: boolean;
  partial: boolean;
  /** The EMR made the files from an older copy of its records, which may lack what has been written since. */
  outdated: boolean;
  last_as_of: string | null;
  last_types: string[] | null;
  /** How long ago the last export of all records started; null if there was none. */
  last_full_s: number | null;
};

export function isRunning({ state }: Pick<StoredExport, 'state'>): boolean {
  return state !== 'done' && state !== 'failed';
}

export async function readExport(tx: Tx, organization_id: string): Promise<StoredExport | undefined> {
  const [row] = await tx<StoredExport[]>`
    SELECT account_id, target, types, state, run, since, errors_in_a_row, failures, status_url_sealed, manifest_sealed,
           files, files_done, chunks, names_deleted, partial, last_as_of, last_types,
           coalesce((SELECT status = 'active' FROM accounts WHERE id = account_id), false) AS account_active,
           coalesce(as_of::timestamptz < started_at - make_interval(mins => ${clocks_minutes}), false) AS outdated,
           greatest(0, extract(epoch FROM next_at - now()) * 1000)::float8 AS wait_ms,
           extract(epoch FROM now() - started_at)::float8 AS age_s,
           extract(epoch FROM now() - ended_at)::float8 AS ended_s,
           extract(epoch FROM now() - last_full_at)::float8 AS last_full_s
      FROM bulk_exports WHERE organization_id = ${organization_id}`;
  return row;
}

/** How much the clocks of the EMR and of the database may differ. */
const clocks_minutes = 15;

/** Ends exports of the same for organizations without a linked account, which nobody would continue. */
export async function endAbandonedExports(tx: Tx, { organization_id, emr_address, target }: NewExport): Promise<void> {
  const abandoned = await tx<{ organization_id: string }[]>`
    SELECT organization_id FROM bulk_exports WHERE emr_address = ${emr_address} AND target = ${target}
       AND organization_id <> ${organization_id} AND ${running(tx)}
       AND NOT EXISTS (SELECT FROM accounts
         WHERE accounts.organization_id = bulk_exports.organization_id AND accounts.status = 'active')`;
  const end = { failure: 'No account of the practice is linked.', pause_ms: 0, counts: false };
  for (const each of abandoned) await failExport(tx, each.organization_id, end);
}

/** Whether an export of the same is prepared for another organization of the client at the same address. */
export async function isPreparedElsewhere(
  tx: Tx,
  { organization_id, emr_address, target }: NewExport,
): Promise<boolean> {
  const [row] = await tx`SELECT FROM bulk_exports WHERE emr_address = ${emr_address} AND target = ${target}
    AND organization_id <> ${organization_id} AND ${running(tx)}`;
  return row !== undefined;
}

export type NewExport = Scope & {
  account_id: string;
  emr_address: string;
  target: string;
  types: readonly string[];
  run: number;
  since: string | null;
  /** When a kick-off whose outcome stays unknown may be repeated. */
  repeat_ms: number;
};

/** Stores that an export is about to be requested. What the last one has read is kept. */
export async function addExport(tx: Tx, created: NewExport): Promise<void> {
  const { organization_id, client_id, account_id, emr_address, target, types, run, since, repeat_ms } = created;
  await tx`
    INSERT INTO bulk_exports AS present (organization_id, client_id, account_id, emr_address, target, types, run, since,
                                         state, started_at, next_at)
    VALUES (${organization_id}, ${client_id}, ${account_id}, ${emr_address}, ${target}, ${[...types]}, ${run}, ${since},
            'kicking_off', now(), ${after(tx, repeat_ms)})
    ON CONFLICT (organization_id) DO UPDATE SET account_id = excluded.account_id, emr_address = excluded.emr_address,
      target = excluded.target, types = excluded.types, run = excluded.run, since = excluded.since,
      state = excluded.state, started_at = excluded.started_at, next_at = excluded.next_at, ended_at = NULL,
      errors_in_a_row = 0, status_url_sealed = NULL, manifest_sealed = NULL, as_of = NULL, files = 0, files_done = 0,
      chunks = 0, names_deleted = false, partial = false, error_codes = '{}', failure = NULL`;
}

/** The only handle of the export: it is stored before anything else happens. */
export async function storeStatusUrl(
  ctx: Pick<Context, 'vault'>,
  tx: Tx,
  { client_id, organization_id }: Scope,
  { account_id, status_url, pause_ms }: { account_id: string; status_url: string; pause_ms: number },
): Promise<void> {
  const owner = { client_id, owner_id: account_id };
  const sealed = await ctx.vault.seal(tx, owner, bindings.status_url(organization_id), status_url);
  requireRunning(
    await tx`UPDATE bulk_exports SET state = 'running', status_url_sealed = ${sealed}, next_at = ${after(tx, pause_ms)}
      WHERE organization_id = ${organization_id} AND ${running(tx)}`,
  );
}

/** Undefined if its key was deleted with the account. */
export async function readStatusUrl(
  ctx: Pick<Context, 'vault'>,
  tx: Tx,
  organization_id: string,
  { status_url_sealed }: StoredExport,
): Promise<string | undefined> {
  return unsealIfKept(ctx, tx, status_url_sealed, bindings.status_url(organization_id));
}

/** Postpones the next step. `failed`: counts an error of the EMR; otherwise those so far are forgotten. */
export async function postponeExport(
  tx: Tx,
  organization_id: string,
  { pause_ms, failed }: { pause_ms: number; failed: boolean },
): Promise<void> {
  await tx`UPDATE bulk_exports SET next_at = ${after(tx, pause_ms)},
      errors_in_a_row = CASE WHEN ${failed} THEN errors_in_a_row + 1 ELSE 0 END
    WHERE organization_id = ${organization_id}`;
}

/** Stores which files there are. Also replaces the URLs of files that have expired. */
export async function storeManifest(
  ctx: Pick<Context, 'vault'>,
  tx: Tx,
  { client_id, organization_id }: Scope,
  { account_id, manifest }: { account_id: string; manifest: ExportManifest },
): Promise<void> {
  const owner = { client_id, owner_id: account_id };
  const sealed = await ctx.vault.seal(
    tx,
    owner,
    bindings.manifest(organization_id),
    compress(JSON.stringify(manifest)),
  );
  requireRunning(
    await tx`UPDATE bulk_exports SET state = 'downloading', manifest_sealed = ${sealed}, as_of = ${manifest.as_of},
        files = ${manifest.files.length}, names_deleted = ${manifest.names_deleted}, next_at = now(), errors_in_a_row = 0
      WHERE organization_id = ${organization_id} AND ${running(tx)}`,
  );
}

/** An account that is unlinked ends its export, also while a sync is storing a part of it. */
function requireRunning({ count }: { count: number }): void {
  if (count === 0) throw new EmrFailure('refused', 'The bulk export was ended while it was read.');
}

/** Undefined if its key was deleted with the account. */
export async function readManifest(
  ctx: Pick<Context, 'vault'>,
  tx: Tx,
  organization_id: string,
  { manifest_sealed }: StoredExport,
): Promise<ExportManifest | undefined> {
  const text = await unsealIfKept(ctx, tx, manifest_sealed, bindings.manifest(organization_id));
  // Sealed by storeManifest from a value of this type.
  return text === undefined ? undefined : JSON.parse(decompress(text));
}

async function unsealIfKept(
  ctx: Pick<Context, 'vault'>,
  tx: Tx,
  sealed: Buffer | null,
  binding: string,
): Promise<string | undefined> {
  if (sealed === null) return undefined;
  try {
    return await ctx.vault.unseal(tx, sealed, binding);
  } catch (error) {
    if (error instanceof SealFailure) return undefined;
    throw error;
  }
}

/** Deletes what an interrupted download has stored of a file. */
export async function removeFile(tx: Tx, organization_id: string, file: number): Promise<void> {
  const { count } =
    await tx`DELETE FROM bulk_export_chunks WHERE organization_id = ${organization_id} AND file >= ${file}`;
  await tx`UPDATE bulk_exports SET chunks = chunks - ${count} WHERE organization_id = ${organization_id}`;
}

export async function addBatch(
  ctx: Pick<Context, 'vault'>,
  tx: Tx,
  { client_id, organization_id }: Scope,
  { account_id, file, batch }: { account_id: string; file: number; batch: ExportBatch },
): Promise<void> {
  if (batch.holds === 'errors') return;
  const rows = await tx<{ n: number }[]>`UPDATE bulk_exports SET chunks = chunks + 1
    WHERE organization_id = ${organization_id} AND state = 'downloading' RETURNING chunks AS n`;
  requireRunning(rows);
  const n = rows[0]?.n ?? 0;
  const owner = { client_id, owner_id: account_id };
  const text = compress(batch.lines.join('\n'));
  const sealed = await ctx.vault.seal(tx, owner, bindings.chunk(organization_id, n), text);
  await tx`INSERT INTO bulk_export_chunks (organization_id, n, client_id, file, holds, type, lines_sealed)
    VALUES (${organization_id}, ${n}, ${client_id}, ${file}, ${batch.holds}, ${batch.type}, ${sealed})`;
}

/** The errors that a file of the EMR names are part of what the export has shown, once the file was read to its end. */
export async function finishFile(
  tx: Tx,
  organization_id: string,
  { file, codes, lacks_records }: { file: number; codes: ReadonlyMap<string, number>; lacks_records: boolean },
): Promise<void> {
  const counts = JSON.stringify(Object.fromEntries(codes));
  const stored =
    await tx`UPDATE bulk_exports SET files_done = ${file + 1}, errors_in_a_row = 0, partial = partial OR ${lacks_records},
      error_codes = (SELECT coalesce(jsonb_object_agg(code, total), '{}') FROM (
        SELECT key AS code, sum(value::int) AS total
          FROM (SELECT * FROM jsonb_each_text(error_codes) UNION ALL SELECT * FROM jsonb_each_text(${counts}::text::jsonb)) AS known
         GROUP BY key) AS totals)
    WHERE organization_id = ${organization_id} AND state = 'downloading'`;
  requireRunning(stored);
}

/** All files are stored: the lists are read from them. */
export async function startReading(tx: Tx, organization_id: string): Promise<void> {
  requireRunning(
    await tx`UPDATE bulk_exports SET state = 'reading', next_at = now()
      WHERE organization_id = ${organization_id} AND state = 'downloading'`,
  );
}

/** Whether all parts of the files are still there: the erasure of a patient deletes them. */
export async function hasAllChunks(tx: Tx, organization_id: string): Promise<boolean> {
  const [row] = await tx<{ complete: boolean }[]>`
    SELECT chunks = (SELECT count(*) FROM bulk_export_chunks AS chunk
                      WHERE chunk.organization_id = bulk_exports.organization_id) AS complete
      FROM bulk_exports WHERE organization_id = ${organization_id} AND state = 'reading'`;
  return row?.complete ?? false;
}

/** The files are downloaded again. */
export async function restartDownload(tx: Tx, organization_id: string): Promise<void> {
  await tx`DELETE FROM bulk_export_chunks WHERE organization_id = ${organization_id}`;
  requireRunning(
    await tx`UPDATE bulk_exports SET state = 'downloading', files_done = 0, chunks = 0, partial = false, error_codes = '{}'
      WHERE organization_id = ${organization_id} AND ${running(tx)}`,
  );
}

/** The lists were read: the files are deleted. Changes that were not stored are exported again. */
export async function completeExport(tx: Tx, organization_id: string, pause_ms: number): Promise<void> {
  await tx`DELETE FROM bulk_export_chunks WHERE organization_id = ${organization_id}`;
  await tx`UPDATE bulk_exports SET state = 'done', ended_at = now(), next_at = ${after(tx, pause_ms)}, failures = 0,
      manifest_sealed = NULL, last_types = types,
      last_as_of = CASE WHEN since IS NOT NULL AND (partial OR EXISTS (SELECT FROM sync_passes AS pass
          WHERE pass.organization_id = bulk_exports.organization_id AND pass.run = bulk_exports.run
            AND (NOT pass.done OR pass.skipped)))
        THEN last_as_of ELSE as_of END,
      last_full_at = CASE WHEN since IS NULL THEN started_at ELSE last_full_at END
    WHERE organization_id = ${organization_id} AND state = 'reading'`;
}

/** Ends an export that cannot be continued. `counts`: the next one waits longer each time. */
export async function failExport(
  tx: Tx,
  organization_id: string,
  { failure, pause_ms, counts }: { failure: string; pause_ms: number; counts: boolean },
): Promise<void> {
  await tx`DELETE FROM bulk_export_chunks WHERE organization_id = ${organization_id}`;
  await tx`UPDATE bulk_exports SET state = 'failed', ended_at = now(), next_at = ${after(tx, pause_ms)},
      manifest_sealed = NULL, failure = ${failure}, failures = CASE WHEN ${counts} THEN failures + 1 ELSE failures END
    WHERE organization_id = ${organization_id} AND ${running(tx)}`;
}

/** The exports of an account that is unlinked: its session ends. */
export async function failExportsOfAccount(tx: Tx, account_id: string): Promise<void> {
  const exports = await tx<{ organization_id: string }[]>`
    SELECT organization_id FROM bulk_exports WHERE account_id = ${account_id} AND ${running(tx)}`;
  const end = { failure: 'The account was unlinked.', pause_ms: 0, counts: false };
  for (const { organization_id } of exports) await failExport(tx, organization_id, end);
}

/** The EMR has ended the export, or does not respond for too long. */
export async function clearStatusUrl(tx: Tx, organization_id: string): Promise<void> {
  await tx`UPDATE bulk_exports SET status_url_sealed = NULL WHERE organization_id = ${organization_id}`;
}

/** Forgets the exports of an organization whose records were deleted. */
export async function deleteExport(tx: Tx, organization_id: string): Promise<void> {
  await tx`DELETE FROM bulk_exports WHERE organization_id = ${organization_id}`;
}

type DueExport = { id: string; client_id: string; account_id: string; org_id: string; connector: string };

/** Exports of any tenant whose next step is due. */
export function findDueExports(system: Sql): Promise<DueExport[]> {
  return system.pooled<DueExport[]>`
    SELECT organizations.id, organizations.client_id, bulk_exports.account_id, organizations.org_id, organizations.connector
      FROM bulk_exports JOIN organizations ON organizations.id = bulk_exports.organization_id
     WHERE ${running(system)} AND next_at <= now() ORDER BY next_at LIMIT 100`;
}

/** What people should know about the exports of an organization, for its connection reports. */
export type ExportFindings = { failure: string | null; error_codes: Record<string, number>; at: string };

/** A subquery that returns `ExportFindings` as JSON, or null. */
export function selectExportFindings(sql: Query, organization_id: Fragment): Fragment {
  return sql`(SELECT jsonb_build_object('failure', failure, 'error_codes', error_codes,
      'at', to_char(coalesce(ended_at, started_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'))
    FROM bulk_exports WHERE bulk_exports.organization_id = ${organization_id}
     AND (failure IS NOT NULL OR error_codes <> '{}'))`;
}

/** The stored files, which connectors read lists from. */
export function createExportedRecords(
  ctx: Pick<Context, 'db' | 'vault'>,
  { client_id, organization_id }: Scope,
): ExportedRecords {
  const requireRead = (type?: string) =>
    ctx.db.tenant(client_id, async (tx) => {
      const stored = await readExport(tx, organization_id);
      if (stored?.state !== 'reading' || (type !== undefined && !stored.types.includes(type))) {
        throw new EmrFailure('refused', 'The bulk export does not contain these records.', { code: 'not_supported' });
      }
      return stored;
    });
  async function* readChunks(holds: 'records' | 'deleted', type: string) {
    for (let n = 0; ; ) {
      const chunk = await ctx.db.tenant(client_id, async (tx) => {
        const [row] = await tx<{ n: number; lines_sealed: Buffer }[]>`
          SELECT n, lines_sealed FROM bulk_export_chunks WHERE organization_id = ${organization_id}
             AND holds = ${holds} AND type = ${type} AND n > ${n} ORDER BY n LIMIT 1`;
        if (row) {
          const text = await ctx.vault.unseal(tx, row.lines_sealed, bindings.chunk(organization_id, row.n));
          return { n: row.n, lines: decompress(text).split('\n') };
        }
        if (await hasAllChunks(tx, organization_id)) return undefined;
        throw new EmrFailure('unavailable', 'The files of the bulk export were deleted while they were read.');
      });
      if (!chunk) return;
      n = chunk.n;
      yield chunk;
    }
  }
  return {
    isPartial: async () => (await requireRead()).partial,
    read: async function* (type) {
      await requireRead(type);
      yield* readChunks('records', type);
    },
    readDeleted: async (type) => {
      const ids: string[] = [];
      for await (const { lines } of readChunks('deleted', type)) for (const id of lines) ids.push(id);
      return ids;
    },
  };
}

const bindings = {
  status_url: (organization_id: string) => `bulk_exports.status_url:${organization_id}`,
  manifest: (organization_id: string) => `bulk_exports.manifest:${organization_id}`,
  chunk: (organization_id: string, n: number) => `bulk_export_chunks.lines:${organization_id}:${n}`,
};

function running(sql: Query): Fragment {
  return sql`state IN ('kicking_off', 'running', 'downloading', 'reading')`;
}

function after(tx: Tx, pause_ms: number): Fragment {
  return tx`clock_timestamp() + ${pause_ms}::float8 * interval '1 millisecond'`;
}

/** NDJSON compresses to a tenth, sealed data does not. */
function compress(text: string): string {
  return gzipSync(text, { level: 3 }).toString('base64');
}

function decompress(text: string): string {
  return gunzipSync(Buffer.from(text, 'base64')).toString();
}
