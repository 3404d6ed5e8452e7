import type { Config } from '../../catalog/settings/config.ts';
import type { Kind } from '../../model/records/kinds.ts';
import type { Tx } from '../../platform/db/database.ts';
import { countUnseen, removeUnseen } from './storeRecords.ts';
import { type Removals, readHeldRemovals, type SyncScope, setHeldRemovals } from './syncPasses.ts';

type Limits = Pick<Config, 'sync_removals_percent' | 'sync_removals_count'>;

/** `held_back`: nothing was removed, because too many records would have been. */
export type RemovalOutcome = { removed: number; held_back?: Removals };

/**
 * Removes what a full reading of a list did not contain, if that is plausible. An EMR that fails may return an empty or
 * shorter list that looks complete: then nothing is removed until an operator confirms it. `deleted`: the records that
 * the EMR no longer has, if they were looked for by id instead.
 */
export async function applyRemovals(
  tx: Tx,
  limits: Limits,
  kind: Kind,
  scope: SyncScope,
  deleted?: readonly string[],
): Promise<RemovalOutcome> {
  const found = await countUnseen(tx, kind, scope, deleted);
  const held = await readHeldRemovals(tx, scope, kind.name);
  // The confirmation covers what the operator saw, and what a sync would remove anyway.
  const confirmed = held?.confirmed === true && found.missing <= held.missing + removableOf(found, limits);
  if (!isPlausible(found, limits) && !confirmed) {
    await setHeldRemovals(tx, scope, kind.name, found);
    return { removed: 0, held_back: found };
  }
  await setHeldRemovals(tx, scope, kind.name, undefined);
  return { removed: await removeUnseen(tx, kind, scope, deleted) };
}

/** How many records of a list a sync removes without confirmation. */
function removableOf({ stored }: Removals, limits: Limits): number {
  return Math.max(limits.sync_removals_count, Math.floor((stored * limits.sync_removals_percent) / 100));
}

function isPlausible(found: Removals, limits: Limits): boolean {
  if (limits.sync_removals_percent === 100) return true;
  // A list of a few records that comes back empty is as suspicious as a long one.
  const emptied = found.missing === found.stored && found.stored >= emptied_min;
  return found.missing <= removableOf(found, limits) && !emptied;
}

/** Two records may well be removed at once. */
const emptied_min = 3;
