import { createHash, createHmac } from 'node:crypto';
import { newId } from '../../catalog/ids.ts';
import type { Kind, KindName, SourceOf } from '../../model/records/kinds.ts';
import type { RecordKind, RecordRow } from '../../model/records/recordKind.ts';
import type { Fragment, Sql, Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { inactiveProviders } from './providers.ts';
import type { Scope } from './readRecords.ts';
import { prepareRowFunction } from './schedule.ts';
import { type Removals, type StoredList, type SyncedList, sync_lane } from './syncPasses.ts';

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
  isErased: (row: Record<string, unknown>) => boolean = () => false,
): Promise<{ skipped: boolean }> {
  const { kind } = list;
  const inactive = kind.active_providers_only ? await inactiveProviders(tx, list) : [];
  const sources = page.filter(({ provider_ehr_id = '' }) => !inactive.includes(provider_ehr_id));
  if (sources.length === 0) return { skipped: false };
  const createRow = await prepareRowFunction(tx, kind, list);
  const ehr_ids = sources.map((source) => source.ehr_id);
  const own_write = kind.written_by_us ? ['written_in'] : [];
  const present = await tx<PresentRow[]>`
    SELECT ${tx(['id', 'ehr_id', 'source_hash', ...own_write, ...kind.kept_columns])} FROM ${tx(kind.name)}
     WHERE organization_id = ${list.organization_id} AND ehr_id = ANY (${ehr_ids}) ORDER BY id FOR UPDATE`;
  const by_ehr_id = new Map(present.map((row) => [row.ehr_id, row]));

  const unchanged: string[] = [];
  const skipped: string[] = [];
  const changed = new Map<string, Record<string, unknown>>();
  for (const source of sources) {
    const stored = by_ehr_id.get(source.ehr_id);
    if (stored?.written_in === list.run) {
      skipped.push(stored.id);
      continue;
    }
    const id = stored?.id ?? newId();
    const row = createRow(source, id, stored);
    if (isErased({ ...row, ehr_id: source.ehr_id })) continue;
    const source_hash = hashRow(row);
    if (stored?.source_hash.equals(source_hash)) unchanged.push(stored.id);
    else changed.set(source.ehr_id, { ...row, ...storedColumns(list), id, ehr_id: source.ehr_id, source_hash });
  }
  if (skipped.length > 0) {
    await tx`UPDATE ${tx(kind.name)} SET seen_in = ${list.run} WHERE id = ANY (${skipped}::uuid[])`;
  }
  if (unchanged.length > 0) {
    const read_back = kind.written_by_us ? tx`, written_in = NULL` : tx``;
    await tx`UPDATE ${tx(kind.name)} SET seen_in = ${list.run} ${read_back} WHERE id = ANY (${unchanged}::uuid[])`;
  }
  const rows = [...changed.values()];
  if (rows.length > 0) await upsertRows(tx, kind, rows);
  return { skipped: skipped.length > 0 };
}

type PresentRow = {
  id: string;
  ehr_id: string;
  source_hash: Buffer;
  written_in?: number | null;
} & Record<string, unknown>;

async function upsertRows(tx: Tx, kind: Kind, rows: readonly Record<string, unknown>[]): Promise<void> {
  const [first = {}] = rows;
  const columns = Object.keys(first);
  const replaced = columns.filter((column) => !['id', 'client_id', 'organization_id', 'ehr_id'].includes(column));
  await tx`INSERT INTO ${tx(kind.name)} (${tx(columns)})
    SELECT ${tx(columns)} FROM json_populate_recordset(null::${tx(kind.name)}, ${tx.records(rows)})
    ON CONFLICT (organization_id, ehr_id) DO UPDATE SET
    ${replaced.flatMap((column, n) => [n === 0 ? tx`` : tx`, `, tx`${tx(column)} = excluded.${tx(column)}`])}
    WHERE ${tx(kind.name)}.id = excluded.id`;
}

/** Stores a record that a write of ours created, under the id that the client already has. */
export async function storeOwnRecord<K extends Kind>(
  tx: Tx,
  list: StoredList<K>,
  id: string,
  source: SourceOf<K> & SourceRecord,
): Promise<void> {
  const { kind, organization_id } = list;
  const { ehr_id } = source;
  const createRow = await prepareRowFunction(tx, kind, list);
  const row = createRow(source, id, undefined);
  await removeSyncedDuplicate(tx, list, { id, ehr_id });
  const stored = { ...row, ...storedColumns({ ...list, run: 0 }), id, ehr_id, source_hash: hashRow(row) };
  const columns = Object.keys(stored);
  await tx`INSERT INTO ${tx(kind.name)} (${tx(columns)})
    SELECT ${tx(columns)} FROM json_populate_recordset(null::${tx(kind.name)}, ${tx.records([stored])})
    ON CONFLICT (id) DO NOTHING`;
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
      AND lane = ${sync_lane} AND state IN ('queued', 'running') AND NOT parked)),
    written_in = coalesce((SELECT run FROM sync_passes
      WHERE organization_id = ${organization_id} AND kind = ${kind} AND NOT done), 0)`;
}

/**
 * Removes what the EMR no longer lists: what the running sync has not seen, which is only called after it has read the
 * full list to its end, or the `deleted` ones.
 */
export async function removeUnseen(tx: Tx, list: SyncedList, deleted?: readonly string[]): Promise<number> {
  const unseen = isUnseen(tx, list, await keptProviders(tx, list), deleted);
  const removed = await tx`DELETE FROM ${tx(list.kind.name)} WHERE ${unseen} RETURNING id`;
  return removed.length;
}

/** Removes records that the EMR still has but says are no longer part of the list. */
export async function removeLeft(tx: Tx, list: StoredList, ehr_ids: readonly string[]): Promise<void> {
  await tx`DELETE FROM ${tx(list.kind.name)}
    WHERE organization_id = ${list.organization_id} AND ehr_id = ANY (${[...ehr_ids]})`;
}

/** How many records are stored, and how many of them `removeUnseen` would remove. */
export async function countUnseen(tx: Tx, list: SyncedList, deleted?: readonly string[]): Promise<Removals> {
  const { kind, organization_id } = list;
  const unseen = isUnseen(tx, list, await keptProviders(tx, list), deleted);
  // Past ones leave a list of the coming weeks by themselves.
  const expected = kind.lists_future_only ? tx`starts_at >= now()` : tx`true`;
  const [row] = await tx<Removals[]>`SELECT count(*)::int AS stored,
      count(*) FILTER (WHERE ${unseen} AND ${expected})::int AS missing
    FROM ${tx(kind.name)} WHERE organization_id = ${organization_id} AND ehr_id IS NOT NULL`;
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
  deleted: readonly string[] | undefined,
): Fragment {
  const kept = kept_providers ? tx`provider_ehr_id <> ALL (${kept_providers})` : tx`true`;
  const synced = deleted ? tx`${kept} AND ehr_id = ANY (${[...deleted]})` : kept;
  return tx`organization_id = ${organization_id} AND seen_in < ${run} AND ehr_id IS NOT NULL AND ${synced}`;
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

/** Tells the planner about the records of a first sync (migration 0032), and about the suffixes of their names. */
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
