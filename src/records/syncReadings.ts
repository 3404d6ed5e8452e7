import type { Tx } from '../db/database.ts';
import type { SyncScope } from './recordKind.ts';

/**
 * One reading of a list: all of it, or what changed since an instant. `from`: how far an earlier try of the same sync
 * came; `done`: to its end.
 */
export type Reading = { whole: boolean; since: string | undefined; from: string | undefined; done: boolean };

/** What is gone from an EMR shows only in a whole reading: each list gets one a day. */
const whole_hours = 24;
/** The EMR's clock and ours may differ, and what is stored at once comes to be seen one by one. */
const margin_minutes = 15;

/**
 * Begins to read a list, or takes up the reading that an earlier try of this sync has begun. A list is read as a whole
 * where that is asked for, where its last whole reading is a day old, and where it cannot be asked for less.
 */
export async function beginReading(
  tx: Tx,
  { client_id, organization_id, run }: SyncScope,
  kind: string,
  options: { incremental: boolean; whole: boolean },
): Promise<Reading> {
  const [begun] = await tx<{ whole: boolean; since: Date | null; through: string | null; done: boolean }[]>`
    SELECT whole, since, through, done FROM sync_readings
     WHERE organization_id = ${organization_id} AND kind = ${kind} AND run = ${run}`;
  if (begun) return { ...spanOf(begun), from: begun.through ?? undefined, done: begun.done };
  const wanted = options.whole || !options.incremental;
  const [next] = await tx<{ whole: boolean; since: Date | null }[]>`
    INSERT INTO sync_readings AS present (client_id, organization_id, kind, run, whole)
    VALUES (${client_id}, ${organization_id}, ${kind}, ${run}, true)
    ON CONFLICT (organization_id, kind) DO UPDATE SET run = excluded.run, began_at = now(), through = NULL, done = false,
      whole = ${wanted} OR present.whole_at IS NULL OR present.whole_at < now() - make_interval(hours => ${whole_hours}),
      since = present.read_at - make_interval(mins => ${margin_minutes})
    RETURNING whole, since`;
  if (!next) throw new Error('A reading that begins is always stored.');
  return { ...spanOf(next), from: undefined, done: false };
}

/** Remembers how far a reading came; null: that it has to begin anew. */
export async function noteThrough(tx: Tx, scope: SyncScope, kind: string, through: string | null): Promise<void> {
  await tx`UPDATE sync_readings SET through = ${through}
    WHERE organization_id = ${scope.organization_id} AND kind = ${kind} AND run = ${scope.run}`;
}

export async function endReading(tx: Tx, scope: SyncScope, kind: string): Promise<void> {
  await tx`UPDATE sync_readings SET done = true, read_at = began_at,
      whole_at = CASE WHEN whole THEN began_at ELSE whole_at END
    WHERE organization_id = ${scope.organization_id} AND kind = ${kind} AND run = ${scope.run}`;
}

/** The next sync reads every list as a whole: records that were passed over until now may not have changed since. */
export async function forgetReadings(tx: Tx, organization_id: string): Promise<void> {
  await tx`UPDATE sync_readings SET whole_at = NULL WHERE organization_id = ${organization_id}`;
}

function spanOf({ whole, since }: { whole: boolean; since: Date | null }) {
  return { whole, since: whole ? undefined : since?.toISOString() };
}
