import { type EmrWrite, skip, type Written } from '../operations/operation.ts';
import type { WriteName } from '../operations/operations.ts';
import { type Environment, type Interceptor, type OpenedAccount, skipUnsupported, untyped } from './environment.ts';

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
  const { write, declaration } = untyped(emr, name);
  if (!write) return skipUnsupported(name);
  const { sample } = declaration;
  const input = await sample.input(env);
  // Reads are not intercepted.
  const direct = await env.open();
  return {
    write,
    input,
    marker: env.marker(),
    calls,
    count: async (written) =>
      sample.shown_by && direct.emr[sample.shown_by] ? sample.count?.(direct.emr, { input, written, env }) : undefined,
  };
}
