import { newId } from '../../catalog/ids.ts';
import type { Kind } from '../../model/records/kinds.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { requireConnector } from '../accounts/connectAccount.ts';
import { claimDueForSync } from '../accounts/organizations.ts';
import type { Context } from '../context.ts';
import { enqueue, type NewJob } from '../jobs/enqueue.ts';
import { findDueExports } from './bulkExports.ts';
import type { Scope } from './readRecords.ts';

/** The records of one kind in an organization. */
export type StoredList<K extends Kind = Kind> = Scope & { kind: K };

/** A list that a sync reads. `run` is the job id of the sync. Later syncs have higher ids. */
export type SyncedList = StoredList & { run: number };

/**
 * One pass over a list: all records (`full`), or those changed since an instant. `from` is how far an earlier attempt of
 * the same sync got; `done` means that it got to the end.
 */
export type Pass = {
  full: boolean;
  since: string | undefined;
  from: string | undefined;
  done: boolean;
  /** Whether deletions must be looked for apart from the pass, which returns only changes. */
  find_deleted: boolean;
};

/** Only a full pass finds every difference, so each list gets one a day. */
const full_pass_minutes = 24 * 60;
/** Deletions show within an hour: by a full pass, or by `findDeleted` where the connector supports it for the list. */
const deletions_minutes = 60;
/** Clocks differ, and records that an EMR stores together become visible one by one. */
export const overlap_minutes = 15;

/**
 * Starts a pass over a list, or resumes the one that an earlier attempt of this sync started. The pass is full if that
 * is requested, if the last full one is too old, if another identifier is the MRN now, or if the EMR cannot list changes
 * alone. `sync_minutes`: when the next
 * sync is expected.
 */
export async function startPass(
  tx: Tx,
  { client_id, organization_id, kind, run }: SyncedList,
  options: {
    incremental: boolean;
    finds_deleted: boolean;
    full: boolean;
    sync_minutes: number;
    mrn_rule: string;
    /** What the list is read from has been decided: all records if `full`, otherwise changes. */
    exported?: boolean;
    /** Another export, whose pass does not continue an earlier one of the same sync. */
    anew?: boolean;
  },
): Promise<Pass> {
  if (!options.anew) {
    const [started] = await tx<(PassRow & { position: string | null; done: boolean })[]>`
      SELECT full_pass, since, position, done, find_deleted FROM sync_passes
       WHERE organization_id = ${organization_id} AND kind = ${kind.name} AND run = ${run}
         AND mrn_rule = ${options.mrn_rule}`;
    if (started) return { ...readRange(started), from: started.position ?? undefined, done: started.done };
  }
  const full = options.full || !options.incremental;
  const { exported = false } = options;
  const due_minutes = Math.max(0, deletions_minutes - options.sync_minutes);
  const full_minutes = options.finds_deleted ? full_pass_minutes : due_minutes;
  const [next] = await tx<PassRow[]>`
    INSERT INTO sync_passes AS present (client_id, organization_id, kind, run, full_pass, mrn_rule)
    VALUES (${client_id}, ${organization_id}, ${kind.name}, ${run}, ${full || !exported}, ${options.mrn_rule})
    ON CONFLICT (organization_id, kind) DO UPDATE SET run = excluded.run, started_at = now(), position = NULL, done = false,
      skipped = false,
      mrn_rule = excluded.mrn_rule,
      -- What was read by another rule does not count, even if this pass does not get to its end.
      full_as_of = CASE WHEN present.mrn_rule = excluded.mrn_rule THEN present.full_as_of END,
      full_pass = ${full} OR NOT ${exported} AND (present.full_as_of IS NULL
        OR present.mrn_rule <> excluded.mrn_rule
        OR present.full_as_of <= now() - make_interval(mins => ${full_minutes})),
      find_deleted = coalesce(${options.finds_deleted} AND greatest(present.full_as_of, present.presence_as_of)
        <= now() - make_interval(mins => ${due_minutes}), false),
      since = present.synced_as_of - make_interval(mins => ${overlap_minutes})
    RETURNING full_pass, since, find_deleted`;
  if (!next) throw new Error('The upsert of sync_passes returned no row.');
  return { ...readRange(next), from: undefined, done: false };
}

type PassRow = { full_pass: boolean; since: Date | null; find_deleted: boolean };

/** Saves how far a pass got. Null: it must start over. */
export async function saveProgress(tx: Tx, list: SyncedList, position: string | null): Promise<void> {
  await tx`UPDATE sync_passes SET position = ${position}
    WHERE organization_id = ${list.organization_id} AND kind = ${list.kind.name} AND run = ${list.run}`;
}

/** Notes that the pass left out a record, so that the next one lists its changes again. */
export async function markSkipped(tx: Tx, list: SyncedList): Promise<void> {
  await tx`UPDATE sync_passes SET skipped = true
    WHERE organization_id = ${list.organization_id} AND kind = ${list.kind.name} AND run = ${list.run}`;
}

/**
 * Returns whether it was the first pass over the list. `whole`: the pass returned the complete list, although only
 * changes were requested.
 */
export async function finishPass(tx: Tx, list: SyncedList, whole: boolean): Promise<boolean> {
  const [pass] = await tx<{ first: boolean }[]>`
    UPDATE sync_passes SET done = true, first_read_at = coalesce(first_read_at, now()),
      synced_as_of = CASE WHEN skipped THEN synced_as_of ELSE started_at END,
      full_as_of = CASE WHEN full_pass OR ${whole} THEN started_at ELSE full_as_of END,
      presence_as_of = CASE WHEN find_deleted THEN started_at ELSE presence_as_of END
    WHERE organization_id = ${list.organization_id} AND kind = ${list.kind.name} AND run = ${list.run}
    RETURNING first_read_at = now() AS first`;
  return pass?.first ?? false;
}

/** Ends a pass that the EMR refused: it is now known what the account can see of the list, even if that is nothing. */
export async function refusePass(tx: Tx, list: StoredList): Promise<void> {
  await tx`UPDATE sync_passes SET first_read_at = coalesce(first_read_at, now())
    WHERE organization_id = ${list.organization_id} AND kind = ${list.kind.name}`;
}

/** Makes the next pass over every list a full one. */
export async function requireFullSync(tx: Tx, organization_id: string): Promise<void> {
  await tx`UPDATE sync_passes SET full_as_of = NULL WHERE organization_id = ${organization_id}`;
}

/**
 * Whether one of these lists must be read in full. One that the EMR refused in the pass `refused_in` is left out: reading
 * everything again would not change that.
 */
export async function needsFullPass(
  tx: Tx,
  organization_id: string,
  kinds: readonly string[],
  { mrn_rule, refused_in }: { mrn_rule: string; refused_in: number | undefined },
): Promise<boolean> {
  const [row] = await tx<{ incomplete: boolean }[]>`
    SELECT EXISTS (SELECT FROM unnest(${[...kinds]}::text[]) AS name
                     LEFT JOIN sync_passes ON organization_id = ${organization_id} AND kind = name
                    WHERE NOT coalesce(run = ${refused_in ?? 0} AND NOT done, false)
                      AND (full_as_of IS NULL OR mrn_rule <> ${mrn_rule})) AS incomplete`;
  return row?.incomplete ?? false;
}

/** The pages of these lists are read again from the start. */
export async function forgetPositions(tx: Tx, organization_id: string, kinds: readonly string[]): Promise<void> {
  await tx`UPDATE sync_passes SET position = NULL
    WHERE organization_id = ${organization_id} AND kind = ANY (${[...kinds]}) AND NOT done`;
}

/** Forgets how far the lists were read, after their records were deleted. */
export async function deletePasses(tx: Tx, organization_id: string): Promise<void> {
  await tx`DELETE FROM sync_passes WHERE organization_id = ${organization_id}`;
}

/** What a full pass would remove: how many records are stored, and how many of them the EMR did not list. */
export type Removals = { stored: number; missing: number };

/** The removals that an earlier pass held back, and whether an operator confirmed them since. */
export async function readHeldRemovals(
  tx: Tx,
  { organization_id, kind }: StoredList,
): Promise<{ missing: number; confirmed: boolean } | undefined> {
  const [row] = await tx<{ missing: number; confirmed: boolean }[]>`
    SELECT held_missing AS missing, removal_confirmed AS confirmed FROM sync_passes
     WHERE organization_id = ${organization_id} AND kind = ${kind.name} AND held_at IS NOT NULL FOR UPDATE`;
  return row;
}

/** Marks that removals were held back or, with undefined, that there are none left. */
export async function setHeldRemovals(
  tx: Tx,
  { organization_id, kind }: StoredList,
  removals: Removals | undefined,
): Promise<void> {
  await tx`UPDATE sync_passes SET held_at = CASE WHEN ${removals !== undefined} THEN now() END,
      held_stored = ${removals?.stored ?? null}, held_missing = ${removals?.missing ?? null}, removal_confirmed = false
    WHERE organization_id = ${organization_id} AND kind = ${kind.name} AND (held_at IS NOT NULL OR ${removals !== undefined})`;
}

/** Lets the next full pass remove what was held back, and makes the next pass a full one. Returns the counts, if any. */
export async function confirmRemovals(tx: Tx, organization_id: string, kind: string): Promise<Removals | undefined> {
  const [row] = await tx<Removals[]>`UPDATE sync_passes SET removal_confirmed = true, full_as_of = NULL
    WHERE organization_id = ${organization_id} AND kind = ${kind} AND held_at IS NOT NULL
    RETURNING held_stored AS stored, held_missing AS missing`;
  return row;
}

function readRange({ full_pass, since, find_deleted }: PassRow) {
  return {
    full: full_pass,
    since: full_pass ? undefined : since?.toISOString(),
    find_deleted: find_deleted && !full_pass,
  };
}

/** `announce`: whether an event is sent when the sync finishes. Only requested syncs send one. */
export type SyncInput = {
  announce: boolean;
  org_id: string;
  /** Only what a bulk export prepares, whose next step is due. */
  exported_only?: true;
};

export const sync_type = 'sync';

/**
 * The run of the last sync that has not finished, or of the pass over the list that has not; 0 if there is neither.
 * Records stored with it are not removed by them.
 */
export async function readRunningSync(tx: Tx, { organization_id, kind }: StoredList): Promise<number> {
  const [row] = await tx<{ run: number }[]>`SELECT greatest(
    (SELECT max(id) FROM jobs WHERE organization_id = ${organization_id} AND lane = ${sync_lane}
        AND state IN ('queued', 'running') AND NOT parked),
    (SELECT run FROM sync_passes WHERE organization_id = ${organization_id} AND kind = ${kind.name} AND NOT done), 0) AS run`;
  return row?.run ?? 0;
}

/** Jobs of one lane run one after the other, so two syncs of an organization never overlap. */
export const sync_lane = 'sync';

export type SyncTarget = {
  client_id: string;
  organization_id: string;
  account_id: string;
  org_id: string;
  connector: string;
};

/** Queues a sync of an organization through one of its accounts. No job id if the idempotency key exists already. */
export async function requestSync(
  ctx: Context,
  sql: Sql | Tx,
  target: SyncTarget,
  options: Pick<SyncInput, 'announce' | 'exported_only'> & Pick<NewJob, 'idempotency' | 'auditStatement'>,
): Promise<{ id: string; job_id: number | undefined }> {
  const id = newId();
  const { announce, exported_only } = options;
  const input: SyncInput = { announce, org_id: target.org_id, ...(exported_only && { exported_only }) };
  const job_id = await enqueue(sql, {
    client_id: target.client_id,
    organization_id: target.organization_id,
    account_id: target.account_id,
    operation: { id, type: sync_type, input, reference: null },
    lane: sync_lane,
    parallel_max: requireConnector(ctx, target.connector).limits.parallel_max,
    traceparent: ctx.telemetry.traceparent(),
    idempotency: options.idempotency,
    auditStatement: options.auditStatement,
  });
  return { id, job_id };
}

/**
 * Queues a sync after an account was linked, unless one of this account is waiting, which then runs with the new link.
 * An EMR that keeps ending its sessions would otherwise add a full sync with every re-link. Syncs from before the
 * account was unlinked do not count, because they fail; those of other accounts neither, because their links may have
 * expired.
 */
export async function requestSyncAfterLink(ctx: Context, tx: Tx, target: SyncTarget): Promise<void> {
  const [waiting] = await tx`
    SELECT FROM jobs JOIN accounts ON accounts.id = jobs.account_id
     WHERE jobs.account_id = ${target.account_id} AND jobs.type = ${sync_type} AND jobs.state = 'queued'
       AND NOT jobs.parked AND jobs.created_at > coalesce(accounts.unlinked_at, '-infinity')`;
  if (!waiting) await requestSync(ctx, tx, target, { announce: false });
}

/**
 * Queues a sync of each organization whose rule for MRNs changed: with the rule of its own, or with that of its app. It
 * reads the records again in full. Organizations without a usable account are synced when one is re-linked.
 */
export async function requestSyncForRule(
  ctx: Context,
  tx: Tx,
  client_id: string,
  changed: { organization_id: string } | { emr_app_id: string },
): Promise<void> {
  const affected =
    'emr_app_id' in changed
      ? tx`accounts.emr_app_id = ${changed.emr_app_id}`
      : tx`organizations.id = ${changed.organization_id}`;
  const targets = await tx<Omit<SyncTarget, 'client_id'>[]>`
    SELECT DISTINCT ON (organizations.id) organizations.id AS organization_id, organizations.org_id,
           organizations.connector, accounts.id AS account_id
      FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
     WHERE accounts.status = 'active' AND ${affected} ORDER BY organizations.id, accounts.linked_at DESC`;
  for (const target of targets) await requestSync(ctx, tx, { client_id, ...target }, { announce: false });
}

/**
 * Queues a sync of every organization that is due, and of those whose bulk export is. Organizations without a usable
 * account, or with a sync still queued, are skipped this time.
 */
export async function requestDueSyncs(ctx: Context): Promise<number> {
  const due = await claimDueForSync(ctx.db.system, ctx.config.sync_minutes);
  let queued = 0;
  for (const organization of due) queued += await queueSync(ctx, organization, { announce: false });
  for (const organization of await findDueExports(ctx.db.system)) {
    queued += await queueSync(ctx, organization, { announce: false, exported_only: true });
  }
  return queued;
}

type DueOrganization = { id: string; client_id: string; org_id: string; connector: string; account_id?: string };

async function queueSync(
  ctx: Context,
  organization: DueOrganization,
  options: Pick<SyncInput, 'announce' | 'exported_only'>,
): Promise<number> {
  const { id: organization_id, client_id, account_id: preferred = null } = organization;
  const added = await ctx.db.tenant(client_id, async (tx) => {
    // Several processes find the same exports.
    await tx`SELECT FROM organizations WHERE id = ${organization_id} FOR NO KEY UPDATE`;
    const [waiting] = await tx`SELECT FROM lanes WHERE organization_id = ${organization_id} AND key = ${sync_lane}`;
    const [account] = await tx<{ id: string }[]>`SELECT id FROM accounts
      WHERE organization_id = ${organization_id} AND status = 'active'
      ORDER BY (id = ${preferred}::uuid) DESC NULLS LAST, linked_at DESC LIMIT 1`;
    if (waiting || !account) return 0;
    await requestSync(ctx, tx, { ...organization, organization_id, account_id: account.id }, options);
    return 1;
  });
  if (added > 0) ctx.notifications.notify('chartwire_jobs', client_id);
  return added;
}
