import { setTimeout as pause } from 'node:timers/promises';
import { NotSent } from '../../emr/emrCalls.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { SavedField, WriteEffect } from '../../emr/operations/operation.ts';
import { operations as declarations, type Operations, write_names } from '../../emr/operations/operations.ts';
import type { DryRun, WouldDo } from '../../model/dryRun.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import { connectAccount, requireConnector } from '../accounts/connectAccount.ts';
import type { Context } from '../context.ts';
import type { Steps } from '../jobs/jobSteps.ts';
import type { PlannedJob } from './defineWrite.ts';
import { writes } from './writes.ts';

/** The EMR is asked for at most this long. */
const emr_ms = 10_000;

/** Jobs that were queued in transactions that were rolled back. */
export type PlannedJobs = PlannedJob[];

/**
 * A context in which a request is handled as usual, except that each of its transactions is rolled back at its end. The
 * jobs that these would have queued are added to `planned`.
 */
export function rollingBack(ctx: Context, planned: PlannedJobs): Context {
  const { db } = ctx;
  const tenant = <T>(client_id: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
    rollBack(db, client_id, planned, work);
  const batched: Database['batched'] = async (client_id, batch, entry) => {
    if (batch.kind === 'read') return db.batched(client_id, batch, entry);
    const [result] = await tenant(client_id, (tx) => batch.run(tx, client_id, [entry]));
    // A batch returns a result per entry.
    return result as Awaited<ReturnType<typeof batch.run>>[number];
  };
  return {
    ...ctx,
    dry_run: { db },
    db: { ...db, tenant, repeatable: tenant, batched, batchedOrAlone: batched },
    notifications: { ...ctx.notifications, notify: () => {}, notifyHere: () => {} },
  };
}

class RolledBack<T> extends Error {
  readonly result: T;
  constructor(result: T) {
    super('A dry run was rolled back.');
    this.result = result;
  }
}

async function rollBack<T>(
  db: Database,
  client_id: string,
  planned: PlannedJobs,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  try {
    return await db.tenant(client_id, async (tx): Promise<T> => {
      const result = await work(tx);
      // What this transaction stored has its time, which another one may share.
      const jobs = await tx<PlannedJob[]>`
        SELECT jobs.client_id, jobs.organization_id, jobs.account_id, operation_id, jobs.type, input
          FROM jobs JOIN operations ON operations.id = operation_id
         WHERE jobs.client_id = ${client_id} AND jobs.created_at = now() AND jobs.xmin = pg_current_xact_id()::xid
         ORDER BY jobs.id`;
      planned.push(...jobs);
      throw new RolledBack(result);
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.result;
    throw error;
  }
}

/** Runs the write of a job that was not stored, up to what the EMR can be asked without changing anything. */
export async function dryRunJob(ctx: Context, job: PlannedJob, files: readonly Buffer[]): Promise<DryRun> {
  const write = writes.find(({ type }) => type === job.type);
  if (!write) throw new Error(`There is no write of type ${job.type}.`);
  const would: WouldDo[] = [];
  const signal = AbortSignal.timeout(emr_ms);
  const resource = job.type.split('.')[0] ?? job.type;
  if (write.reads_only) would.push({ action: 'read', resource, reasons: [] });
  const finished = (emr_checked: boolean): DryRun => ({ success: true, dry_run: true, emr_checked, would });
  try {
    await whileSlotIsFree(ctx, job, signal, async () => {
      const { operations, account } = await connectAccount({ ...ctx, dry_run: { db: ctx.db } }, { ...job }, signal);
      const emr = endingReads(operations);
      const readFile = async (position: number) => files[position];
      await write.dryRun(ctx, { job, steps: drySteps(job, emr, would), readFile, operations: emr, account });
    });
    return finished(true);
  } catch (error) {
    if (error instanceof NothingLeft) return finished(true);
    if (error instanceof OutOfTime || signal.aborted) return finished(false);
    if (!(error instanceof EmrFailure)) throw error;
    if (error.kind !== 'refused' && error.kind !== 'not_found') return finished(false);
    would.push({ action: 'fail', resource, reasons: [{ code: error.code, description: error.message }] });
    return finished(true);
  }
}

class OutOfTime extends Error {}

/** How many dry runs of an account this process runs. */
const running = new Map<string, number>();
const slot_poll_ms = 50;

/** Waits until the account's jobs, and its dry runs in this process, leave one of its parallel requests free. */
async function whileSlotIsFree(
  ctx: Context,
  { client_id, account_id, organization_id }: PlannedJob,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const [account] = await ctx.db.read<{ connector: string; writes: number | null }>(
    client_id,
    (sql) => sql`SELECT connector, (SELECT parallel FROM write_limits WHERE account_id = ${account_id}) AS writes
      FROM organizations WHERE id = ${organization_id}`,
  );
  if (!account) throw new Error('The organization no longer exists.');
  const limit = account.writes ?? requireConnector(ctx, account.connector).limits.parallel_max;
  for (;;) {
    const [busy] = await ctx.db.read<{ n: number }>(
      client_id,
      (sql) => sql`SELECT count(*)::int AS n FROM lanes
        WHERE account_id = ${account_id} AND locked_until > clock_timestamp()`,
    );
    const others = running.get(account_id) ?? 0;
    if ((busy?.n ?? 0) + others < limit) break;
    if (signal.aborted) throw new OutOfTime();
    await pause(slot_poll_ms);
  }
  running.set(account_id, (running.get(account_id) ?? 0) + 1);
  try {
    await work();
  } finally {
    const left = (running.get(account_id) ?? 1) - 1;
    if (left > 0) running.set(account_id, left);
    else running.delete(account_id);
  }
}

/** Stands for the EMR id of a record that would be created. */
const new_record = 'dry-run:';

/** The run has come to a point at which it reads what it would have written. */
class NothingLeft extends Error {}

/** The operations of the EMR, whose reads end the run if they ask for a record that does not exist yet. */
function endingReads(operations: Partial<Operations>): Partial<Operations> {
  const ending = Object.entries(operations).map(([name, operation]) => {
    if (typeof operation !== 'function') return [name, operation];
    const read = operation as (...key: unknown[]) => unknown;
    const ended = (...key: unknown[]) => {
      if (mentionsNewRecord(key)) throw new NothingLeft();
      return read(...key);
    };
    return [name, Object.assign(ended, operation)];
  });
  return Object.fromEntries(ending);
}

function mentionsNewRecord(value: unknown): boolean {
  if (typeof value === 'string') return value.startsWith(new_record);
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return false;
  return Object.values(value).some(mentionsNewRecord);
}

/** Steps that write nothing: the EMR validates each, if it can and the step does not depend on an earlier one. */
function drySteps({ operation_id }: PlannedJob, emr: Partial<Operations>, would: WouldDo[]): Steps {
  const outcomes = new Map<string, Record<string, unknown>>();
  return {
    outcomes,
    intentData: () => undefined,
    hasUnknownOutcome: () => false,
    trace: async () => {},
    note: async () => {},
    write: async (name, write, input, { with_outcome = {} } = {}) => {
      const { action, resource } = findEffect(emr, write);
      const validate = () => write.send(input, `${operation_id}-${name}`, async () => {});
      const saved = mentionsNewRecord(input) ? undefined : await validate().catch(ignoreNotSent);
      would.push(...describeChanges(action, resource, saved?.changes as SavedField[] | undefined));
      // A record that was validated and rolled back has an id that nothing has.
      const ehr_id = action === 'update' && saved?.ehr_id ? saved.ehr_id : new_record + name;
      const outcome = { ...saved, ehr_id, ...with_outcome };
      outcomes.set(name, outcome);
      // What the run reads of it is at least the id; anything else it only puts into the event.
      return outcome as never;
    },
  };
}

function ignoreNotSent(error: unknown): undefined {
  if (!(error instanceof NotSent)) throw error;
}

/** What the operation that carries out a step declares. */
function findEffect(emr: Partial<Operations>, write: unknown): WriteEffect {
  const name = write_names.find((each) => emr[each] === write);
  if (!name) throw new Error('A step has no operation of the EMR.');
  return declarations[name].effect;
}

/** One entry per field that would change, if the EMR says so, else one for the record. */
function describeChanges(action: 'create' | 'update', resource: string, changes: SavedField[] = []): WouldDo[] {
  const changed = changes.filter(({ before, after }) => before !== after);
  if (changed.length === 0) return [{ action, resource, reasons: [] }];
  return changed.map(({ property, before, after }) => ({
    action,
    resource,
    field: property,
    before,
    after,
    reasons: [],
  }));
}
