import type { Config } from '../../catalog/settings/config.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { Listing, ListPage, ListWindow } from '../../emr/operations/operation.ts';
import { type Kind, sync_order } from '../../model/records/kinds.ts';
import type { Tx } from '../../platform/db/database.ts';
import { recordWorking, toRuleKey } from '../accounts/capabilities.ts';
import { type ConnectedAccount, connectAccount } from '../accounts/connectAccount.ts';
import { markSynced, setCodeLists } from '../accounts/organizations.ts';
import type { Context } from '../context.ts';
import type { JobResult } from '../jobs/finishJob.ts';
import { type JobHandler, type JobRun, whileLeased } from '../jobs/run.ts';
import { announceAddedDocuments } from './addedDocuments.ts';
import { type Announcement, prepareAnnouncement } from './announceChanges.ts';
import { createExportedRecords } from './bulkExports.ts';
import { storeMerges } from './mergedCharts.ts';
import { advanceExport, exportedPass, finishExport, type ReadyExport } from './runExport.ts';
import {
  analyzeRecords,
  countStored,
  countUnseen,
  findErased,
  listEhrIds,
  type Missing,
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
import { type ListReading, pauseIfSpent, requests_unstored_max, startReading, storeRequests } from './syncRequests.ts';

type AnyListing = Listing<SourceRecord>;

/** Reads every kind of record from the EMR. Each page is stored at once, so that a large practice needs little memory. */
export const sync: JobHandler = {
  reads_only: true,
  run: async (ctx, run) => {
    const { announce } = run.job.input as SyncInput;
    const reading = startReading(announce);
    try {
      return await readLists(ctx, run, reading);
    } finally {
      await storeRequests(ctx, run, reading).catch((error: unknown) => {
        // It would hide why the sync failed. A lost lease is noticed when the result is stored.
        ctx.log.warn({ job_id: run.job.id, err: error }, 'the number of EMR requests of a sync could not be stored');
      });
    }
  },
  onFailure: (_ctx, run, problem) => {
    const { announce, org_id } = run.job.input as SyncInput;
    const reasons = [{ code: problem.code, description: problem.message }];
    const data = { org_id, failure_reason: problem.message, reasons };
    return { state: 'failed', error: problem, event: announce ? { type: 'sync.failed', data } : null };
  },
};

async function readLists(ctx: Context, run: JobRun, reading: ListReading): Promise<JobResult> {
  const { job } = run;
  const { announce, org_id, exported_only = false } = job.input as SyncInput;
  const { operations, mrn_rule, turn, exported } = await openLists(ctx, run);
  const lists = exported_only ? undefined : await operations.getCodeLists?.();
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
      const listing = operations[kind.operation];
      // One that a bulk export prepares is read when its files are there.
      if (!listing || (listing.exported ? !exported : exported_only)) continue;
      if (!listing.exported) await pauseIfSpent(ctx, run, reading);
      const total = await syncKind(ctx, run, kind, { listing, mrn_rule, exported, reading });
      records[kind.name] = total;
      await storeRequests(ctx, run, reading);
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
  if (turn && exported) await finishExport(turn);
  if (refused && Object.keys(records).length === 0) throw refused;
  if (!exported_only) {
    await announceAddedDocuments(ctx, run, operations);
    await ctx.db.repeatable(job.client_id, async (tx) => {
      await markSynced(tx, job.organization_id);
      await run.checkLease(tx);
    });
  }
  return {
    state: 'succeeded',
    error: null,
    event: announce ? { type: 'sync.completed', data: { org_id, records } } : null,
    detail: { records },
  };
}

/** Opens the account, and takes the next steps of the bulk export by which some of its lists may be read. */
async function openLists(ctx: Context, run: JobRun) {
  const { announce, exported_only = false } = run.job.input as SyncInput;
  const connected = exported_only
    ? await connectForLists(ctx, run)
    : await connectWithCurrentCapabilities(ctx, run, { thorough: announce && !isResumed(run) });
  const { account } = connected;
  const exporter = connected.openExporter();
  const mrn_rule = toRuleKey(account.mrn_rule);
  const kinds = sync_order.filter(({ operation }) => connected.operations[operation]?.exported);
  const turn = exporter && { ctx, run, account, exporter, kinds, mrn_rule, requested: announce };
  const exported = turn && (await advanceExport(turn));
  // A refused export is remembered with the account, where this connection would store what it learned before.
  const { operations } = kinds.length > 0 && !exported ? await connectForLists(ctx, run) : connected;
  return { operations, mrn_rule, turn, exported };
}

/** A sync that goes on after a pause: an earlier attempt has probed the server. */
function isResumed({ job: { attempts, retries } }: JobRun): boolean {
  return attempts > 1 && retries === 0;
}

/** With the files of the organization's bulk export. */
function connectForLists(ctx: Context, { job, signal }: JobRun): Promise<ConnectedAccount> {
  return connectAccount(ctx, job, signal, { exported: createExportedRecords(ctx, job) });
}

async function endRefusedPass(ctx: Context, run: JobRun, kind: Kind): Promise<void> {
  const { client_id, organization_id } = run.job;
  await whileLeased(ctx, run, (tx) => refusePass(tx, { client_id, organization_id, kind }));
}

/**
 * Opens the account with its server's current capabilities. If the server does not report them, the known ones apply.
 */
async function connectWithCurrentCapabilities(
  ctx: Context,
  run: JobRun,
  options: { thorough: boolean },
): Promise<ConnectedAccount> {
  const { job, signal, steps } = run;
  const connected = await connectAccount(ctx, job, signal);
  try {
    await connected.refreshCapabilities(options);
  } catch (error) {
    if (!(error instanceof EmrFailure) || error.kind === 'login_required') throw error;
    await steps.note('capabilities', { refused: error.message });
  }
  const reconnected = await connectForLists(ctx, run);
  const [before, now] = [connected.account.capabilities ?? [], reconnected.account.capabilities ?? []];
  const gained = now.filter((name) => !before.includes(name));
  const lost = before.filter((name) => !now.includes(name));
  if (gained.length + lost.length > 0) await steps.note('capabilities', { gained, lost });
  return reconnected;
}

type ListSource = {
  listing: AnyListing;
  mrn_rule: string;
  exported: ReadyExport | undefined;
  reading: ListReading;
};

/**
 * Stores what the EMR lists of one kind, or what changed, and returns how many records are stored then. What an earlier
 * attempt of the same sync has read is not read again.
 */
async function syncKind(
  ctx: Context,
  run: JobRun,
  kind: Kind,
  { listing, mrn_rule, exported, reading }: ListSource,
): Promise<number> {
  const { findDeleted } = listing;
  const { client_id, organization_id, id, input } = run.job;
  const from_export = listing.exported ? exported : undefined;
  const list = { client_id, organization_id, kind, run: from_export?.run ?? id };
  const { announce } = input as SyncInput;
  const options = from_export
    ? exportedPass(ctx, { full: from_export.full, mrn_rule })
    : {
        incremental: listing.incremental === true,
        finds_deleted: findDeleted !== undefined || listing.windowed === true,
        full: announce,
        mrn_rule,
        sync_minutes: ctx.config.sync_minutes,
      };
  const pass = await whileLeased(ctx, run, (tx) => startPass(tx, list, options));
  reading.in_full ||= pass.full && options.incremental;
  if (!pass.done) {
    const announcement = await whileLeased(ctx, run, (tx) => prepareAnnouncement(ctx, tx, list, run.job.account_id));
    const pages = listing({ since: pass.since, from: pass.from });
    const target = { list, announcement, reading, from: pass.from };
    const { stored, whole, window, ...limits } = await storePages(ctx, run, target, pages);
    reading.progressed = true;
    const partial =
      limits.partial || from_export?.outdated === true || (listing.windowed === true && window === undefined);
    // Of all records, nothing that was deleted is left to find, unless some may be missing.
    const finds_deleted = from_export
      ? from_export.names_deleted && (partial || !pass.full)
      : pass.find_deleted && !partial;
    const deleted =
      finds_deleted && findDeleted
        ? await findDeleted(await whileLeased(ctx, run, (tx) => listEhrIds(tx, kind, organization_id)))
        : undefined;
    const outcome = await endPass(ctx, run, list, { whole: whole || pass.full, deleted, window, partial });
    await run.steps.note(kind.name, { stored, ...outcome });
  }
  return whileLeased(ctx, run, (tx) => countStored(tx, kind, organization_id));
}

type PageTarget = {
  list: SyncedList;
  announcement: Announcement | undefined;
  reading: ListReading;
  /** Where an earlier attempt stopped. */
  from: string | undefined;
};

/**
 * Stores each page as soon as it is read. `whole`: they were the complete list, whether or not it was requested. `window`
 * and `partial` are those of the pages (operation.ts).
 */
async function storePages(
  ctx: Context,
  run: JobRun,
  { list, announcement, reading, from }: PageTarget,
  pages: AsyncIterable<ListPage<SourceRecord>>,
): Promise<{ stored: number; whole: boolean; window: ListWindow | undefined; partial: boolean }> {
  let stored = 0;
  let [whole, partial] = [false, false];
  let window: ListWindow | undefined;
  for await (const page of pages) {
    await whileLeased(ctx, run, async (tx) => {
      const isErased = await findErased(ctx, tx, list, page);
      const { skipped } = await storePage(tx, list, page, { isErased, announce: announcement?.changed });
      if (skipped) await markSkipped(tx, list);
      if (page.left) {
        const ehr_ids = page.left.map(({ ehr_id }) => ehr_id);
        const removed = await removeLeft(tx, list, ehr_ids);
        await announcement?.left(tx, removed, { left: page.left, isErased });
      }
      await storeMerges(tx, list, page, isErased);
      if (page.through !== undefined) await saveProgress(tx, list, page.through);
    });
    if (announcement) ctx.notifications.notify('chartwire_deliveries', list.client_id);
    whole ||= page.whole === true;
    partial ||= page.partial === true;
    window ??= page.window;
    const before = stored;
    stored += page.length;
    const noted = Math.floor(stored / noted_every) > Math.floor(before / noted_every);
    if (noted) await run.steps.note(list.kind.name, { stored });
    // The next attempt goes on here. Many records may have been changed at the same time: they are read to the end.
    if (typeof page.through !== 'string' || page.through === from) continue;
    reading.progressed = true;
    if ((run.job.requests ?? 0) >= requests_unstored_max) await pauseIfSpent(ctx, run, reading);
  }
  return { stored, whole, window, partial };
}

/** How many records lie between two progress notes on the job's timeline. A thousand take some seconds. */
const noted_every = 1000;

type Reading = {
  whole: boolean;
  deleted: readonly string[] | undefined;
  window: ListWindow | undefined;
  partial: boolean;
};

/**
 * Ends a pass over a list that was read to its end, and removes what the EMR no longer has: within the days that were
 * read, and nothing if the list may lack records.
 */
async function endPass(
  ctx: Context,
  run: JobRun,
  list: SyncedList,
  { whole, deleted, window, partial }: Reading,
): Promise<RemovalOutcome> {
  const { kind, client_id } = list;
  const { first, outcome } = await whileLeased(ctx, run, async (tx) => {
    const first = await finishPass(tx, list, whole);
    const outcome: RemovalOutcome =
      deleted || (!partial && (whole || window))
        ? await applyRemovals(tx, ctx.config, list, { deleted, window })
        : { removed: 0 };
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
 * the EMR no longer has, if they were looked for by id instead. `window`: the days that were read, if not all.
 */
async function applyRemovals(tx: Tx, limits: Limits, list: SyncedList, missing: Missing): Promise<RemovalOutcome> {
  const unseen = await countUnseen(tx, list, missing);
  const held_back = await readHeldRemovals(tx, list);
  // The confirmation covers what the operator saw, and what a sync would remove anyway.
  const confirmed =
    held_back?.confirmed === true && unseen.missing <= held_back.missing + countRemovable(unseen, limits);
  if (!isPlausible(unseen, limits) && !confirmed) {
    await setHeldRemovals(tx, list, unseen);
    return { removed: 0, held_back: unseen };
  }
  await setHeldRemovals(tx, list, undefined);
  return { removed: await removeUnseen(tx, list, missing) };
}

/** How many records of a list a sync removes without confirmation. */
function countRemovable({ stored }: Removals, limits: Limits): number {
  return Math.max(limits.sync_removals_count, Math.floor((stored * limits.sync_removals_percent) / 100));
}

export function isPlausible(removals: Removals, limits: Limits): boolean {
  if (limits.sync_removals_percent === 100) return true;
  // A list of a few records that comes back empty is as suspicious as a long one.
  const emptied = removals.missing === removals.stored && removals.stored >= emptied_min;
  return removals.missing <= countRemovable(removals, limits) && !emptied;
}

/** Two records may well be removed at once. */
const emptied_min = 3;
