import { createHash, createHmac } from 'node:crypto';
import { newId } from '../../catalog/ids.ts';
import type { ListWindow } from '../../emr/operations/operation.ts';
import type { Kind, KindName, SourceOf } from '../../model/records/kinds.ts';
import type { RecordKind, RecordRow } from '../../model/records/recordKind.ts';
import type { Fragment, Sql, Tx } from '../../platform/db/database.ts';
import { addDays } from '../../platform/time/days.ts';
import type { Context } from '../context.ts';
import { inactiveProviders } from './providers.ts';
import type { Scope } from './readRecords.ts';
import { prepareRowFunction } from './schedule.ts';
import { type Removals, type StoredList, type SyncedList, sync_lane } from './syncPasses.ts';

export type StoreOptions = {
  isErased?: ((row: Record<string, unknown>) => boolean) | undefined;
  /** Called with what changed, in the same transaction. */
  announce?: ((tx: Tx, changes: readonly StoredChange[]) => Promise<void>) | undefined;
  /**
   * The page was read outside of the sync `list.run`, after this snapshot was taken (refreshRecords.ts). Rows that were
   * stored since are left as they are; those that are not replaced stay unseen and unconfirmed by the sync.
   */
  snapshot?: string | undefined;
};

/** A record that a sync stored, as it was and as it is. */
export type StoredChange = {
  ehr_id: string;
  before: RecordRow | undefined;
  after: RecordRow;
  /** A write of ours stored the row before, and no sync has read the record since. */
  unconfirmed: boolean;
};

/** A record of any kind as a connector returns it, with what its storing depends on. */
export type SourceRecord = { ehr_id: string; provider_ehr_id?: string; mrn?: string | null };

/**
 * Stores one page of a sync: inserts new records, replaces changed ones and marks unchanged ones as seen. Whether a
 * record changed is decided by a hash of its row without timestamps. A record that a write of ours created after the rows
 * were read is left as it is: the two rows have different ids. So is one that a write of ours stored while this pass was
 * in progress: the page may have been read before it, and would undo it here until the next sync. Such a record counts as
 * seen, and the next pass reads it again. Rows of erased patients are left out. Returns whether a record was left as it is.
 */
export async function storePage(
  tx: Tx,
  list: SyncedList,
  page: readonly SourceRecord[],
  { isErased = () => false, announce, snapshot }: StoreOptions = {},
): Promise<{ skipped: boolean }> {
  const { kind } = list;
  const inactive = kind.active_providers_only ? await inactiveProviders(tx, list) : [];
  const sources = page.filter(({ provider_ehr_id = '' }) => !inactive.includes(provider_ehr_id));
  if (sources.length === 0) return { skipped: false };
  const createRow = await prepareRowFunction(tx, kind, list);
  const ehr_ids = sources.map((source) => source.ehr_id);
  const own_write = kind.written_by_us ? ['written_in'] : [];
  const compared = announce && kind.announced ? ['doc', ...kind.announced.columns] : [];
  const present = await tx<PresentRow[]>`
    SELECT ${tx(['id', 'ehr_id', 'source_hash', ...own_write, ...kind.kept_columns, ...compared])}, ${isNewer(tx, snapshot)}
      FROM ${tx(kind.name)}
     WHERE organization_id = ${list.organization_id} AND ehr_id = ANY (${ehr_ids}) ORDER BY id FOR UPDATE`;
  const by_ehr_id = new Map(present.map((row) => [row.ehr_id, row]));

  const unchanged: string[] = [];
  const skipped: string[] = [];
  const changed = new Map<string, Record<string, unknown>>();
  const changes: StoredChange[] = [];
  for (const source of sources) {
    const stored = by_ehr_id.get(source.ehr_id);
    if (stored && (snapshot === undefined ? stored.written_in === list.run : stored.newer)) {
      skipped.push(stored.id);
      continue;
    }
    const id = stored?.id ?? newId();
    const row = createRow(source, id, stored);
    if (isErased({ ...row, ehr_id: source.ehr_id })) continue;
    const source_hash = hashRow(row);
    if (stored?.source_hash.equals(source_hash)) {
      unchanged.push(stored.id);
      continue;
    }
    if (announce) {
      const unconfirmed = (stored?.written_in ?? null) !== null;
      changes.push({ ehr_id: source.ehr_id, before: stored as RecordRow | undefined, after: row, unconfirmed });
    }
    changed.set(source.ehr_id, { ...row, ...storedColumns(list), id, ehr_id: source.ehr_id, source_hash });
  }
  if (skipped.length > 0 && snapshot === undefined) {
    await tx`UPDATE ${tx(kind.name)} SET seen_in = ${list.run} WHERE id = ANY (${skipped}::uuid[])`;
  }
  if (unchanged.length > 0 && snapshot === undefined) {
    const read_back = kind.written_by_us ? tx`, written_in = NULL` : tx``;
    await tx`UPDATE ${tx(kind.name)} SET seen_in = ${list.run} ${read_back} WHERE id = ANY (${unchanged}::uuid[])`;
  }
  const rows = [...changed.values()];
  const stored_ids = rows.length > 0 ? await upsertRows(tx, kind, rows) : new Set<string>();
  // The running sync may have read these records before.
  if (snapshot !== undefined && kind.written_by_us && stored_ids.size > 0) {
    await tx`UPDATE ${tx(kind.name)} SET written_in = ${runningPass(tx, kind.name, list.organization_id)}
      WHERE organization_id = ${list.organization_id} AND ehr_id = ANY (${[...stored_ids]})`;
  }
  // A write of ours may have stored one of them in the meantime, under another id.
  if (announce)
    await announce(
      tx,
      changes.filter(({ ehr_id }) => stored_ids.has(ehr_id)),
    );
  return { skipped: skipped.length > 0 };
}

type PresentRow = {
  id: string;
  ehr_id: string;
  source_hash: Buffer;
  written_in?: number | null;
  newer: boolean;
} & Record<string, unknown>;

/**
 * Whether a row was stored after the snapshot; false without one. A row has the lower 32 bits of its transaction id. The
 * others follow from the current one, to which a million is added because the row may be newer than this statement.
 */
function isNewer(tx: Tx, snapshot: string | undefined): Fragment {
  if (snapshot === undefined) return tx`false AS newer`;
  const latest = tx`(pg_snapshot_xmax(pg_current_snapshot())::text::numeric + 1000000)`;
  const behind = tx`mod(${latest} - xmin::text::numeric + 4294967296, 4294967296)`;
  return tx`NOT pg_visible_in_snapshot(greatest(${latest} - ${behind}, 3)::text::xid8, ${snapshot}::text::pg_snapshot) AS newer`;
}

/** Returns the EMR ids of the rows that were stored. */
async function upsertRows(tx: Tx, kind: Kind, rows: readonly Record<string, unknown>[]): Promise<Set<string>> {
  const [first = {}] = rows;
  const columns = Object.keys(first);
  const upserted = await tx<{ ehr_id: string }[]>`INSERT INTO ${tx(kind.name)} (${tx(columns)})
    SELECT ${tx(columns)} FROM json_populate_recordset(null::${tx(kind.name)}, ${tx.records(rows)})
    ON CONFLICT (organization_id, ehr_id) DO UPDATE SET ${replaceColumns(tx, columns)}
    WHERE ${tx(kind.name)}.id = excluded.id RETURNING ehr_id`;
  return new Set(upserted.map(({ ehr_id }) => ehr_id));
}

/** The assignments of an upsert: all columns but those by which the row was found. */
function replaceColumns(tx: Tx, columns: readonly string[]): Fragment {
  return columns
    .filter((column) => !['id', 'client_id', 'organization_id'].includes(column))
    .map((column) => tx`${tx(column)} = excluded.${tx(column)}`)
    .reduce((all, each) => tx`${all}, ${each}`);
}

/**
 * Stores a record that a write of ours created, under the id that the client already has. It replaces the pending one, if
 * there is one.
 */
export async function storeOwnRecord<K extends Kind>(
  tx: Tx,
  list: StoredList<K>,
  id: string,
  source: SourceOf<K> & SourceRecord,
): Promise<void> {
  const { kind, organization_id } = list;
  const { ehr_id } = source;
  const createRow = await prepareRowFunction(tx, kind, list);
  const [pending] =
    await tx`SELECT ${tx(['id', ...kind.kept_columns])} FROM ${tx(kind.name)} WHERE id = ${id} FOR UPDATE`;
  const row = createRow(source, id, pending);
  await removeSyncedDuplicate(tx, list, { id, ehr_id });
  const stored = { ...row, ...storedColumns({ ...list, run: 0 }), id, ehr_id, source_hash: hashRow(row) };
  const columns = Object.keys(stored);
  await tx`INSERT INTO ${tx(kind.name)} (${tx(columns)})
    SELECT ${tx(columns)} FROM json_populate_recordset(null::${tx(kind.name)}, ${tx.records([stored])})
    ON CONFLICT (id) DO UPDATE SET ${replaceColumns(tx, columns)}`;
  await tx`UPDATE ${tx(kind.name)} SET ${markWritten(tx, kind.name, organization_id)} WHERE id = ${id}`;
}

/** A sync may have read our record from the EMR before we stored its EMR id. The row it added is removed. */
export async function removeSyncedDuplicate(
  tx: Tx,
  { kind, organization_id }: StoredList,
  { id, ehr_id }: { id: string; ehr_id: string },
): Promise<void> {
  await tx`DELETE FROM ${tx(kind.name)} WHERE organization_id = ${organization_id} AND ehr_id = ${ehr_id} AND id <> ${id}`;
}

/**
 * Marks a record as stored by a write of ours: the running sync neither removes it, because it may not have read it, nor
 * replaces it with what it read before. A pass that starts later has another run, and reads the EMR after our write.
 */
export function markWritten(tx: Tx, kind: KindName, organization_id: string): Fragment {
  return tx`seen_in = greatest(seen_in, (SELECT max(id) FROM jobs WHERE organization_id = ${organization_id}
      AND lane = ${sync_lane} AND state IN ('queued', 'running') AND NOT parked), ${runningPass(tx, kind, organization_id)}),
    written_in = coalesce(${runningPass(tx, kind, organization_id)}, 0)`;
}

/** The run of the sync that is reading the list; null if none is. */
function runningPass(tx: Tx, kind: KindName, organization_id: string): Fragment {
  return tx`(SELECT run FROM sync_passes WHERE organization_id = ${organization_id} AND kind = ${kind} AND NOT done)`;
}

/** Which of the records that a sync has not seen are missing: the `deleted` ones, those of a `window`, or all. */
export type Missing = { deleted?: readonly string[] | undefined; window?: ListWindow | undefined };

/**
 * Removes what the EMR no longer lists: what the running sync has not seen, which is only called after it has read the
 * full list, or the window, to its end, or the `deleted` ones.
 */
export async function removeUnseen(tx: Tx, list: SyncedList, missing: Missing = {}): Promise<number> {
  const unseen = isUnseen(tx, list, await keptProviders(tx, list), missing);
  const removed = await tx`DELETE FROM ${tx(list.kind.name)} WHERE ${unseen} RETURNING id`;
  return removed.length;
}

/** Removes records that the EMR still has but says are no longer part of the list. Returns those that were stored. */
export async function removeLeft(tx: Tx, list: StoredList, ehr_ids: readonly string[]): Promise<RemovedRow[]> {
  return tx<RemovedRow[]>`DELETE FROM ${tx(list.kind.name)}
    WHERE organization_id = ${list.organization_id} AND ehr_id = ANY (${[...ehr_ids]}) RETURNING ehr_id, doc`;
}

export type RemovedRow = { ehr_id: string; doc: Record<string, unknown> };

/** How many records are stored, and how many of them `removeUnseen` would remove. */
export async function countUnseen(tx: Tx, list: SyncedList, missing: Missing = {}): Promise<Removals> {
  const { kind, organization_id } = list;
  const unseen = isUnseen(tx, list, await keptProviders(tx, list), missing);
  // Past ones leave a list of the coming weeks by themselves.
  const expected = kind.lists_future_only ? tx`starts_at >= now()` : tx`true`;
  const [row] = await tx<Removals[]>`SELECT count(*)::int AS stored,
      count(*) FILTER (WHERE ${unseen} AND ${expected})::int AS missing
    FROM ${tx(kind.name)} WHERE organization_id = ${organization_id} AND ehr_id IS NOT NULL
      AND ${isInWindow(tx, missing.window)}`;
  if (!row) throw new Error('An aggregate returned no row.');
  return row;
}

/** The providers whose records of this kind a sync leaves alone. */
function keptProviders(tx: Tx, list: StoredList): Promise<string[]> | undefined {
  return list.kind.active_providers_only ? inactiveProviders(tx, list) : undefined;
}

function isUnseen(
  tx: Tx,
  { organization_id, run }: SyncedList,
  kept_providers: string[] | undefined,
  { deleted, window }: Missing,
): Fragment {
  const kept = kept_providers ? tx`provider_ehr_id <> ALL (${kept_providers})` : tx`true`;
  const synced = deleted ? tx`${kept} AND ehr_id = ANY (${[...deleted]})` : kept;
  return tx`organization_id = ${organization_id} AND seen_in < ${run} AND ehr_id IS NOT NULL AND ${synced}
    AND ${isInWindow(tx, window)}`;
}

/**
 * Only kinds with `starts_at` are read by days. The first and the last one are left out, because the EMR's days may be
 * those of another time zone.
 */
function isInWindow(tx: Tx, window: ListWindow | undefined): Fragment {
  if (!window) return tx`true`;
  const [from, to] = [`${addDays(window.from, 1)}T00:00:00Z`, `${window.to}T00:00:00Z`];
  const { owners } = window;
  const owned = owners ? tx`${tx(owners.column)} = ANY (${[...owners.ehr_ids]})` : tx`true`;
  return tx`starts_at >= ${from}::timestamptz AND starts_at < ${to}::timestamptz AND ${owned}`;
}

/** Deletes all records of a kind. */
export async function deleteRecords(tx: Tx, kind: Kind, organization_id: string): Promise<number> {
  const { count } = await tx`DELETE FROM ${tx(kind.name)} WHERE organization_id = ${organization_id}`;
  return count;
}

/** The EMR ids of the stored records. */
export async function listEhrIds(tx: Tx, kind: Kind, organization_id: string): Promise<string[]> {
  const rows = await tx<{ ehr_id: string }[]>`SELECT ehr_id FROM ${tx(kind.name)}
    WHERE organization_id = ${organization_id} AND ehr_id IS NOT NULL`;
  return rows.map(({ ehr_id }) => ehr_id);
}

/** The number of stored records that exist in the EMR. */
export async function countStored(tx: Tx, kind: Kind, organization_id: string): Promise<number> {
  const [row] = await tx<{ total: number }[]>`SELECT count(*)::int AS total FROM ${tx(kind.name)}
    WHERE organization_id = ${organization_id} AND ehr_id IS NOT NULL`;
  return row?.total ?? 0;
}

/** Tells the planner about the records of a first sync (`analyze_records`), and about the suffixes of their names. */
export async function analyzeRecords({ pooled: sql }: Sql, kind: RecordKind): Promise<void> {
  const named = Object.values(kind.filters).some(({ match }) => match === 'contains');
  for (const table of named ? [kind.name, 'name_suffixes'] : [kind.name]) {
    await sql`SELECT analyze_records(${table})`;
  }
}

/** The columns of a row that a sync stores. */
function storedColumns({ client_id, organization_id, kind, run }: SyncedList) {
  return { client_id, organization_id, seen_in: run, ...(kind.written_by_us && { written_in: null }) };
}

function hashRow(row: RecordRow): Buffer {
  const { created_at: _created, updated_at: _updated, synced_at: _synced, ...content } = row.doc;
  return createHash('sha256')
    .update(JSON.stringify({ ...row, doc: content, created_at: undefined }))
    .digest();
}

type PatientIds = { ehr_id?: string | null; mrn?: string | null };

/** Remembers an erased patient by keyed hashes of the MRN and the EMR's id, so that syncs skip it. */
export async function addErasedPatient(
  ctx: Pick<Context, 'system_keys'>,
  tx: Tx,
  { client_id, organization_id }: Scope,
  patient: PatientIds,
): Promise<void> {
  const hashes = hashIds(ctx, organization_id, patient);
  await tx`INSERT INTO erased_patients (organization_id, patient_hash, client_id)
    SELECT ${organization_id}, hash, ${client_id} FROM unnest(${hashes}::bytea[]) AS hash ON CONFLICT DO NOTHING`;
}

/** Whether a patient with this MRN was erased, and is not stored again. */
export async function isErasedPatient(
  ctx: Pick<Context, 'db' | 'system_keys'>,
  { client_id, organization_id }: Scope,
  mrn: string,
): Promise<boolean> {
  const [hash = Buffer.alloc(0)] = hashIds(ctx, organization_id, { mrn });
  const rows = await ctx.db.read(
    client_id,
    (sql) => sql`SELECT organization_id FROM erased_patients
      WHERE organization_id = ${organization_id} AND patient_hash = ${hash}`,
  );
  return rows.length > 0;
}

/**
 * Tells which rows of a kind are about erased patients. The organization is locked first: an erasure waits for the pages
 * that are being stored, and later pages see its result. The MRN of a patient may have changed since the erasure, and
 * other records name patients by MRN only: the `page` of patients shows the new one, which is remembered too.
 */
export async function findErased(
  ctx: Pick<Context, 'system_keys'>,
  tx: Tx,
  list: StoredList,
  page: readonly PatientIds[] = [],
): Promise<(row: Record<string, unknown>) => boolean> {
  const { kind, organization_id } = list;
  const { mrn_column } = kind;
  if (mrn_column === undefined) return () => false;
  await tx`SELECT FROM organizations WHERE id = ${organization_id} FOR KEY SHARE`;
  const erased = await tx<{ patient_hash: Buffer }[]>`
    SELECT patient_hash FROM erased_patients WHERE organization_id = ${organization_id}`;
  if (erased.length === 0) return () => false;
  const hashes = new Set(erased.map(({ patient_hash }) => patient_hash.toString('hex')));
  const isKnown = (ids: PatientIds) =>
    hashIds(ctx, organization_id, ids).some((hash) => hashes.has(hash.toString('hex')));
  for (const { ehr_id = null, mrn = null } of kind.name === 'patients' ? page : []) {
    if (!isKnown({ ehr_id }) || isKnown({ mrn })) continue;
    await addErasedPatient(ctx, tx, list, { mrn });
    for (const hash of hashIds(ctx, organization_id, { mrn })) hashes.add(hash.toString('hex'));
  }
  return (row) => {
    const [mrn, ehr_id] = [row[mrn_column], kind.name === 'patients' ? row.ehr_id : null];
    return isKnown({ mrn: typeof mrn === 'string' ? mrn : null, ehr_id: typeof ehr_id === 'string' ? ehr_id : null });
  };
}

function hashIds({ system_keys }: Pick<Context, 'system_keys'>, organization_id: string, ids: PatientIds): Buffer[] {
  return (['mrn', 'ehr_id'] as const).flatMap((name) => {
    const value = ids[name];
    if (!value) return [];
    return [createHmac('sha256', system_keys.key('erasure')).update(`${organization_id}|${name}|${value}`).digest()];
  });
}
