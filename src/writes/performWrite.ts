import { openAccount } from '../accounts/openAccount.ts';
import type { OperationName, Operations } from '../connectors/connector.ts';
import { EmrFailure } from '../connectors/connector.ts';
import type { JobKind } from '../jobs/run.ts';
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
        emr: offered(operations, write.needs),
        steps,
      });
      return { state: 'succeeded', error: null, event };
    },
    fail: (_ctx, { job, steps }, problem) => {
      const body = job.input as never;
      const { state, event } = write.fail({ id: job.operation_id, body, outcomes: steps.outcomes, problem });
      return { state, error: state === 'succeeded' ? null : problem, event };
    },
  };
}

function offered(operations: Partial<Operations>, needs: readonly OperationName[]): Operations {
  const missing = needs.find((name) => operations[name] === undefined);
  if (missing) throw new EmrFailure('refused', `This EMR does not offer ${missing}.`);
  // Every operation the write declared to need is there, and its type lets it use no other.
  return operations as Operations;
}
