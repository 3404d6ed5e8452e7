import { createHash } from 'node:crypto';
import type { Listing, Operations } from '../connectors/connector.ts';
import type { Fragment, Tx } from '../db/database.ts';
import { newId } from '../ids.ts';
import { sync_lane } from './requestSync.ts';

/** Whose records a sync keeps, and which sync it is. */
export type SyncScope = { client_id: string; organization_id: string; run: number };

/** What a table row holds of one record. `doc` is the wire JSON as it is answered. */
export type RecordRow = { doc: Record<string, unknown> } & Record<string, unknown>;

/** A kind of record that the service keeps of an EMR: its table, where it comes from, and how a row is made of it. */
export type RecordKind<Source extends { ehr_id: string; provider_ehr_id?: string }, Found = undefined> = {
  table:
    | 'providers'
    | 'locations'
    | 'staff'
    | 'pharmacies'
    | 'patients'
    | 'insurance_providers'
    | 'referring_providers'
    | 'visit_types'
    | 'visit_statuses'
    | 'appointments'
    | 'schedule_blocks'
    | 'claims'
    | 'orders';
  list: (operations: Partial<Operations>) => Listing<Source> | undefined;
  /** Columns of the present row that `row` needs: what belongs to the service and outlives a sync. */
  keeps: readonly string[];
  /** EMR ids of the providers whose records a sync leaves as they are. */
  resting?: (tx: Tx, scope: SyncScope) => Promise<string[]>;
  /** Looked up once per page, for what a row takes from other tables. */
  lookup?: (tx: Tx, scope: SyncScope) => Promise<Found>;
  row: (source: Source, id: string, kept: Record<string, unknown> | undefined, found: Found) => RecordRow;
};

/**
 * Keeps one page of records: new ones are added, changed ones replaced, unchanged ones only marked as seen. What
 * makes a record changed is the content of its row, times left aside. A record that a write of ours has brought in
 * since the rows were looked up stays as that write left it: our document of it names another id.
 */
export async function keepPage<Source extends { ehr_id: string; provider_ehr_id?: string }, Found>(
  tx: Tx,
  kind: RecordKind<Source, Found>,
  scope: SyncScope,
  page: Source[],
): Promise<void> {
  const resting = (await kind.resting?.(tx, scope)) ?? [];
  const sources = page.filter(({ provider_ehr_id = '' }) => !resting.includes(provider_ehr_id));
  if (sources.length === 0) return;
  // A kind without a look-up is declared with nothing found.
  const found = (await kind.lookup?.(tx, scope)) as Found;
  const ehr_ids = sources.map((source) => source.ehr_id);
  const present = await tx<({ id: string; ehr_id: string; source_hash: Buffer } & Record<string, unknown>)[]>`
    SELECT ${tx(['id', 'ehr_id', 'source_hash', ...kind.keeps])} FROM ${tx(kind.table)}
     WHERE organization_id = ${scope.organization_id} AND ehr_id = ANY (${ehr_ids}) FOR UPDATE`;
  const by_ehr_id = new Map(present.map((row) => [row.ehr_id, row]));

  const same: string[] = [];
  const changed = new Map<string, Record<string, unknown>>();
  for (const source of sources) {
    const kept = by_ehr_id.get(source.ehr_id);
    const id = kept?.id ?? newId();
    const row = kind.row(source, id, kept, found);
    const source_hash = hashRow(row);
    if (kept?.source_hash.equals(source_hash)) same.push(kept.id);
    else changed.set(source.ehr_id, { ...row, ...scopeColumns(scope), id, ehr_id: source.ehr_id, source_hash });
  }
  if (same.length > 0) {
    await tx`UPDATE ${tx(kind.table)} SET seen_in = ${scope.run} WHERE id = ANY (${same}::uuid[])`;
  }
  const rows = [...changed.values()];
  const [first] = rows;
  if (!first) return;
  const columns = Object.keys(first);
  const replaced = columns.filter((column) => !['id', 'client_id', 'organization_id', 'ehr_id'].includes(column));
  await tx`INSERT INTO ${tx(kind.table)} (${tx(columns)})
    SELECT ${tx(columns)} FROM json_populate_recordset(null::${tx(kind.table)}, ${tx.records(rows)})
    ON CONFLICT (organization_id, ehr_id) DO UPDATE SET
    ${replaced.flatMap((column, n) => [n === 0 ? tx`` : tx`, `, tx`${tx(column)} = excluded.${tx(column)}`])}
    WHERE ${tx(kind.table)}.id = excluded.id`;
}

/**
 * Keeps a record that a write of ours has made, under the id that its client was given. A sync may have met it before:
 * then that row gives way. One that is under way does not take it for gone.
 */
export async function keepOwn<Source extends { ehr_id: string; provider_ehr_id?: string }, Found>(
  tx: Tx,
  kind: RecordKind<Source, Found>,
  of: Omit<SyncScope, 'run'>,
  id: string,
  source: Source,
): Promise<void> {
  const scope = { ...of, run: 0 };
  const row = kind.row(source, id, undefined, (await kind.lookup?.(tx, scope)) as Found);
  await removeTwin(tx, kind.table, of.organization_id, id, source.ehr_id);
  const stored = { ...row, ...scopeColumns(scope), id, ehr_id: source.ehr_id, source_hash: hashRow(row) };
  const columns = Object.keys(stored);
  await tx`INSERT INTO ${tx(kind.table)} (${tx(columns)})
    SELECT ${tx(columns)} FROM json_populate_recordset(null::${tx(kind.table)}, ${tx.records([stored])})
    ON CONFLICT (id) DO NOTHING`;
  await tx`UPDATE ${tx(kind.table)} SET seen_in = ${seenBySync(tx, of.organization_id)} WHERE id = ${id}`;
}

/** A sync may have met a record in the EMR before we could say that it is ours: then that row gives way. */
export async function removeTwin(
  tx: Tx,
  table: RecordKind<never>['table'],
  organization_id: string,
  id: string,
  ehr_id: string,
): Promise<void> {
  await tx`DELETE FROM ${tx(table)} WHERE organization_id = ${organization_id} AND ehr_id = ${ehr_id} AND id <> ${id}`;
}

/** The sync that is under way, so that it does not take a record for gone which it cannot have read. */
export function seenBySync(tx: Tx, organization_id: string): Fragment {
  return tx`greatest(seen_in, (SELECT max(id) FROM jobs WHERE organization_id = ${organization_id}
    AND lane = ${sync_lane} AND state IN ('queued', 'running') AND NOT parked))`;
}

/**
 * What the EMR no longer lists goes. Only called after the EMR's list was read to its end. Syncs have rising numbers,
 * and a write of ours marks its record with that of the sync under way, which may have read the list before the write.
 */
export async function removeUnseen(
  tx: Tx,
  { table, resting }: Pick<RecordKind<never>, 'table' | 'resting'>,
  scope: SyncScope,
): Promise<number> {
  const due = resting ? tx`provider_ehr_id <> ALL (${await resting(tx, scope)})` : tx`true`;
  const gone = await tx`DELETE FROM ${tx(table)} WHERE organization_id = ${scope.organization_id}
    AND seen_in < ${scope.run} AND ehr_id IS NOT NULL AND ${due} RETURNING id`;
  return gone.length;
}

/** How many records of the EMR's we hold. */
export async function countKept(tx: Tx, table: RecordKind<never>['table'], organization_id: string): Promise<number> {
  const [row] = await tx<{ total: number }[]>`SELECT count(*)::int AS total FROM ${tx(table)}
    WHERE organization_id = ${organization_id} AND ehr_id IS NOT NULL`;
  return row?.total ?? 0;
}

function scopeColumns(scope: SyncScope) {
  return { client_id: scope.client_id, organization_id: scope.organization_id, seen_in: scope.run };
}

function hashRow(row: RecordRow): Buffer {
  const { created_at: _created, updated_at: _updated, synced_at: _synced, ...content } = row.doc;
  return createHash('sha256')
    .update(JSON.stringify({ ...row, doc: content, created_at: undefined }))
    .digest();
}
