import type { Static, TObject } from 'typebox';
import { openAccount } from '../accounts/openAccount.ts';
import { EmrFailure, type OperationName, type Operations } from '../../emr/connector.ts';
import type { Context } from '../context.ts';
import type { JobResult } from '../jobs/finishJob.ts';
import type { Job } from '../jobs/jobs.ts';
import { isOvertaken } from '../jobs/rerunCandidate.ts';
import type { JobRun } from '../jobs/run.ts';
import { deleteUpload, readUpload } from '../jobs/uploads.ts';
import {
  notOffered,
  type RegisteredWrite,
  type Write,
  type WriteDeclaration,
  type WriteHandler,
  type WriteResult,
} from './write.ts';

type Erased = Pick<RegisteredWrite, 'job_handler' | 'rerun_rules'>;

/** Declares a write. `check` must come before `run`: TypeScript infers the type of `run`'s input from it. */
export function defineWrite<Body extends TObject, Lookups, Needs extends OperationName>(
  declaration: WriteDeclaration<Body, Lookups, Needs>,
): Write<Body, Lookups, Needs> {
  return { ...declaration, ...eraseInput<Static<Body> & Lookups, Needs>(declaration) };
}

/** Declares a write without an endpoint of its own. */
export function defineWriteHandler<Input, Needs extends OperationName>(
  handler: WriteHandler<Input, Needs>,
): WriteHandler<Input, Needs> & Erased {
  return { ...handler, ...eraseInput(handler) };
}

/**
 * The handlers as the job queue calls them. The cast is the only place where a stored input gets its type: jobs of this
 * type are queued by `requestWrite` or by modules next to the write, all of which check the type of the input.
 */
function eraseInput<Input, Needs extends OperationName>(write: WriteHandler<Input, Needs>): Erased {
  const typed = <J extends { input: unknown }>(job: J) => job as J & { input: Input };
  const { rerun } = write;
  return {
    job_handler: {
      reads_only: write.reads_only ?? false,
      independent: write.independent ?? false,
      run: (ctx, run) => runWrite(ctx, run, typed(run.job), write),
      onFailure: (ctx, run, failure) => {
        const job = typed(run.job);
        const { outcomes } = run.steps;
        const { state, event } = write.onFailure({ id: job.operation_id, input: job.input, outcomes, failure });
        const succeeded = state === 'succeeded';
        return { state, error: succeeded ? null : failure, event, apply: applyResult(ctx, run, job, write, succeeded) };
      },
    },
    rerun_rules: rerun && {
      blocker: (tx, job) => rerun.blocker(tx, typed(job)),
      prepare: (tx, job) => rerun.prepare(tx, typed(job)),
      lock: (tx, job) => rerun.lock(tx, typed(job)),
    },
  };
}

async function runWrite<Input, Needs extends OperationName>(
  ctx: Context,
  run: JobRun,
  job: Job<Input>,
  write: WriteHandler<Input, Needs>,
): Promise<JobResult> {
  const { client_id, organization_id, operation_id, input } = job;
  if (write.overwrites && job.run_again_of !== null && (await isOvertaken(ctx.db, job))) {
    throw new EmrFailure('refused', 'A later change to the same patient was requested, and this one would undo it.', {
      code: 'record_changed',
    });
  }
  const { operations, account } = await openAccount(ctx, job, run.signal);
  const runWith = (file: Buffer | undefined) =>
    write.run({
      id: operation_id,
      input,
      scope: { client_id, organization_id },
      db: ctx.db,
      emr_user: { name: account.emr_user_name, timezone: account.timezone },
      file,
      emr: requireOperations(operations, write.needs),
      steps: run.steps,
      ourIds: (tables, ehr_ids) => findIds(ctx, job, tables, ehr_ids),
    });
  const { event, store } =
    write.file_field === undefined
      ? await runWith(undefined)
      : await ctx.document_slots.run(
          client_id,
          async () => runWith(await readUpload(ctx.db, client_id, operation_id)),
          run.signal,
        );
  return { state: 'succeeded', error: null, event, apply: applyResult(ctx, run, job, write, true, store) };
}

async function findIds(
  { db }: Context,
  { client_id, organization_id }: Pick<Job, 'client_id' | 'organization_id'>,
  tables: readonly string[],
  ehr_ids: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const table of ehr_ids.length > 0 ? tables.toReversed() : []) {
    const rows = await db.read<{ ehr_id: string; id: string }>(
      client_id,
      (sql) => sql`SELECT ehr_id, replace(id::text, '-', '') AS id FROM ${sql(table)}
        WHERE organization_id = ${organization_id} AND ehr_id = ANY (${[...ehr_ids]})`,
    );
    // The first table wins.
    for (const { ehr_id, id } of rows) found.set(ehr_id, id);
  }
  return found;
}

/**
 * What to store or delete when the job ends, if anything. A file is deleted when its job ends: either the EMR has it,
 * or it will not be used again.
 */
function applyResult<Input, Needs extends OperationName>(
  ctx: Context,
  { steps: { outcomes, intentData } }: JobRun,
  job: Job<Input>,
  write: WriteHandler<Input, Needs>,
  succeeded: boolean,
  store?: WriteResult['store'],
): JobResult['apply'] {
  if (write.file_field === undefined && !store && !write.onFinished) return undefined;
  return async (tx) => {
    if (write.file_field !== undefined) await deleteUpload(tx, job.operation_id);
    await store?.(tx);
    await write.onFinished?.({ tx, ctx, job, succeeded, outcomes, intentData });
  };
}

function requireOperations<Needs extends OperationName>(
  operations: Partial<Operations>,
  needs: readonly Needs[],
): Partial<Operations> & Pick<Operations, Needs> {
  const missing = needs.find((name) => operations[name] === undefined);
  if (missing) throw notOffered(missing);
  return operations as Partial<Operations> & Pick<Operations, Needs>;
}
