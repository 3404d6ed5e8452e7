import { openAccount } from '../accounts/openAccount.ts';
import type { OperationName, Operations } from '../connectors/connector.ts';
import { EmrFailure } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Ending, JobKind, JobRun } from '../jobs/run.ts';
import { readUpload, removeUpload } from '../jobs/uploads.ts';
import type { Carried } from './write.ts';

/** Makes the kind of job that carries out a write. */
export function performWrite(write: Carried): JobKind {
  return {
    perform: async (ctx, run) => {
      const { job, steps, signal } = run;
      const { operations, account } = await openAccount(ctx, job, signal);
      // The body was checked against the write's schema when it was accepted.
      const body = job.input as never;
      let record: unknown;
      const event = await write.perform({
        id: job.operation_id,
        body,
        signer: { name: account.emr_user_name, timezone: account.timezone },
        file: write.upload && (await readUpload(ctx.db, job.client_id, job.operation_id)),
        emr: offered(operations, write.needs),
        steps,
        handOver: (found) => {
          record = found;
        },
      });
      return { state: 'succeeded', error: null, event, apply: settling(ctx, run, write, true, record) };
    },
    fail: (ctx, run, problem) => {
      const { job, steps } = run;
      const body = job.input as never;
      const { state, event } = write.fail({ id: job.operation_id, body, outcomes: steps.outcomes, problem });
      const succeeded = state === 'succeeded';
      return { state, error: succeeded ? null : problem, event, apply: settling(ctx, run, write, succeeded) };
    },
  };
}

/** A file is kept no longer than its job runs: the EMR has it, or nobody will ask for it again. */
function settling(
  ctx: Context,
  { job, steps }: JobRun,
  write: Carried,
  succeeded: boolean,
  record?: unknown,
): NonNullable<Ending['apply']> {
  return async (tx) => {
    if (write.upload) await removeUpload(tx, job.operation_id);
    const { outcomes, kept } = steps;
    await write.settle?.({ tx, ctx, job, body: job.input as never, succeeded, outcomes, kept, record });
  };
}

function offered(operations: Partial<Operations>, needs: readonly OperationName[]): Operations {
  const missing = needs.find((name) => operations[name] === undefined);
  if (missing) throw new EmrFailure('refused', `This EMR does not offer ${missing}.`);
  // Every operation the write declared to need is there, and its type lets it use no other.
  return operations as Operations;
}
