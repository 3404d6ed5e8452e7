import type { LeftRecord } from '../../emr/operations/operation.ts';
import { event_types, events, type SyncEventOf } from '../../model/events.ts';
import { fold } from '../../model/fold.ts';
import type { Announced, RecordRow } from '../../model/records/recordKind.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { hasSyncEndpoint } from '../webhooks/endpoints.ts';
import { emitSyncEvents } from '../webhooks/events.ts';
import type { RemovedRow, StoredChange } from './storeRecords.ts';
import { type SyncedList, sync_type } from './syncPasses.ts';

/** The types of events about changes that staff made. */
const sync_types = event_types.filter((type) => 'sync_data' in events[type]);

/**
 * How a pass announces the changes that it stores: one event per record, in the transaction that stores the page, so that
 * a sync that broke off announces each change once.
 */
export type Announcement = {
  changed(tx: Tx, changes: readonly StoredChange[]): Promise<void>;
  /** `removed`: the stored rows of records that left the list. */
  left(tx: Tx, removed: readonly RemovedRow[], merges: Merges): Promise<void>;
};

/** The records of a page that were merged, and whether a patient is erased. */
export type Merges = { left: readonly LeftRecord[]; isErased: (row: Record<string, unknown>) => boolean };

/**
 * Undefined, which costs nothing, if no endpoint receives such events; if the list was never read to its end; and if it
 * was not read since the last restore, after which the stored records are older than those that were announced.
 */
export async function prepareAnnouncement(
  ctx: Pick<Context, 'telemetry'>,
  tx: Tx,
  list: SyncedList,
  account_id: string,
): Promise<Announcement | undefined> {
  const { announced } = list.kind;
  if (!announced || !(await announcesChanges(tx, list.organization_id))) return undefined;
  const [pass] = await tx<{ known: boolean }[]>`
    SELECT first_read_at IS NOT NULL AND NOT EXISTS (
             SELECT FROM restores WHERE restored_at > coalesce(synced_as_of, '-infinity')) AS known
      FROM sync_passes WHERE organization_id = ${list.organization_id} AND kind = ${list.kind.name}`;
  if (!pass?.known) return undefined;
  const origin = { client_id: list.client_id, account_id };
  return {
    changed: async (tx, changes) => announce(ctx, tx, origin, await findStaffChanges(tx, list, announced, changes)),
    left: async (tx, removed, merges) => announce(ctx, tx, origin, await findMerges(tx, list, removed, merges)),
  };
}

/** Whether an endpoint receives changes that staff of the organization made. */
export function announcesChanges(tx: Tx, organization_id: string): Promise<boolean> {
  return hasSyncEndpoint(tx, organization_id, sync_types);
}

/** Stores events about changes that staff made. The caller notifies `chartwire_deliveries` after the commit. */
export async function announce(
  ctx: Pick<Context, 'telemetry'>,
  tx: Tx,
  { client_id, account_id }: { client_id: string; account_id: string },
  staff_changes: readonly SyncEventOf[],
): Promise<void> {
  if (staff_changes.length === 0) return;
  const traceparent = ctx.telemetry.traceparent();
  await emitSyncEvents(
    tx,
    staff_changes.map((event) => ({ client_id, account_id, job_id: null, event, from_sync: true, traceparent })),
  );
}

/** The merges of stored records. A record that two merges moved on is announced with the one that remains. */
async function findMerges(
  tx: Tx,
  { kind, organization_id }: SyncedList,
  removed: readonly RemovedRow[],
  { left, isErased }: Merges,
): Promise<SyncEventOf[]> {
  const toEvent = kind.announced?.toMergedEvent;
  if (!toEvent || removed.length === 0) return [];
  const targets = new Map(left.map(({ ehr_id, merged_into }) => [ehr_id, merged_into]));
  const merges = removed.map(({ ehr_id, doc }) => {
    const passed = new Set([ehr_id]);
    let target = targets.get(ehr_id) ?? null;
    while (target !== null && targets.has(target) && !passed.has(target)) {
      passed.add(target);
      target = targets.get(target) ?? null;
    }
    return { doc, surviving_ehr_id: target !== null && isErased({ ehr_id: target }) ? null : target };
  });
  const surviving_ids = merges.map(({ surviving_ehr_id }) => surviving_ehr_id).filter((id) => id !== null);
  const surviving = await tx<RemovedRow[]>`SELECT ehr_id, doc FROM ${tx(kind.name)}
    WHERE organization_id = ${organization_id} AND ehr_id = ANY (${surviving_ids})`;
  const docs = new Map(surviving.map(({ ehr_id, doc }) => [ehr_id, doc]));
  return merges.map((merge) => toEvent({ ...merge, surviving: docs.get(merge.surviving_ehr_id ?? '') }));
}

async function findStaffChanges(
  tx: Tx,
  list: SyncedList,
  announced: Announced,
  changes: readonly StoredChange[],
): Promise<SyncEventOf[]> {
  const differing = changes
    .map((change) => ({ ...change, changed_fields: compare(announced, change) }))
    .filter(({ before, after, changed_fields }) => {
      const columns = before && announced.columns.some((name) => before[name] !== after[name]);
      return !before || columns || changed_fields.length > 0;
    });
  if (differing.length === 0) return [];
  const own = list.kind.written_by_us ? await readOwnWrites(tx, list.organization_id) : [];
  return differing.flatMap(({ ehr_id, before, after, changed_fields }) => {
    const remaining = changed_fields.filter((name) => !own.some((write) => hasWritten(write, after.doc, name)));
    if (before && remaining.length === 0 && changed_fields.length > 0) return [];
    if (!before && own.some((write) => hasCreated(announced, write, { ehr_id, doc: after.doc }))) return [];
    return announced.toEvent({ before, after, changed_fields: remaining }) ?? [];
  });
}

/** The fields that differ by meaning. What a write of ours stored was not read back: there, only the spelling may differ. */
function compare(announced: Announced, { before, after, unconfirmed }: StoredChange): string[] {
  if (!before) return [];
  const same = unconfirmed ? isSpelledAlike : isSame;
  const value = ({ doc }: RecordRow, name: string) => doc[name] ?? announced.absent?.[name] ?? null;
  return announced.fields.filter((name) => !same(value(before, name), value(after, name)));
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** With the keys of objects in order: some EMRs return them in any. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  );
}

function isSpelledAlike(a: unknown, b: unknown): boolean {
  return isSame(a, b) || spell(a) === spell(b);
}

function spell(value: unknown): string {
  if (value === null || value === undefined) return '';
  return fold(typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** A write that may be in the EMR although the stored records do not show it. */
export type OwnWrite = { type: string; input: Record<string, unknown>; open: boolean; ehr_ids: string[] };

/**
 * The writes that sent something to the EMR and whose end does not say what it has: unfinished ones, those that failed or
 * must be reviewed, and creations, whose record could not be read back.
 */
export async function readOwnWrites(tx: Tx, organization_id: string): Promise<OwnWrite[]> {
  return tx<OwnWrite[]>`
    SELECT operation.type, operation.input, job.state <> 'succeeded' AS open,
           ARRAY(SELECT detail ->> 'ehr_id' FROM job_steps WHERE job_id = job.id AND kind = 'outcome'
                    AND detail ->> 'ehr_id' IS NOT NULL) AS ehr_ids
      FROM jobs AS job JOIN operations AS operation ON operation.id = job.operation_id
     WHERE job.organization_id = ${organization_id} AND job.type <> ${sync_type}
       AND (job.state IN ('queued', 'running') OR job.finished_at > now() - interval '2 days')
       AND EXISTS (SELECT FROM job_steps WHERE job_id = job.id AND kind = 'intent')`;
}

function hasCreated(
  announced: Announced,
  { type, input, open, ehr_ids }: OwnWrite,
  { ehr_id, doc }: { ehr_id: string; doc: Record<string, unknown> },
): boolean {
  return ehr_ids.includes(ehr_id) || (open && announced.isOwn?.(type, input, doc) === true);
}

/** Whether a write whose end is not stored has sent this value of a field, for the same patient. */
function hasWritten({ input, open }: OwnWrite, doc: Record<string, unknown>, name: string): boolean {
  const mrn = input.mrn ?? input.patient_mrn;
  if (!open || (mrn !== doc.mrn && mrn !== doc.patient_mrn)) return false;
  return findValues(input, name).some((value) => isSpelledAlike(value, doc[name] ?? null));
}

/** The values of a field anywhere in an input. */
function findValues(input: unknown, name: string): unknown[] {
  if (typeof input !== 'object' || input === null) return [];
  return Object.entries(input).flatMap(([key, value]) => [
    ...(key === name ? [value] : []),
    ...findValues(value, name),
  ]);
}
