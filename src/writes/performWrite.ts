import { openAccount } from '../accounts/openAccount.ts';
import type { OperationName, Operations } from '../connectors/connector.ts';
import { EmrFailure } from '../connectors/connector.ts';
import type { Ending, JobKind } from '../jobs/run.ts';
import { readUpload, removeUpload } from '../jobs/uploads.ts';
import type { Write } from './write.ts';

/** Makes the kind of job that carries out a write. */
export function performWrite(write: Write): JobKind {
  return {
    perform: async (ctx, { job, steps, signal }) => {
      const { operations, account } = await openAccount(ctx, job, signal);
      // The body was checked against the write's schema when it was accepted.
      const body = job.input as never;
      const event = await write.perform({
        id: job.operation_id,
        body,
        signer: { name: account.emr_user_name, timezone: account.timezone },
        file: write.upload && (await readUpload(ctx.db, job.client_id, job.operation_id)),
        emr: offered(operations, write.needs),
        steps,
      });
      return { state: 'succeeded', error: null, event, ...tidied(write, job.operation_id) };
    },
    fail: (_ctx, { job, steps }, problem) => {
      const body = job.input as never;
      const { state, event } = write.fail({ id: job.operation_id, body, outcomes: steps.outcomes, problem });
      return { state, error: state === 'succeeded' ? null : problem, event, ...tidied(write, job.operation_id) };
    },
  };
}

/** A file is kept no longer than its job runs: the EMR has it, or nobody will ask for it again. */
function tidied(write: Write, operation_id: string): Pick<Ending, 'apply'> {
  return write.upload ? { apply: (tx) => removeUpload(tx, operation_id) } : {};
}

function offered(operations: Partial<Operations>, needs: readonly OperationName[]): Operations {
  const missing = needs.find((name) => operations[name] === undefined);
  if (missing) throw new EmrFailure('refused', `This EMR does not offer ${missing}.`);
  // Every operation the write declared to need is there, and its type lets it use no other.
  return operations as Operations;
}
