import { type OpenAccount, openAccount } from '../accounts/openAccount.ts';
import { EmrFailure } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import type { EventOf } from '../events.ts';
import type { JobHandler, JobRun } from '../jobs/run.ts';
import { appointments } from './appointments.ts';
import { claims } from './claims.ts';
import { insuranceProviders } from './insuranceProviders.ts';
import { locations } from './locations.ts';
import { orders } from './orders.ts';
import { patients } from './patients.ts';
import { pharmacies } from './pharmacies.ts';
import { providers } from './providers.ts';
import { countKept, keepPage, type RecordKind, removeUnseen } from './recordKind.ts';
import { referringProviders } from './referringProviders.ts';
import type { SyncInput } from './requestSync.ts';
import { scheduleBlocks } from './scheduleBlocks.ts';
import { keepCodeLists } from './settings.ts';
import { staff } from './staff.ts';
import { beginReading, endReading, noteThrough } from './syncReadings.ts';
import { visitStatuses, visitTypes } from './visitCodes.ts';

/** Locations come first: providers take the names of their facilities from them, and appointments theirs of providers. */
const kinds = [
  locations,
  providers,
  staff,
  pharmacies,
  visitTypes,
  visitStatuses,
  insuranceProviders,
  referringProviders,
  patients,
  appointments,
  scheduleBlocks,
  orders,
  claims,
] as const;

/** Reads every kind of record from the EMR. Each page is kept at once, so a large practice needs little memory. */
export const sync: JobHandler = {
  run: async (ctx, run) => {
    const { job } = run;
    const { operations } = await openAnew(ctx, run);
    const lists = await operations.getCodeLists?.();
    if (lists) {
      await ctx.db.tenant(job.client_id, async (tx) => {
        // The organization before the lane, as whoever links an account locks them: else the two wait for each other.
        await keepCodeLists(tx, job.organization_id, lists);
        await run.checkLease(tx);
      });
    }
    const records: Record<string, number> = {};
    let refused: EmrFailure | undefined;
    for (const kind of kinds) {
      try {
        // The members of the union differ only in types of their own, which nothing but the kind itself looks into.
        const kept = await keepKind(ctx, run, kind as unknown as AnyKind, operations);
        if (kept !== undefined) records[kind.table] = kept;
      } catch (error) {
        // A list that this account may not read is no reason to leave the others old; of it nothing is removed.
        if (!(error instanceof EmrFailure && ['refused', 'not_found'].includes(error.kind))) throw error;
        refused ??= error;
        await run.steps.note(kind.table, { refused: error.message });
      }
    }
    if (refused && Object.keys(records).length === 0) throw refused;
    await ctx.db.tenant(job.client_id, async (tx) => {
      await tx`UPDATE organizations SET synced_at = now() WHERE id = ${job.organization_id}`;
      await run.checkLease(tx);
    });
    const { announce, org_id } = job.input as SyncInput;
    return {
      state: 'succeeded',
      error: null,
      event: announce ? completed(org_id, records) : null,
      detail: { records },
    };
  },
  onFailure: (_ctx, run, problem) => {
    const { announce, org_id } = run.job.input as SyncInput;
    const data = { org_id, failure_reason: problem.message, reasons: [describe(problem)] };
    return { state: 'failed', error: problem, event: announce ? { type: 'sync.failed', data } : null };
  },
};

/** Opens the account for what its server can do today; where that is not told, what was known of it holds on. */
async function openAnew(ctx: Context, { job, signal, steps }: JobRun): Promise<OpenAccount> {
  const opened = await openAccount(ctx, job, signal);
  try {
    await opened.lookAgain();
  } catch (error) {
    if (!(error instanceof EmrFailure) || error.kind === 'login_required') throw error;
    await steps.note('capabilities', { refused: error.message });
  }
  const anew = await openAccount(ctx, job, signal);
  const [before, now] = [opened.account.offers ?? [], anew.account.offers ?? []];
  const gained = now.filter((name) => !before.includes(name));
  const lost = before.filter((name) => !now.includes(name));
  if (gained.length + lost.length > 0) await steps.note('capabilities', { gained, lost });
  return anew;
}

type AnyKind = RecordKind<{ ehr_id: string }, unknown>;

/**
 * Keeps what the EMR lists of one kind, or what changed of it, and gives how many of them there are. What an earlier try
 * of this sync has read is not read again.
 */
async function keepKind(
  ctx: Context,
  run: JobRun,
  kind: AnyKind,
  operations: Parameters<typeof kind.list>[0],
): Promise<number | undefined> {
  const list = kind.list(operations);
  if (!list) return undefined;
  const { client_id, organization_id, id } = run.job;
  const scope = { client_id, organization_id, run: id };
  const held = <T>(work: (tx: Tx) => Promise<T>) =>
    ctx.db.tenant(client_id, async (tx) => {
      await run.checkLease(tx);
      return work(tx);
    });
  const { announce } = run.job.input as SyncInput;
  const asked = { incremental: list.incremental === true, whole: announce };
  const { whole, since, from, done } = await held((tx) => beginReading(tx, scope, kind.table, asked));
  if (!done) {
    let kept = 0;
    for await (const page of list({ since, from })) {
      await held(async (tx) => {
        await keepPage(tx, kind, scope, page);
        if (page.through !== undefined) await noteThrough(tx, scope, kind.table, page.through);
      });
      const before = kept;
      kept += page.length;
      if (Math.floor(kept / noted_every) > Math.floor(before / noted_every)) await run.steps.note(kind.table, { kept });
    }
    const removed = await held(async (tx) => {
      await endReading(tx, scope, kind.table);
      return whole ? removeUnseen(tx, kind, scope) : 0;
    });
    await run.steps.note(kind.table, { kept, removed });
  }
  return held((tx) => countKept(tx, kind.table, organization_id));
}

/** Of a long list the timeline says now and then how far it is: each thousand takes some seconds. */
const noted_every = 1000;

function completed(org_id: string, records: Record<string, number>): EventOf {
  return { type: 'sync.completed', data: { org_id, records } };
}

function describe(problem: { code: string; message: string }) {
  return { code: problem.code, description: problem.message };
}
