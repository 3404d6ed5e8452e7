import { EmrFailure, type EmrFailureKind } from '../connector.ts';
import type { Environment } from './environment.ts';
import { CheckFailed, CheckSkipped, errorName, fail } from './outcomes.ts';

/** One rule that every connector must follow. `run` returns if the rule is met and throws otherwise. */
export type Check = { id: string; expectation: string; run: (env: Environment) => Promise<void> };

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
