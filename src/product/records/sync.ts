import type { Config } from '../../catalog/settings/config.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { ListPage } from '../../emr/operations/operation.ts';
import type { Operations } from '../../emr/operations/operations.ts';
import { type Kind, sync_order } from '../../model/records/kinds.ts';
import type { Tx } from '../../platform/db/database.ts';
import { recordWorking, toRuleKey } from '../accounts/capabilities.ts';
import { type ConnectedAccount, connectAccount } from '../accounts/connectAccount.ts';
import { markSynced, setCodeLists } from '../accounts/organizations.ts';
import type { Context } from '../context.ts';
import type { JobHandler, JobRun } from '../jobs/run.ts';
import {
  analyzeRecords,
  countStored,
  countUnseen,
  findErased,
  listEhrIds,
  removeLeft,
  removeUnseen,
  type SourceRecord,
  storePage,
} from './storeRecords.ts';
import {
  finishPass,
  markSkipped,
  type Removals,
  readHeldRemovals,
  refusePass,
  type SyncedList,
  type SyncInput,
  saveProgress,
  setHeldRemovals,
  startPass,
} from './syncPasses.ts';

/** Reads every kind of record from the EMR. Each page is stored at once, so that a large practice needs little memory. */
export const sync: JobHandler = {
  reads_only: true,
  run: async (ctx, run) => {
    const { job } = run;
    const { announce, org_id } = job.input as SyncInput;
    const { operations, account } = await connectWithCurrentCapabilities(ctx, run, { thorough: announce });
    const mrn_rule = toRuleKey(account.mrn_rule);
    const lists = await operations.getCodeLists?.();
    if (lists) {
      await ctx.db.repeatable(job.client_id, async (tx) => {
        // The organization is locked before the lane, as linking does; the other order could deadlock.
        await setCodeLists(tx, job.organization_id, lists);
        await run.checkLease(tx);
      });
    }
    const records: Record<string, number> = {};
    let refused: EmrFailure | undefined;
    for (const kind of sync_order) {
      try {
        const total = await syncKind(ctx, run, kind, { operations, mrn_rule });
        if (total === undefined) continue;
        records[kind.name] = total;
        // A transaction of its own: it locks the account, which comes before the lane.
        await ctx.db.repeatable(job.client_id, (tx) => recordWorking(tx, job.account_id, kind.operation, total));
      } catch (error) {
        // A list that this account may not read does not stop the others. Nothing is removed from it.
        if (!(error instanceof EmrFailure && ['refused', 'not_found'].includes(error.kind))) throw error;
        refused ??= error;
        await endRefusedPass(ctx, run, kind);
        await run.steps.note(kind.name, { refused: error.message });
      }
    }
    if (refused && Object.keys(records).length === 0) throw refused;
    await ctx.db.repeatable(job.client_id, async (tx) => {
      await markSynced(tx, job.organization_id);
      await run.checkLease(tx);
    });
    return {
      state: 'succeeded',
      error: null,
      event: announce ? { type: 'sync.completed', data: { org_id, records } } : null,
      detail: { records },
    };
  },
  onFailure: (_ctx, run, problem) => {
    const { announce, org_id } = run.job.input as SyncInput;
    const reasons = [{ code: problem.code, description: problem.message }];
    const data = { org_id, failure_reason: problem.message, reasons };
    return { state: 'failed', error: problem, event: announce ? { type: 'sync.failed', data } : null };
  },
};

async function endRefusedPass(ctx: Context, run: JobRun, kind: Kind): Promise<void> {
  const { client_id, organization_id } = run.job;
  await whileLeased(ctx, run, (tx) => refusePass(tx, { client_id, organization_id, kind }));
}

/** Runs a transaction, which fails if another worker has claimed the lane. */
function whileLeased<T>(ctx: Context, { job, checkLease }: JobRun, work: (tx: Tx) => Promise<T>): Promise<T> {
  return ctx.db.repeatable(job.client_id, async (tx) => {
    await checkLease(tx);
    return work(tx);
  });
}

/**
 * Opens the account with its server's current capabilities. If the server does not report them, the known ones apply.
 */
async function connectWithCurrentCapabilities(
  ctx: Context,
  { job, signal, steps }: JobRun,
  options: { thorough: boolean },
): Promise<ConnectedAccount> {
  const connected = await connectAccount(ctx, job, signal);
  try {
    await connected.refreshCapabilities(options);
  } catch (error) {
    if (!(error instanceof EmrFailure) || error.kind === 'login_required') throw error;
    await steps.note('capabilities', { refused: error.message });
  }
  const reconnected = await connectAccount(ctx, job, signal);
  const [before, now] = [connected.account.capabilities ?? [], reconnected.account.capabilities ?? []];
  const gained = now.filter((name) => !before.includes(name));
  const lost = before.filter((name) => !now.includes(name));
  if (gained.length + lost.length > 0) await steps.note('capabilities', { gained, lost });
  return reconnected;
}

/**
 * Stores what the EMR lists of one kind, or what changed, and returns how many records are stored then. Undefined if the
 * EMR does not list this kind. What an earlier attempt of the same sync has read is not read again.
 */
async function syncKind(
  ctx: Context,
  run: JobRun,
  kind: Kind,
  { operations, mrn_rule }: { operations: Partial<Operations>; mrn_rule: string },
): Promise<number | undefined> {
  const listing = operations[kind.operation];
  if (!listing) return undefined;
  const { findDeleted } = listing;
  const { client_id, organization_id, id, input } = run.job;
  const list = { client_id, organization_id, kind, run: id };
  const { announce } = input as SyncInput;
  const options = {
    incremental: listing.incremental === true,
    finds_deleted: findDeleted !== undefined,
    full: announce,
    mrn_rule,
    sync_minutes: ctx.config.sync_minutes,
  };
  const pass = await whileLeased(ctx, run, (tx) => startPass(tx, list, options));
  if (!pass.done) {
    const { stored, whole } = await storePages(ctx, run, list, listing({ since: pass.since, from: pass.from }));
    const deleted =
      pass.find_deleted && findDeleted
        ? await findDeleted(await whileLeased(ctx, run, (tx) => listEhrIds(tx, kind, organization_id)))
        : undefined;
    const outcome = await endPass(ctx, run, list, { whole: whole || pass.full, deleted });
    await run.steps.note(kind.name, { stored, ...outcome });
  }
  return whileLeased(ctx, run, (tx) => countStored(tx, kind, organization_id));
}

/** Stores each page as soon as it is read. `whole`: they were the complete list, whether or not it was requested. */
async function storePages(
  ctx: Context,
  run: JobRun,
  list: SyncedList,
  pages: AsyncIterable<ListPage<SourceRecord>>,
): Promise<{ stored: number; whole: boolean }> {
  let stored = 0;
  let whole = false;
  for await (const page of pages) {
    await whileLeased(ctx, run, async (tx) => {
      const { skipped } = await storePage(tx, list, page, await findErased(ctx, tx, list, page));
      if (skipped) await markSkipped(tx, list);
      if (page.left) await removeLeft(tx, list, page.left);
      if (page.through !== undefined) await saveProgress(tx, list, page.through);
    });
    whole ||= page.whole === true;
    const before = stored;
    stored += page.length;
    const noted = Math.floor(stored / noted_every) > Math.floor(before / noted_every);
    if (noted) await run.steps.note(list.kind.name, { stored });
  }
  return { stored, whole };
}

/** How many records lie between two progress notes on the job's timeline. A thousand take some seconds. */
const noted_every = 1000;

type Reading = { whole: boolean; deleted: readonly string[] | undefined };

/** Ends a pass over a list that was read to its end, and removes what the EMR no longer has. */
async function endPass(
  ctx: Context,
  run: JobRun,
  list: SyncedList,
  { whole, deleted }: Reading,
): Promise<RemovalOutcome> {
  const { kind, client_id } = list;
  const { first, outcome } = await whileLeased(ctx, run, async (tx) => {
    const first = await finishPass(tx, list, whole);
    const outcome: RemovalOutcome =
      whole || deleted ? await applyRemovals(tx, ctx.config, list, deleted) : { removed: 0 };
    return { first, outcome };
  });
  if (first) await analyzeRecords(ctx.db.system, kind);
  if (outcome.held_back) {
    ctx.metrics.removals_held_back.inc({ kind: kind.name });
    const fields = { job_id: run.job.id, client: client_id, record_kind: kind.name };
    ctx.log.warn(fields, 'a list of the EMR lacks too many records; none was removed');
  }
  return outcome;
}

type Limits = Pick<Config, 'sync_removals_percent' | 'sync_removals_count'>;

/** `held_back`: nothing was removed, because too many records would have been. */
type RemovalOutcome = { removed: number; held_back?: Removals };

/**
 * Removes what a full reading of a list did not contain, if that is plausible. An EMR that fails may return an empty or
 * shorter list that looks complete: then nothing is removed until an operator confirms it. `deleted`: the records that
 * the EMR no longer has, if they were looked for by id instead.
 */
async function applyRemovals(
  tx: Tx,
  limits: Limits,
  list: SyncedList,
  deleted: readonly string[] | undefined,
): Promise<RemovalOutcome> {
  const unseen = await countUnseen(tx, list, deleted);
  const held_back = await readHeldRemovals(tx, list);
  // The confirmation covers what the operator saw, and what a sync would remove anyway.
  const confirmed =
    held_back?.confirmed === true && unseen.missing <= held_back.missing + countRemovable(unseen, limits);
  if (!isPlausible(unseen, limits) && !confirmed) {
    await setHeldRemovals(tx, list, unseen);
    return { removed: 0, held_back: unseen };
  }
  await setHeldRemovals(tx, list, undefined);
  return { removed: await removeUnseen(tx, list, deleted) };
}

/** How many records of a list a sync removes without confirmation. */
function countRemovable({ stored }: Removals, limits: Limits): number {
  return Math.max(limits.sync_removals_count, Math.floor((stored * limits.sync_removals_percent) / 100));
}

function isPlausible(removals: Removals, limits: Limits): boolean {
  if (limits.sync_removals_percent === 100) return true;
  // A list of a few records that comes back empty is as suspicious as a long one.
  const emptied = removals.missing === removals.stored && removals.stored >= emptied_min;
  return removals.missing <= countRemovable(removals, limits) && !emptied;
}

/** Two records may well be removed at once. */
const emptied_min = 3;
