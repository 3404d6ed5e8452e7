import { setTimeout as pause } from 'node:timers/promises';
import type { ExportBatch, Exporter, ExportManifest } from '../../emr/bulkExports.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { Kind } from '../../model/records/kinds.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { StoredAccount } from '../accounts/accounts.ts';
import type { Context } from '../context.ts';
import { type JobRun, whileLeased } from '../jobs/run.ts';
import {
  addBatch,
  addExport,
  clearStatusUrl,
  completeExport,
  endAbandonedExports,
  failExport,
  finishFile,
  hasAllChunks,
  isPreparedElsewhere,
  isRunning,
  postponeExport,
  readExport,
  readManifest,
  readStatusUrl,
  removeFile,
  restartDownload,
  type StoredExport,
  startReading,
  storeManifest,
  storeStatusUrl,
} from './bulkExports.ts';
import { forgetPositions, needsFullPass, startPass } from './syncPasses.ts';

/** What a sync does for the lists that are read by bulk export. */
export type ExportTurn = {
  ctx: Context;
  run: JobRun;
  account: StoredAccount;
  exporter: Exporter;
  /** The kinds that are read from the export. */
  kinds: readonly Kind[];
  mrn_rule: string;
  /** Somebody asked for a sync: all records are exported. */
  requested: boolean;
};

/** An export whose files are stored. `run`: the sync that started it, by which its records are marked. */
export type ReadyExport = Pick<StoredExport, 'run' | 'names_deleted' | 'outdated'> & { full: boolean };

const [second_ms, minute_ms, hour_ms] = [1000, 60_000, 3_600_000];
/** An export is a load for the EMR: changes are exported every few hours, and everything once a day. */
const interval_ms = 4 * hour_ms;
const full_s = (24 * hour_ms) / 1000;
/** With the names of deleted records, only what deletions and changes both miss is left to find. */
const full_with_deletions_s = 7 * full_s;
/** Removals that an operator has confirmed, and another rule for MRNs, wait no longer than this. */
const soon_s = 15 * 60;
/** A kick-off that may have arrived is repeated only after any export that it started has probably ended. */
const unknown_kick_off_ms = 4 * hour_ms;
/** Servers delete the files after some days. */
const age_max_s = 7 * full_s;
/** An EMR that prepares files for longer has probably lost the export. */
const preparing_max_s = 2 * full_s;
/** How long a worker waits for an EMR that prepares its files in seconds. */
const patience_ms = 20 * second_ms;
const first_poll_ms = second_ms / 2;
/** Servers ask for hours. Nothing would be noticed before then. */
const poll_max_ms = 10 * minute_ms;
/** A server that reports this often that the export has failed is believed. */
const reported_failures_max = 4;
const attempts_per_file = 3;
const unlinked = { failure: 'The account that started the export was unlinked.', pause_ms: 0, counts: false };

/**
 * Takes the next steps of the organization's export, as far as they can be taken now, and stores each. Undefined while
 * there is nothing to read. A failure of the export never fails the sync: other lists are read nevertheless.
 */
export async function advanceExport(turn: ExportTurn): Promise<ReadyExport | undefined> {
  const { run, exporter } = turn;
  try {
    await endLeftover(turn);
    let stored = await inLease(turn, readOwn(turn));
    if (stored && isRunning(stored) && belongsToAnother(turn, stored)) return undefined;
    if (stored && isRunning(stored) && !canContinue(exporter, stored)) {
      await fail(turn, { failure: 'The lists are no longer read by this export.', pause_ms: 0, counts: false });
      stored = await inLease(turn, readOwn(turn));
    }
    if (exporter.types.length === 0) return undefined;
    if (stored && isRunning(stored) && stored.state !== 'reading' && stored.wait_ms > 0) return undefined;
    if (!stored || !isRunning(stored) || stored.state === 'kicking_off') {
      if (!(await kickOff(turn, stored))) return undefined;
      stored = await inLease(turn, readOwn(turn));
    }
    if (stored?.state === 'running' && !(await poll(turn, stored))) return undefined;
    return await makeReady(turn);
  } catch (error) {
    if (!(error instanceof EmrFailure) || error.kind === 'login_required' || run.signal.aborted) throw error;
    await postponeOrFail(turn, error);
    return undefined;
  }
}

/** The account that started it continues it: another one may have other rights, or another group. */
function belongsToAnother({ account }: ExportTurn, stored: StoredExport): boolean {
  return stored.account_id !== account.id && stored.account_active;
}

function canContinue({ types, target }: Exporter, stored: StoredExport): boolean {
  return target === stored.target && types.length > 0 && stored.types.every((type) => types.includes(type));
}

/** The lists were read: deletes the files here and at the EMR. */
export async function finishExport(turn: ExportTurn): Promise<void> {
  const { organization_id } = turn.run.job;
  await inLease(turn, (tx) => completeExport(tx, organization_id, interval_ms));
  await endLeftover(turn);
}

function inLease<T>({ ctx, run }: ExportTurn, work: (tx: Tx) => Promise<T>): Promise<T> {
  return whileLeased(ctx, run, work);
}

function readOwn({ run }: ExportTurn): (tx: Tx) => Promise<StoredExport | undefined> {
  return (tx) => readExport(tx, run.job.organization_id);
}

/** Ends an export at the EMR that has ended here. An EMR that does not respond is asked again later. */
async function endLeftover(turn: ExportTurn): Promise<void> {
  const { ctx, run, exporter } = turn;
  const { organization_id } = run.job;
  const stored = await inLease(turn, readOwn(turn));
  if (!stored || isRunning(stored) || stored.status_url_sealed === null) return;
  const status_url = await inLease(turn, (tx) => readStatusUrl(ctx, tx, organization_id, stored));
  try {
    if (status_url !== undefined && (stored.ended_s ?? 0) < full_s) await exporter.end(status_url);
  } catch (error) {
    if (!(error instanceof EmrFailure) || error.kind === 'login_required' || run.signal.aborted) throw error;
    if (error.kind === 'unavailable') return;
  }
  await inLease(turn, (tx) => clearStatusUrl(tx, organization_id));
}

/** Requests an export if one is due. The intent is stored before, and the URL of its status right after. */
async function kickOff(turn: ExportTurn, last: StoredExport | undefined): Promise<boolean> {
  const { ctx, run, account, exporter } = turn;
  const { client_id, organization_id } = run.job;
  const since = await inLease(turn, (tx) => storeIntent(tx, turn, last));
  if (since === 'not_due') return false;
  let outcome: Awaited<ReturnType<Exporter['kickOff']>>;
  try {
    outcome = await exporter.kickOff(since ?? undefined);
  } catch (error) {
    if (!(error instanceof EmrFailure) || run.signal.aborted) throw error;
    const { message: failure, kind } = error;
    // It may have started one.
    if (kind === 'unknown_outcome') {
      await run.steps.note('bulk_export', { failed: failure });
      return false;
    }
    const pause_ms = kind === 'login_required' ? 0 : kind === 'unavailable' ? minute_ms : restartPause(last);
    await fail(turn, { failure, pause_ms, counts: kind === 'refused' });
    if (kind === 'login_required') throw error;
    return false;
  }
  if ('busy_ms' in outcome) {
    const pause_ms = Math.min(Math.max(outcome.busy_ms ?? 10 * minute_ms, minute_ms), hour_ms);
    await fail(turn, { failure: 'The EMR is busy with another export.', pause_ms, counts: false });
    return false;
  }
  const { status_url } = outcome;
  const started = { account_id: account.id, status_url, pause_ms: first_poll_ms };
  await inLease(turn, (tx) => storeStatusUrl(ctx, tx, { client_id, organization_id }, started));
  await run.steps.note('bulk_export', { started: since === null ? 'all records' : 'changes' });
  return true;
}

/** Returns the instant since which changes are exported, null for all records. */
async function storeIntent(
  tx: Tx,
  { ctx, run, account, exporter, kinds, mrn_rule, ...turn }: ExportTurn,
  last: StoredExport | undefined,
): Promise<string | null | 'not_due'> {
  const { client_id, organization_id, id } = run.job;
  const { target = '', types } = exporter;
  // An earlier attempt of the same sync may have read it.
  const requested = turn.requested && !(last?.run === id && last.state === 'done');
  const names = kinds.map(({ name }) => name);
  const refused_in = last?.state === 'done' ? last.run : undefined;
  const incomplete = await needsFullPass(tx, organization_id, names, { mrn_rule, refused_in });
  const due =
    !last ||
    last.wait_ms === 0 ||
    (last.state === 'done' && (requested || (incomplete && (last.ended_s ?? 0) > soon_s)));
  if (!due) return 'not_due';
  const { emr_address, id: account_id } = account;
  const covered = last !== undefined && types.every((type) => last.last_types?.includes(type));
  const fresh_s = last?.names_deleted ? full_with_deletions_s : full_s;
  const changes =
    covered && last.target === target && !requested && !incomplete && (last.last_full_s ?? fresh_s) < fresh_s;
  const since = changes ? last.last_as_of : null;
  const created = { client_id, organization_id, account_id, emr_address, target, types, run: id, since };
  const intent = { ...created, repeat_ms: unknown_kick_off_ms };
  await endAbandonedExports(tx, intent);
  const elsewhere = await isPreparedElsewhere(tx, intent);
  if (!elsewhere) await addExport(tx, intent);
  // What is written to the EMR from now on is newer than the files. Lists that have never been read are not complete.
  for (const kind of elsewhere && !incomplete ? [] : kinds) {
    const list = { client_id, organization_id, kind, run: id };
    await startPass(tx, list, { ...exportedPass(ctx, { full: since === null, mrn_rule }), anew: true });
  }
  return elsewhere ? 'not_due' : since;
}

/** How a list is read from an export. */
export function exportedPass({ config }: Pick<Context, 'config'>, exported: { full: boolean; mrn_rule: string }) {
  const { full, mrn_rule } = exported;
  return { incremental: true, finds_deleted: true, full, exported: true, mrn_rule, sync_minutes: config.sync_minutes };
}

/** Whether the files are ready. Waits a few seconds for them, because small practices are exported at once. */
async function poll(turn: ExportTurn, stored: StoredExport): Promise<boolean> {
  const { ctx, run, exporter } = turn;
  const { client_id, organization_id } = run.job;
  const status_url = await inLease(turn, (tx) => readStatusUrl(ctx, tx, organization_id, stored));
  if (status_url === undefined) {
    await fail(turn, unlinked);
    return false;
  }
  for (let waited_ms = 0, next_ms = stored.wait_ms; ; waited_ms += next_ms) {
    await wait(next_ms, run.signal);
    const status = await exporter.poll(status_url);
    if (status.state === 'ready') {
      const { manifest } = status;
      const ready = { account_id: stored.account_id, manifest };
      await inLease(turn, (tx) => storeManifest(ctx, tx, { client_id, organization_id }, ready));
      return true;
    }
    if (status.state === 'gone') {
      const failure = 'The EMR no longer knows the export that it was preparing.';
      await fail(turn, { failure, pause_ms: restartPause(stored), counts: true });
      return false;
    }
    if (status.state === 'failing') {
      await reportedFailure(turn, stored, status.message);
      return false;
    }
    const stated_ms = status.retry_after_ms ?? Math.max(first_poll_ms, (stored.age_s * 1000) / 10);
    next_ms = Math.min(Math.max(stated_ms, first_poll_ms), poll_max_ms);
    if (stored.age_s > preparing_max_s) throw new EmrFailure('refused', 'The EMR did not finish its export.');
    if (waited_ms + next_ms > patience_ms) {
      await postpone(turn, { pause_ms: next_ms, failed: false });
      await run.steps.note('bulk_export', { prepared_by_emr: true, next_in_s: Math.round(next_ms / 1000) });
      return false;
    }
  }
}

async function reportedFailure(turn: ExportTurn, stored: StoredExport, failure: string): Promise<void> {
  const failed = stored.errors_in_a_row + 1;
  if (failed >= reported_failures_max) {
    return fail(turn, { failure, pause_ms: restartPause(stored), counts: true });
  }
  await postpone(turn, { pause_ms: errorPause(failed), failed: true });
}

/** Downloads the files that are missing. They are all stored before a list is read, because files expire. */
async function makeReady(turn: ExportTurn): Promise<ReadyExport | undefined> {
  const { ctx, run, kinds } = turn;
  const names = kinds.map(({ name }) => name);
  const { organization_id } = run.job;
  let stored = await inLease(turn, readOwn(turn));
  if (stored?.state === 'reading' && !(await inLease(turn, (tx) => hasAllChunks(tx, organization_id)))) {
    await inLease(turn, async (tx) => {
      await restartDownload(tx, organization_id);
      await forgetPositions(tx, organization_id, names);
    });
    stored = await inLease(turn, readOwn(turn));
  }
  if (stored?.state === 'downloading') {
    const downloading = stored;
    let manifest = await inLease(turn, (tx) => readManifest(ctx, tx, organization_id, downloading));
    if (manifest === undefined) {
      await fail(turn, unlinked);
      return undefined;
    }
    for (let file = stored.files_done; file < manifest.files.length; file++) {
      manifest = await downloadFile(turn, downloading, { manifest, file });
    }
    await inLease(turn, (tx) => startReading(tx, organization_id));
    await run.steps.note('bulk_export', { files: manifest.files.length });
    stored = await inLease(turn, readOwn(turn));
  }
  if (stored?.state !== 'reading') return undefined;
  const { run: started_by, names_deleted, outdated, since } = stored;
  return { run: started_by, names_deleted, outdated, full: since === null };
}

/** Downloads one file, again after a failure that may pass. Returns the manifest, whose URLs may have been renewed. */
async function downloadFile(
  turn: ExportTurn,
  stored: StoredExport,
  { manifest, file }: { manifest: ExportManifest; file: number },
): Promise<ExportManifest> {
  let current = manifest;
  for (let attempt = 1; ; attempt++) {
    try {
      await storeFile(turn, stored, { manifest: current, file });
      return current;
    } catch (error) {
      if (!(error instanceof EmrFailure) || turn.run.signal.aborted || attempt >= attempts_per_file) throw error;
      if (error.kind === 'not_found') current = await renewManifest(turn, stored, current, error);
      else if (error.kind === 'unavailable') {
        const pause_ms = error.retry_after_ms ?? second_ms * 2 ** (attempt - 1);
        if (pause_ms > patience_ms) throw error;
        await wait(pause_ms, turn.run.signal);
      } else throw error;
    }
  }
}

async function storeFile(
  turn: ExportTurn,
  { account_id }: StoredExport,
  { manifest, file }: { manifest: ExportManifest; file: number },
): Promise<void> {
  const { ctx, run, exporter } = turn;
  const { client_id, organization_id } = run.job;
  const requested = manifest.files[file];
  if (!requested) return;
  const codes = new Map<string, number>();
  let lacks_records = false;
  await inLease(turn, (tx) => removeFile(tx, organization_id, file));
  await exporter.read(requested, manifest, async (batch: ExportBatch) => {
    if (batch.holds === 'errors') {
      for (const code of batch.codes) codes.set(code, (codes.get(code) ?? 0) + 1);
      lacks_records ||= batch.lacks_records;
      return;
    }
    const part = { account_id, file, batch };
    await inLease(turn, (tx) => addBatch(ctx, tx, { client_id, organization_id }, part));
  });
  await inLease(turn, (tx) => finishFile(tx, organization_id, { file, codes, lacks_records }));
}

/** URLs that are signed expire. The status names the same files with new ones. */
async function renewManifest(
  turn: ExportTurn,
  stored: StoredExport,
  manifest: ExportManifest,
  cause: EmrFailure,
): Promise<ExportManifest> {
  const { ctx, run, exporter } = turn;
  const { client_id, organization_id } = run.job;
  const status_url = await inLease(turn, (tx) => readStatusUrl(ctx, tx, organization_id, stored));
  const status = status_url === undefined ? undefined : await exporter.poll(status_url);
  const describe = ({ as_of, files }: ExportManifest) =>
    JSON.stringify([as_of, files.map(({ holds, type, count }) => [holds, type, count])]);
  if (status?.state !== 'ready' || describe(status.manifest) !== describe(manifest)) {
    throw new EmrFailure('refused', 'The EMR no longer has the files of its export.', { cause });
  }
  const renewed = { account_id: stored.account_id, manifest: status.manifest };
  await inLease(turn, (tx) => storeManifest(ctx, tx, { client_id, organization_id }, renewed));
  return status.manifest;
}

/** The EMR did not respond, or refuses to go on. */
async function postponeOrFail(turn: ExportTurn, { message: failure, kind }: EmrFailure): Promise<void> {
  const stored = await inLease(turn, readOwn(turn));
  if (!stored || !isRunning(stored)) return;
  const passing = kind === 'unavailable' || kind === 'unknown_outcome';
  if (!passing || stored.age_s > age_max_s) {
    return fail(turn, { failure, pause_ms: restartPause(stored), counts: true });
  }
  await postpone(turn, { pause_ms: errorPause(stored.errors_in_a_row + 1), failed: true });
  await turn.run.steps.note('bulk_export', { failed: failure });
}

function postpone(turn: ExportTurn, how: { pause_ms: number; failed: boolean }): Promise<void> {
  return inLease(turn, (tx) => postponeExport(tx, turn.run.job.organization_id, how));
}

async function fail(turn: ExportTurn, how: { failure: string; pause_ms: number; counts: boolean }): Promise<void> {
  await inLease(turn, (tx) => failExport(tx, turn.run.job.organization_id, how));
  await turn.run.steps.note('bulk_export', { failed: how.failure });
  await endLeftover(turn);
}

/** 1, 2, 4 and then 8 minutes. */
function errorPause(errors: number): number {
  return Math.min(2 ** (errors - 1), 8) * minute_ms;
}

/** 15 minutes after an export that failed, doubled with each further one, up to a day. */
function restartPause(last: StoredExport | undefined): number {
  return Math.min(15 * minute_ms * 2 ** Math.min(last?.failures ?? 0, 10), 24 * hour_ms);
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await pause(ms, undefined, { signal });
}
