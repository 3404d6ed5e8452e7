import type { Tx } from '../db/database.ts';
import type { Scope } from './readRecords.ts';

/** `run` is the job id of the sync. Later syncs have higher ids. */
export type SyncScope = Scope & { run: number };

/**
 * One pass over a list: all records (`full`), or those changed since an instant. `from` is how far an earlier attempt of
 * the same sync got; `done` means that it got to the end.
 */
export type Pass = { full: boolean; since: string | undefined; from: string | undefined; done: boolean };

/** Deletions in the EMR only show in a full pass, so each list gets one a day. */
const full_pass_hours = 24;
/** Clocks differ, and records that an EMR stores together become visible one by one. */
const overlap_minutes = 15;

/**
 * Starts a pass over a list, or resumes the one that an earlier attempt of this sync started. The pass is full if that
 * is requested, if the last full one is a day old, or if the EMR cannot list changes alone.
 */
export async function startPass(
  tx: Tx,
  { client_id, organization_id, run }: SyncScope,
  kind: string,
  options: { incremental: boolean; full: boolean },
): Promise<Pass> {
  const [started] = await tx<{ whole: boolean; since: Date | null; through: string | null; done: boolean }[]>`
    SELECT whole, since, through, done FROM sync_readings
     WHERE organization_id = ${organization_id} AND kind = ${kind} AND run = ${run}`;
  if (started) return { ...rangeOf(started), from: started.through ?? undefined, done: started.done };
  const full = options.full || !options.incremental;
  const [next] = await tx<{ whole: boolean; since: Date | null }[]>`
    INSERT INTO sync_readings AS present (client_id, organization_id, kind, run, whole)
    VALUES (${client_id}, ${organization_id}, ${kind}, ${run}, true)
    ON CONFLICT (organization_id, kind) DO UPDATE SET run = excluded.run, began_at = now(), through = NULL, done = false,
      whole = ${full} OR present.whole_at IS NULL
        OR present.whole_at < now() - make_interval(hours => ${full_pass_hours}),
      since = present.read_at - make_interval(mins => ${overlap_minutes})
    RETURNING whole, since`;
  if (!next) throw new Error('The upsert of sync_readings returned no row.');
  return { ...rangeOf(next), from: undefined, done: false };
}

/** Saves how far a pass got. Null: it must start over. */
export async function saveProgress(tx: Tx, scope: SyncScope, kind: string, through: string | null): Promise<void> {
  await tx`UPDATE sync_readings SET through = ${through}
    WHERE organization_id = ${scope.organization_id} AND kind = ${kind} AND run = ${scope.run}`;
}

export async function finishPass(tx: Tx, scope: SyncScope, kind: string): Promise<void> {
  await tx`UPDATE sync_readings SET done = true, read_at = began_at,
      whole_at = CASE WHEN whole THEN began_at ELSE whole_at END
    WHERE organization_id = ${scope.organization_id} AND kind = ${kind} AND run = ${scope.run}`;
}

/** Makes the next pass over every list a full one. */
export async function requireFullSync(tx: Tx, organization_id: string): Promise<void> {
  await tx`UPDATE sync_readings SET whole_at = NULL WHERE organization_id = ${organization_id}`;
}

function rangeOf({ whole, since }: { whole: boolean; since: Date | null }) {
  return { full: whole, since: whole ? undefined : since?.toISOString() };
}
