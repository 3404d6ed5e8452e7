import type { EmrWrite, Operations, Written } from '../connector.ts';
import type { Environment, Interceptor, OpenedAccount } from './environment.ts';
import { skip, skipUnsupported } from './outcomes.ts';
import { samples, type WriteName } from './samples.ts';

/** A write with its input, independent of its type. */
export type PreparedWrite = {
  write: EmrWrite<unknown, Written>;
  input: unknown;
  marker: string;
  /** How often the record exists in the EMR. undefined if no read shows it. */
  count: (written: Written) => Promise<number | undefined>;
  calls: OpenedAccount['calls'];
};

/** Opens the account and creates the input of one write. The interceptor does not affect creating the input. */
export async function prepareWrite(
  env: Environment,
  name: WriteName,
  intercept?: Interceptor,
  signal?: AbortSignal,
): Promise<PreparedWrite> {
  if (!env.writes) skip('writing synthetic records is not allowed');
  const { emr, calls } = await env.open({ ...(intercept && { intercept }), ...(signal && { signal }) });
  if (!emr[name]) skipUnsupported(name);
  const sample = samples[name];
  const input = await sample.input(env);
  // Reads are not intercepted.
  const direct = await env.open();
  // The input belongs to this write: both come from the entry of the same name.
  const write = emr[name] as unknown as PreparedWrite['write'];
  const count = sample.count as
    | ((...of: [Partial<Operations>, unknown, Written, Environment]) => Promise<number>)
    | undefined;
  return {
    write,
    input,
    marker: env.marker(),
    calls,
    count: async (written) =>
      count && sample.shown_by && direct.emr[sample.shown_by] ? count(direct.emr, input, written, env) : undefined,
  };
}
