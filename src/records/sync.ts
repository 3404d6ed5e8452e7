import { openAccount } from '../accounts/openAccount.ts';
import type { Context } from '../context.ts';
import type { EventOf } from '../events.ts';
import type { JobKind, JobRun } from '../jobs/run.ts';
import { locations } from './locations.ts';
import { patients } from './patients.ts';
import { pharmacies } from './pharmacies.ts';
import { providers } from './providers.ts';
import { keepPage, type RecordKind, removeUnseen } from './recordKind.ts';
import type { SyncInput } from './requestSync.ts';
import { staff } from './staff.ts';

/** Locations come first: providers take the names of their facilities from them. */
const kinds = [locations, providers, staff, pharmacies, patients] as const;

/** Reads every kind of record anew from the EMR. Each page is kept at once, so a large practice needs little memory. */
export const sync: JobKind = {
  perform: async (ctx, run) => {
    const { job, signal } = run;
    const { operations } = await openAccount(ctx, job, signal);
    const records: Record<string, number> = {};
    for (const kind of kinds) {
      // The members of the union differ only in their source type, which keepKind takes from the kind itself.
      const kept = await keepKind(ctx, run, kind as unknown as RecordKind<{ ehr_id: string }>, operations);
      if (kept !== undefined) records[kind.table] = kept;
    }
    const { announce, org_id } = job.input as SyncInput;
    return { state: 'succeeded', error: null, event: announce ? completed(org_id, records) : null };
  },
  fail: (_ctx, run, problem) => {
    const { announce, org_id } = run.job.input as SyncInput;
    const data = { org_id, failure_reason: problem.message, reasons: [describe(problem)] };
    return { state: 'failed', error: problem, event: announce ? { type: 'sync.failed', data } : null };
  },
};

async function keepKind(
  ctx: Context,
  run: JobRun,
  kind: RecordKind<{ ehr_id: string }>,
  operations: Parameters<typeof kind.list>[0],
): Promise<number | undefined> {
  const list = kind.list(operations);
  if (!list) return undefined;
  const { client_id, organisation_id, id } = run.job;
  const scope = { client_id, organisation_id, run: id };
  let kept = 0;
  for await (const page of list()) {
    await ctx.db.tenant(client_id, async (tx) => {
      await run.hold(tx);
      await keepPage(tx, kind, scope, page);
    });
    kept += page.length;
  }
  const removed = await ctx.db.tenant(client_id, async (tx) => {
    await run.hold(tx);
    return removeUnseen(tx, kind.table, scope);
  });
  await run.steps.note(kind.table, { kept, removed });
  return kept;
}

function completed(org_id: string, records: Record<string, number>): EventOf {
  return { type: 'sync.completed', data: { org_id, records } };
}

function describe(problem: { code: string; message: string }) {
  return { code: problem.code, description: problem.message };
}
