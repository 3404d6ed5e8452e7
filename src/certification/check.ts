import { EmrFailure, type EmrFailureKind } from '../connectors/connector.ts';
import type { Environment } from './environment.ts';

/** One rule that every connector must follow. `run` returns if the rule is met and throws otherwise. */
export type Check = { id: string; expectation: string; run: (env: Environment) => Promise<void> };

/** The rule is not met. The message contains no value of a record. */
export class CheckFailed extends Error {}

/** The check cannot run here, or not without doing harm. `not_supported`: the EMR lacks the operation. */
export class CheckSkipped extends Error {
  readonly not_supported: boolean;

  constructor(message: string, not_supported = false) {
    super(message);
    this.not_supported = not_supported;
  }
}

export function fail(message: string): never {
  throw new CheckFailed(message);
}

export function skip(message: string): never {
  throw new CheckSkipped(message);
}

export function skipUnsupported(operation: string): never {
  throw new CheckSkipped(`the EMR does not support ${operation}`, true);
}

/** Expects a call to fail with one of these kinds and returns the failure. */
export async function expectFailure(
  env: Environment,
  situation: string,
  work: () => Promise<unknown>,
  kinds: readonly EmrFailureKind[],
): Promise<EmrFailure> {
  const expected = kinds.join(' or ');
  const failure = await env.track(work()).then(
    () => fail(`${situation}: succeeded, expected ${expected}`),
    (error: unknown) => error,
  );
  if (failure instanceof CheckFailed || failure instanceof CheckSkipped) throw failure;
  if (!(failure instanceof EmrFailure)) return fail(`${situation}: threw ${errorName(failure)}, not an EmrFailure`);
  if (!kinds.includes(failure.kind)) fail(`${situation}: failed as ${failure.kind}, expected ${expected}`);
  return failure;
}

/** Only the name of a foreign error: its message may contain values that must not be printed. */
export function errorName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
