import type { Static, TObject } from 'typebox';
import { openAccount } from '../accounts/openAccount.ts';
import type { OperationName, Operations } from '../connectors/connector.ts';
import { EmrFailure } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Job } from '../jobs/jobs.ts';
import type { JobResult, JobRun } from '../jobs/run.ts';
import { deleteUpload, readUpload } from '../jobs/uploads.ts';
import type { RegisteredWrite, Write, WriteDeclaration, WriteHandler, WriteResult } from './write.ts';

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
  const { operations, account } = await openAccount(ctx, job, run.signal);
  const { event, store } = await write.run({
    id: operation_id,
    input,
    scope: { client_id, organization_id },
    emr_user: { name: account.emr_user_name, timezone: account.timezone },
    file: write.file_field === undefined ? undefined : await readUpload(ctx.db, client_id, operation_id),
    emr: requireOperations(operations, write.needs),
    steps: run.steps,
  });
  return { state: 'succeeded', error: null, event, apply: applyResult(ctx, run, job, write, true, store) };
}

/** A file is deleted when its job ends: either the EMR has it, or it will not be used again. */
function applyResult<Input, Needs extends OperationName>(
  ctx: Context,
  { steps: { outcomes, intentData } }: JobRun,
  job: Job<Input>,
  write: WriteHandler<Input, Needs>,
  succeeded: boolean,
  store?: WriteResult['store'],
): NonNullable<JobResult['apply']> {
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
  if (missing) throw new EmrFailure('refused', `This EMR does not offer ${missing}.`);
  return operations as Partial<Operations> & Pick<Operations, Needs>;
}
